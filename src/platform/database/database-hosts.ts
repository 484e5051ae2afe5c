import pg from 'pg';
import { monotonicMs } from '../base/time/clock.ts';
import { parseDatabaseUrl, type SessionKind } from '../config/database-url.ts';
import { Logger } from '../nest/light.ts';
import { answered } from './connections.ts';
import { databaseTrouble, TOO_MANY_CONNECTIONS } from './health/database-trouble.ts';
import { SERVER_COLUMNS, type ServerRow, timelineOf, timelines } from './health/timelines.ts';

/*
 * Which host of DATABASE_URL the connections of this process go to (docs/adr/0128). Every
 * connection to the database of an installation is opened with `connectionTo`.
 */

/** How long a host may take to answer what it is. */
const HOST_MS = 2_000;
/**
 * How long hosts may still answer after one of them can be used. A process that has used none yet
 * waits for all of them: the first to answer may have been replaced.
 */
const OTHERS_MS = 200;
/** How long the answers count for further connections, unless `askHostsAgain` is called. */
const CHOICE_MS = 1_000;

/** A host and port of `DATABASE_URL`. */
interface Host {
  url: string;
  host: string;
  port: number;
}

/** What a host answered. */
interface Answer {
  host: Host;
  /** Whether connections may use it. */
  usable: boolean;
  /** Timeline of its write-ahead log; 0 if it cannot be read, as on a standby. */
  timeline: number;
  /** Why it cannot be used. */
  error?: Error & { code?: string };
}

/** SQLSTATE of a statement that writes in a session that cannot. */
const READ_ONLY = '25006';

/**
 * No host of `DATABASE_URL` can be used. `code` is that of the trouble which may pass: a host
 * without a free connection, else a standby that accepts no writes, else a host that is away, else
 * the first host's error.
 */
export class NoUsableHostError extends Error {
  readonly code: string | undefined;

  constructor(answers: readonly Answer[]) {
    const each = answers.map(
      ({ host, error }) => `${host.host}:${host.port} ${error?.message ?? 'accepts no writes'}`,
    );
    super(`no host of DATABASE_URL can be used: ${each.join('; ')}`);
    const errors = answers.map(({ error }) => error);
    const telling = errors.find((error) => databaseTrouble(error) !== null) ?? errors.at(0);
    const full = errors.find((error) => error?.code === TOO_MANY_CONNECTIONS);
    if (full) this.code = full.code;
    else this.code = errors.includes(undefined) ? READ_ONLY : (telling?.code ?? 'EHOSTUNREACH');
  }
}

const ROLE = `
  pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`;
const ASK = `select ${ROLE}, ${SERVER_COLUMNS}`;
/** For servers that refuse to show their timeline. */
const ASK_LESS = `select ${ROLE}, '' as server, null as segment`;

type Reply = { standby: boolean; readOnly: boolean } & Pick<ServerRow, 'server' | 'segment'>;

const late = (host: Host): Answer => ({
  host,
  usable: false,
  timeline: 0,
  error: new Error('timeout expired'),
});

