import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientKey } from '../base/client-address.ts';

/** How many checks may run at the same time in one process. */
export interface CheckLimits {
  perProcess: number;
  perApplication: number;
  /** For one address of a client that has proven nothing. */
  perAddress: number;
  /** To one server that a request names. */
  perHost: number;
}

/** Whose check it is, and what it connects to. */
export interface CheckPlace {
  applicationId: string;
  /** Address of the client; absent: the application has proven itself by its secret. */
  clientAddress?: string | undefined;
  /** Names of the servers. */
  hosts?: readonly string[];
}

const RETRY_AFTER_SECONDS = 5;

/** Too many checks run already; nothing was asked of any server. */
export class TooManyChecksError extends DomainError {
  constructor(who: string) {
    super(
      'connect.too-many-checks',
      'rate-limited',
      `Too many accounts or services are being verified ${who}: try again in ${RETRY_AFTER_SECONDS} seconds`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}

/**
 * Bounds how many connections to servers that somebody names are being verified at a time: each takes memory and up to half a
 * minute, and everybody may ask for one. Counted in each process.
 */
export class ConnectionChecks {
  readonly #running = new KeyedCount();

  constructor(private readonly limits: CheckLimits) {}

  /**
   * @throws {TooManyChecksError} before the work begins
   * @throws what the work throws
   */
  async run<T>(
    { applicationId, clientAddress, hosts = [] }: CheckPlace,
    work: () => Promise<T>,
  ): Promise<T> {
    const { perProcess, perApplication, perAddress, perHost } = this.limits;
    const places: [key: string, most: number, who: string][] = [
      ['process', perProcess, 'on this server'],
      [`application ${applicationId}`, perApplication, 'for this application'],
    ];
    if (clientAddress !== undefined)
      places.push([`address ${clientKey(clientAddress)}`, perAddress, 'for this client address']);
    for (const host of new Set(hosts.map((name) => name.toLowerCase())))
      places.push([`host ${host}`, perHost, 'at this mail server']);
    const full = places.find(([key, most]) => this.#running.get(key) >= most);
    if (full) throw new TooManyChecksError(full[2]);
    for (const [key] of places) this.#running.add(key, 1);
    try {
      return await work();
    } finally {
      for (const [key] of places) this.#running.add(key, -1);
    }
  }
}
