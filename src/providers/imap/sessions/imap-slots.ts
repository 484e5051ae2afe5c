import { KeyedCount } from '../../../platform/base/concurrency/keyed-count.ts';
import type { ImapLimits } from './imap-limits.ts';

/** The account and host of a connection, and whether it is a watch. */
export interface ConnectionSlot {
  account: string;
  host: string;
  /** Whether the connection is a watch. Watches are counted separately, because they stay open. */
  watches: boolean;
}

/** Counts connections against the limits of accounts and hosts. */
export class ImapSlots {
  readonly #counts = new KeyedCount();

  constructor(
    private readonly limits: Pick<ImapLimits, 'perAccount' | 'perHost' | 'watchesPerHost'>,
  ) {}

  /**
   * Whether the account has reached its limit. A watch must leave one connection for other work.
   */
  isAccountFull({ account, watches }: ConnectionSlot): boolean {
    return (
      (watches && this.isWatched(account)) ||
      this.#counts.get(accountKey(account)) >= this.limits.perAccount
    );
  }

  /** Whether another watch would leave no connection for other work. */
  isWatched(account: string): boolean {
    return this.#counts.get(watchKey(account)) >= this.limits.perAccount - 1;
  }

  /** Whether the host has reached its limit for this kind of connection. */
  isHostFull(request: ConnectionSlot): boolean {
    const { perHost, watchesPerHost } = this.limits;
    return this.#counts.get(hostKey(request)) >= (request.watches ? watchesPerHost : perHost);
  }

  /**
   * Counts a connection if the limits allow it.
   * @returns false if a limit is reached
   */
  take(request: ConnectionSlot): boolean {
    if (this.isAccountFull(request) || this.isHostFull(request)) return false;
    for (const key of keysOf(request)) this.#counts.add(key, 1);
    return true;
  }

  /** Removes a connection from the count. */
  free(request: ConnectionSlot): void {
    for (const key of keysOf(request)) this.#counts.add(key, -1);
  }
}

const accountKey = (account: string) => `account ${account}`;
const watchKey = (account: string) => `watch ${account}`;
const hostKey = ({ host, watches }: ConnectionSlot) =>
  `${watches ? 'watched host' : 'host'} ${host}`;

function keysOf(request: ConnectionSlot): string[] {
  const { account, watches } = request;
  return [accountKey(account), hostKey(request), ...(watches ? [watchKey(account)] : [])];
}