async function ask(host: Host, sessions: SessionKind): Promise<Answer> {
  const client = new pg.Client({
    connectionString: host.url,
    connectionTimeoutMillis: HOST_MS,
    application_name: 'carillon-hosts',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const read = (text: string) => answered<Reply>(client, HOST_MS, { text });
    const { rows } = await read(ASK).catch((error: unknown) => {
      if (databaseTrouble(error) !== null) throw error;
      return read(ASK_LESS);
    });
    const { standby = true, readOnly = true, server = '', segment = null } = rows[0] ?? {};
    const refused = { any: false, primary: standby, 'read-write': standby || readOnly }[sessions];
    const timeline = segment === null ? 0 : timelineOf(segment);
    // The successor of a server that was replaced may need longer to answer, and is waited for.
    const replaced = segment === null ? null : timelines.replaced(server, timeline);
    if (replaced) throw replaced;
    return { host, usable: !refused, timeline };
  } catch (error) {
    return { host, usable: false, timeline: 0, error: error as Error };
  } finally {
    client.end().catch(() => undefined);
  }
}

/**
 * Chooses among the hosts of one `DATABASE_URL`, for all connections of this process. Asks all
 * hosts at once. Of those that can be used the one with the highest timeline is chosen, because a
 * lower one belongs to a server that was replaced; else the first in the list.
 */
class HostChoice {
  readonly #log = new Logger('Database');
  readonly #hosts: readonly Host[];
  readonly #sessions: SessionKind;
  #choosing: Promise<Host> | null = null;
  #chosen: { host: Host; atMs: number } | null = null;
  /** Counts how often the hosts were asked. */
  #asked = 0;
  /** Number of the question that led to `#used`. */
  #usedBy = 0;
  #used: Host | null = null;

  constructor(urls: readonly string[], sessions: SessionKind) {
    this.#sessions = sessions;
    this.#hosts = urls.map((url) => {
      const { host, port } = new pg.Client({ connectionString: url });
      return { url, host, port };
    });
  }

  /**
   * Returns the host for a new connection, from answers that are at most a second old.
   * @throws {NoUsableHostError}
   */
  async host(): Promise<Host> {
    if (this.#chosen && monotonicMs() - this.#chosen.atMs < CHOICE_MS) return this.#chosen.host;
    if (this.#choosing) return this.#choosing;
    const choosing = this.#choose().finally(() => {
      if (this.#choosing === choosing) this.#choosing = null;
    });
    this.#choosing = choosing;
    return choosing;
  }

  /** The next connection asks all hosts again: one to the chosen host has failed. */
  expire(): void {
    this.#chosen = null;
  }

  /**
   * The next connection asks all hosts again, even if they are being asked: a standby may have been
   * promoted since it answered, while another host does not answer at all.
   */
  restart(): void {
    this.#chosen = null;
    this.#choosing = null;
  }

  async #choose(): Promise<Host> {
    this.#asked += 1;
    const question = this.#asked;
    const answers = await this.#ask();
    // Later answers have arrived before these.
    if (this.#used && this.#usedBy > question) return this.#used;
    const timeline = Math.max(...answers.map((answer) => (answer.usable ? answer.timeline : 0)));
    const best = answers.find((answer) => answer.usable && answer.timeline === timeline);
    if (!best) throw new NoUsableHostError(answers);
    this.#use(best, question);
    return best.host;
  }

  #use({ host, timeline }: Answer, question: number): void {
    if (this.#used && this.#used !== host)
      this.#log.warn(
        `connections go to ${host.host}:${host.port} now (timeline ${timeline}), no longer to ${this.#used.host}:${this.#used.port}`,
      );
    this.#used = host;
    this.#usedBy = question;
    this.#chosen = { host, atMs: monotonicMs() };
  }

  /** Returns the answers in the order of the hosts, within two seconds. */
  async #ask(): Promise<Answer[]> {
    const answers = new Map<Host, Answer>();
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const limit = setTimeout(resolve, HOST_MS);
    let others: NodeJS.Timeout | undefined;
    const asked = this.#hosts.map(async (host) => {
      const answer = await ask(host, this.#sessions);
      answers.set(host, answer);
      if (answer.usable && this.#used) others ??= setTimeout(resolve, OTHERS_MS);
    });
    await Promise.race([Promise.all(asked), enough]);
    clearTimeout(limit);
    clearTimeout(others);
    return this.#hosts.map((host) => answers.get(host) ?? late(host));
  }
}

/** Makes the class of clients that connect to the chosen host. */
function clientOf(choice: HostChoice): typeof pg.Client {
  type Callback = (error: Error | null, client?: pg.Client) => void;
  class ChosenHostClient extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: Callback): void;
    override connect(callback?: Callback): Promise<pg.Client> | void {
      const connected = this.#connect();
      if (!callback) return connected;
      connected.then(
        () => callback(null, this),
        (error: unknown) => callback(error as Error),
      );
    }

    async #connect(): Promise<pg.Client> {
      const { host, port } = await choice.host();
      Object.assign(this, { host, port });
      try {
        return await super.connect();
      } catch (error) {
        choice.expire();
        throw error;
      }
    }
  }
  return ChosenHostClient;
}

/** How a connection to the database is opened: part of the options of a client or a pool. */
export interface ConnectionTarget {
  connectionString: string;
  /** Class of the client. */
  Client: typeof pg.Client;
}

const targets = new Map<string, ConnectionTarget>();
/** The choices among several hosts, by `DATABASE_URL`. */
const choices = new Map<string, HostChoice>();

/**
 * Returns where the connections to a database go. With several hosts, or `target_session_attrs`,
 * each new connection goes to the host that can be used then, and fails with `NoUsableHostError`
 * within two seconds if there is none.
 * @param url `DATABASE_URL`
 * @throws {DatabaseUrlError} if the URL cannot be used
 */
export function connectionTo(url: string): ConnectionTarget {
  let target = targets.get(url);
  if (!target) {
    const { urls, sessions } = parseDatabaseUrl(url);
    if (sessions !== null) choices.set(url, new HostChoice(urls, sessions));
    const choice = choices.get(url);
    target = { connectionString: urls[0], Client: choice ? clientOf(choice) : pg.Client };
    targets.set(url, target);
  }
  return target;
}

/**
 * Makes the next connection ask all hosts again, instead of trusting answers that may be a second
 * old. Does nothing for one host.
 * @param url `DATABASE_URL`
 */
export function askHostsAgain(url: string): void {
  choices.get(url)?.restart();
}

/**
 * Returns hosts, ports and name of the database that a URL names, as in `db1:5432,db2:5432/mail`;
 * never the user or the password. Hosts are sorted, so that their order makes no difference.
 */
export function addressOfUrl(url: string): string {
  // Parsed by the driver, so that PGHOST, PGPORT and PGDATABASE apply as they do for connections.
  // These clients never connect.
  const clients = parseDatabaseUrl(url).urls.map(
    (each) => new pg.Client({ connectionString: each }),
  );
  const hosts = clients.map(({ host, port }) => `${host}:${port}`).toSorted();
  return `${hosts.join(',')}/${clients[0]?.database ?? ''}`;
}
