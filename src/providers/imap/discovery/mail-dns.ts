import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

/** One target of an SRV record (RFC 2782). */
export interface SrvTarget {
  /** Lower case, without the final dot. */
  host: string;
  port: number;
  priority: number;
  weight: number;
}

/** The DNS queries of discovery. No method throws: a failed query has an empty result. */
export interface MailDns {
  /** Host names of a domain's mail exchangers, preferred ones first. */
  exchangers(domain: string): Promise<readonly string[]>;
  /**
   * Targets of a service (`_imaps._tcp.example.test`), unordered. Also empty if the domain declares
   * that it does not offer the service.
   */
  services(name: string): Promise<readonly SrvTarget[]>;
  /**
   * Whether a host has an address. Call it before connecting: if the operating system has to
   * resolve names that do not exist, all its other DNS queries are delayed.
   */
  exists(host: string): Promise<boolean>;
  /** The `path` of a TXT record (RFC 6764 section 4), or `null` if there is none. */
  path(name: string): Promise<string | null>;
}

const TIMEOUT_MS = 2_000;
/** Most records that are read from one DNS response; a hostile one could have any number. */
const MOST_RECORDS = 20;

const plainName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** Queries the name servers of the machine. */
export class SystemMailDns implements MailDns {
  readonly #resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 });

  /** @param servers name servers to use instead of the machine's, as `address:port` */
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

/**
 * The records that a query returned. Most domains have none of these records. The resolver reports
 * that as an error, like its own failures; the result is empty in both cases.
 */
async function answered<T>(question: Promise<T[]>): Promise<T[]> {
  try {
    return await question;
  } catch {
    return [];
  }
}

/**
 * Sorts equivalent services, best first: by priority (RFC 6186 section 3.4 compares it across
 * services), then TLS from the first byte before STARTTLS (RFC 8314), then by weight. Weights are
 * not used to share load: an account stays with the server it was connected to.
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
