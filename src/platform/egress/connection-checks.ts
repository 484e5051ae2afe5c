import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientKey } from '../base/client-address.ts';

/** How many connection checks may run at the same time in one process. */
export interface CheckLimits {
  perProcess: number;
  perApplication: number;
  /** For one client address, if the application has not authenticated. */
  perAddress: number;
  /** For one server that a request names. */
  perHost: number;
}

/** The origin of a check, and the servers that it connects to. */
export interface CheckTarget {
  applicationId: string;
  /** Address of the client; absent if the application has authenticated with its secret. */
  clientAddress?: string | undefined;
  /** Host names of the servers. */
  hosts?: readonly string[];
}

const RETRY_AFTER_SECONDS = 5;

/** Too many checks are running. No server was contacted. */
export class TooManyChecksError extends DomainError {
  constructor(scope: string) {
    super(
      'connect.too-many-checks',
      'rate-limited',
      `Too many accounts or services are being verified ${scope}: try again in ${RETRY_AFTER_SECONDS} seconds`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}

/**
 * Limits how many connections to servers named by users are verified at the same time. Each check
 * uses memory and takes up to half a minute, and every client can start one. Counted per process.
 */
export class ConnectionChecks {
  readonly #running = new KeyedCount();

  constructor(private readonly limits: CheckLimits) {}

  /**
   * Runs `work` unless a limit is reached.
   * @throws {TooManyChecksError} before the work begins
   * @throws the error of the work
   */
  async run<T>(
    { applicationId, clientAddress, hosts = [] }: CheckTarget,
    work: () => Promise<T>,
  ): Promise<T> {
    const { perProcess, perApplication, perAddress, perHost } = this.limits;
    const limits: [key: string, most: number, scope: string][] = [
      ['process', perProcess, 'on this server'],
      [`application ${applicationId}`, perApplication, 'for this application'],
    ];
    if (clientAddress !== undefined)
      limits.push([`address ${clientKey(clientAddress)}`, perAddress, 'for this client address']);
    for (const host of new Set(hosts.map((name) => name.toLowerCase())))
      limits.push([`host ${host}`, perHost, 'at this mail server']);
    const full = limits.find(([key, most]) => this.#running.get(key) >= most);
    if (full) throw new TooManyChecksError(full[2]);
    for (const [key] of limits) this.#running.add(key, 1);
    try {
      return await work();
    } finally {
      for (const [key] of limits) this.#running.add(key, -1);
    }
  }
}
