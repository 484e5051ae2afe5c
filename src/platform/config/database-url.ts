import { OperatorError } from '../base/errors/operator-error.ts';

/* `DATABASE_URL` with one or several hosts, as libpq reads it (docs/failover.md). */

/**
 * What a host must be to be used. `any`: it accepts connections. `read-write`: its sessions can
 * write. `primary`: it is no standby.
 */
export const SESSION_KINDS = ['any', 'read-write', 'primary'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** The hosts of `DATABASE_URL`. */
export interface DatabaseHosts {
  /** One URL for each host, in the given order, without `target_session_attrs`. */
  urls: readonly [string, ...string[]];
  /**
   * What a host must be to be used; `null` if the URL has one host and does not say it: then nobody
   * asks the host. Default with several hosts: `read-write`. (libpq's default is `any`, with which
   * Carillon would work on a standby, where every request fails.)
   */
  sessions: SessionKind | null;
}

/** `DATABASE_URL` cannot be used. The message names no host, user or password. */
export class DatabaseUrlError extends OperatorError {
  readonly problem: string;

  /** @param problem what is wrong, as the rest of a sentence about the variable */
  constructor(problem: string) {
    super('usage', `DATABASE_URL: ${problem}`);
    this.problem = problem;
  }
}

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?/;
const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d*))?$/i;
const LARGEST_PORT = 65_535;
/** Every process asks all hosts again when it connects, so their number is limited. */
const MOST_HOSTS = 16;
const STANDBY_KINDS = ['read-only', 'standby', 'prefer-standby'];

/**
 * Reads `DATABASE_URL`.
 * @throws {DatabaseUrlError} if the URL is not valid, or asks for something that is not supported
 */
export function parseDatabaseUrl(url: string): DatabaseHosts {
  const [, start = '', hosts = '', path = '', query] = PARTS.exec(url) ?? [];
  if (!start) throw new DatabaseUrlError('must start with postgres:// or postgresql://');
  const parameters = (query ?? '').split('&').filter(Boolean);
  const wanted = parameters.filter((each) => each.startsWith('target_session_attrs='));
  const others = parameters.filter((each) => !wanted.includes(each));
  if (others.some((each) => /^(host|port)=.*(,|%2c)/i.test(each)))
    throw new DatabaseUrlError(
      'must name several hosts before the database name, as in postgres://user:password@db1:5432,db2:5432/mail',
    );
  const names = hosts.split(',');
  if (names.length > MOST_HOSTS)
    throw new DatabaseUrlError(`must name at most ${MOST_HOSTS} hosts`);
  const end = others.length === 0 ? path : `${path}?${others.join('&')}`;
  const [first = '', ...more] = names.map((name) => {
    requireHost(name, names.length > 1);
    return requireUrl(`${start}${name}${end}`);
  });
  return { urls: [first, ...more], sessions: sessionKind(wanted.at(-1), names.length > 1) };
}

/** Returns what is wrong with a `DATABASE_URL`, or `null`. */
export function databaseUrlProblem(url: string): string | null {
  try {
    parseDatabaseUrl(url);
    return null;
  } catch (error) {
    if (error instanceof DatabaseUrlError) return error.problem;
    throw error;
  }
}

/** Returns what is wrong with a `DATABASE_READ_URL`, or `null`. */
export function standbyUrlProblem(url: string): string | null {
  const problem = databaseUrlProblem(url);
  if (problem !== null) return problem;
  return parseDatabaseUrl(url).sessions === null
    ? null
    : 'must name one host and no target_session_attrs; put a proxy in front of several standbys';
}

function sessionKind(parameter: string | undefined, several: boolean): SessionKind | null {
  if (parameter === undefined) return several ? 'read-write' : null;
  const value = parameter.slice(parameter.indexOf('=') + 1);
  const kind = SESSION_KINDS.find((each) => each === value);
  if (kind) return kind;
  const why = STANDBY_KINDS.includes(value)
    ? '; a standby accepts no writes, and Carillon writes over every connection'
    : '';
  throw new DatabaseUrlError(`target_session_attrs must be read-write, primary or any${why}`);
}

/** One host may be missing: its socket is then named by a parameter, or is the default one. */
function requireHost(name: string, several: boolean): void {
  const [, host, port] = HOST.exec(name) ?? [];
  if (host === undefined || (several && !host))
    throw new DatabaseUrlError(
      'has a host that cannot be read; write each as name:port, an IPv6 address as [::1]:5432, and a comma between two',
    );
  if (Number(port ?? 1) > LARGEST_PORT || port === '0')
    throw new DatabaseUrlError(`has a port that is not between 1 and ${LARGEST_PORT}`);
}

function requireUrl(url: string): string {
  if (URL.canParse(url)) return url;
  throw new DatabaseUrlError(
    'is not a valid URL; name a host, and encode special characters of the user and the password, as in %40 for @',
  );
}
