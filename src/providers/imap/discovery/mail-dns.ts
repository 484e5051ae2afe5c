import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

/** One target of an SRV record (RFC 2782). */
export interface SrvTarget {
  /** Lower case, without the dot at the end. */
  host: string;
  port: number;
  priority: number;
  weight: number;
}

/** What discovery asks DNS. Never throws: a question that gets no answer has none. */
export interface MailDns {
  /** Names of the mail exchangers of a domain, the preferred ones first. */
  exchangers(domain: string): Promise<readonly string[]>;
  /** Targets of a service (`_imaps._tcp.example.test`), in no order; empty also where the domain says that it has none. */
  services(name: string): Promise<readonly SrvTarget[]>;
  /** Whether a host has an address. Asked before anything connects: the system's own look-ups of names hold up all others. */
  exists(host: string): Promise<boolean>;
  /** The `path` of a TXT record (RFC 6764 section 4); null: none. */
  path(name: string): Promise<string | null>;
}

const TIMEOUT_MS = 2_000;
/** Of a hostile answer no more is looked at. */
const MOST_RECORDS = 20;

const plainName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** Asks the name servers of the machine. */
export class SystemMailDns implements MailDns {
  readonly #resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 });

  /** @param servers instead of the machine's, `address:port` */
  constructor(servers?: readonly string[]) {
    if (servers) this.#resolver.setServers(servers);
  }

  async exchangers(domain: string) {
    const records = await answered(this.#resolver.resolveMx(domain));
    return records
      .sort((one, other) => one.priority - other.priority)
      .slice(0, MOST_RECORDS)
      .map(({ exchange }) => plainName(exchange));
  }

  async services(name: string) {
    const records = await answered(this.#resolver.resolveSrv(name));
    return records
      .slice(0, MOST_RECORDS)
      .map(({ name: host, ...rest }) => ({ ...rest, host: plainName(host) }))
      .filter(({ host }) => host !== '');
  }

  async exists(host: string) {
    if (isIP(host)) return true;
    const kinds = [this.#resolver.resolve4(host), this.#resolver.resolve6(host)];
    return (await Promise.all(kinds.map(answered))).some((addresses) => addresses.length > 0);
  }

  async path(name: string) {
    const records = await answered(this.#resolver.resolveTxt(name));
    const texts = records.slice(0, MOST_RECORDS).map((parts) => parts.join(''));
    return (
      texts.map((text) => /^path=(\/.*)$/i.exec(text)?.[1]).find((path) => path !== undefined) ??
      null
    );
  }
}

/** Most domains have none of these records: that is an answer, and a resolver in trouble gives no other. */
async function answered<T>(question: Promise<T[]>): Promise<T[]> {
  try {
    return await question;
  } catch {
    return [];
  }
}

/**
 * Several services that do the same, the best first: by priority (RFC 6186 section 3.4 compares it across services), then
 * those encrypted from the first byte (RFC 8314), then by weight. Weights do not share out load here: an account stays where it
 * is connected.
 */
export function byPreference<T extends { target: SrvTarget; security: 'tls' | 'starttls' }>(
  found: readonly T[],
): T[] {
  const rank = { tls: 0, starttls: 1 };
  return [...found].sort(
    (one, other) =>
      one.target.priority - other.target.priority ||
      rank[one.security] - rank[other.security] ||
      other.target.weight - one.target.weight,
  );
}
