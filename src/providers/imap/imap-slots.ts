import { KeyedCount } from '../../platform/base/concurrency/keyed-count.ts';
import type { ImapLimits } from './imap-limits.ts';

/** Whose connection it is, where to, and what for. */
export interface Place {
  account: string;
  host: string;
  /** Whether it watches; those are counted by themselves, because they stay. */
  watches: boolean;
}

/** Counts connections against the limits of accounts and hosts. */
export class ImapSlots {
  readonly #counts = new KeyedCount();

  constructor(
    private readonly limits: Pick<ImapLimits, 'perAccount' | 'perHost' | 'watchesPerHost'>,
  ) {}

  /** Whether the account has as many as it may. A watch leaves one for the work. */
  isAccountFull({ account, watches }: Place): boolean {
    return (
      (watches && this.isWatched(account)) ||
      this.#counts.get(accountKey(account)) >= this.limits.perAccount
    );
  }

  /** Whether another watch would leave none. */
  isWatched(account: string): boolean {
    return this.#counts.get(watchKey(account)) >= this.limits.perAccount - 1;
  }

  /** Whether the host has as many of its kind as it may. */
  isHostFull(place: Place): boolean {
    const { perHost, watchesPerHost } = this.limits;
    return this.#counts.get(hostKey(place)) >= (place.watches ? watchesPerHost : perHost);
  }

  /** Counts one, when there is room for it. */
  take(place: Place): boolean {
    if (this.isAccountFull(place) || this.isHostFull(place)) return false;
    for (const key of keysOf(place)) this.#counts.add(key, 1);
    return true;
  }

  /** Counts one less. */
  free(place: Place): void {
    for (const key of keysOf(place)) this.#counts.add(key, -1);
  }
}

const accountKey = (account: string) => `account ${account}`;
const watchKey = (account: string) => `watch ${account}`;
const hostKey = ({ host, watches }: Place) => `${watches ? 'watched host' : 'host'} ${host}`;

function keysOf(place: Place): string[] {
  const { account, watches } = place;
  return [accountKey(account), hostKey(place), ...(watches ? [watchKey(account)] : [])];
}
