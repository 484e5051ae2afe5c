import { isIPv6 } from 'node:net';
import { DomainError } from '../errors/domain-error.ts';

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
  readonly #running = new Map<string, number>();

  constructor(private readonly limits: CheckLimits) {}

  /**
   * @throws {TooManyChecksError} before the work begins
   * @throws what the work throws
   */
  async run<T>({ applicationId, clientAddress, hosts = [] }: CheckPlace, work: () => Promise<T>): Promise<T> {
    const { perProcess, perApplication, perAddress, perHost } = this.limits;
    const places: [key: string, most: number, who: string][] = [
      ['process', perProcess, 'on this server'],
      [`application ${applicationId}`, perApplication, 'for this application'],
      ...(clientAddress === undefined
        ? []
        : [
            [`address ${networkOf(clientAddress)}`, perAddress, 'for this client address'] as [
              string,
              number,
              string,
            ],
          ]),
      ...[...new Set(hosts.map((host) => host.toLowerCase()))].map((host): [string, number, string] => [
        `host ${host}`,
        perHost,
        'at this mail server',
      ]),
    ];
    const full = places.find(([key, most]) => this.#count(key) >= most);
    if (full) throw new TooManyChecksError(full[2]);
    for (const [key] of places) this.#running.set(key, this.#count(key) + 1);
    try {
      return await work();
    } finally {
      for (const [key] of places) {
        const left = this.#count(key) - 1;
        if (left > 0) this.#running.set(key, left);
        else this.#running.delete(key);
      }
    }
  }

  #count(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}

/** Of an IPv6 address the first 64 bits: whoever has one address there has all of them. */
function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros =
    tail === undefined
      ? []
      : Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0');
  return [...groups, ...zeros, ...after]
    .slice(0, 4)
    .map((group) => group.toLowerCase().padStart(4, '0'))
    .join(':');
}
