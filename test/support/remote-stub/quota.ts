/** Units that one account may use within a window. */
export interface QuotaLimit {
  units: number;
  windowMs: number;
}

interface Usage {
  /** Units that were used or refused, oldest first. */
  entries: { at: number; units: number; isRefused: boolean }[];
  first: number;
  used: number;
  asked: number;
  highest: number;
  total: { units: number; requests: number };
  refusals: number;
}

/** Counts units of each account in a sliding window, as a service does. */
export class Quota {
  /** May be changed while the stub runs. */
  limit: QuotaLimit;
  readonly #now: () => number;
  readonly #usage = new Map<string, Usage>();

  /** @param now milliseconds of the stub's clock */
  constructor(limit: QuotaLimit, now: () => number) {
    this.limit = limit;
    this.#now = now;
  }

  /**
   * Charges an account.
   * @returns 0 if the units were there; otherwise nothing is charged, and the result is the number
   *   of milliseconds after which they would be
   */
  take(account: string, units: number): number {
    const usage = this.#of(account);
    const now = this.#now();
    this.#forget(usage, now - this.limit.windowMs);
    const isRefused = usage.used + units > this.limit.units;
    usage.entries.push({ at: now, units, isRefused });
    usage.asked += units;
    usage.total.units += units;
    usage.total.requests += 1;
    usage.highest = Math.max(usage.highest, usage.asked);
    if (!isRefused) usage.used += units;
    else usage.refusals += 1;
    return isRefused ? this.#wait(usage, units, now) : 0;
  }

  /** The most units that an account asked for within one window, refused ones included. */
  highest(account: string): number {
    return this.#of(account).highest;
  }

  /** What an account asked for so far, refused requests included. */
  total(account: string): { units: number; requests: number } {
    return { ...this.#of(account).total };
  }

  /** Number of requests that were refused. Default: of all accounts. */
  refusals(account?: string): number {
    if (account !== undefined) return this.#of(account).refusals;
    return [...this.#usage.values()].reduce((sum, { refusals }) => sum + refusals, 0);
  }

  /** Forgets everything that was used. */
  clear(): void {
    this.#usage.clear();
  }

  #wait(usage: Usage, units: number, now: number): number {
    let missing = usage.used + units - this.limit.units;
    for (const { at, units: used, isRefused } of usage.entries.slice(usage.first)) {
      if (!isRefused) missing -= used;
      if (missing <= 0) return Math.max(1, at + this.limit.windowMs - now);
    }
    return this.limit.windowMs;
  }

  #forget(usage: Usage, until: number): void {
    for (let entry = usage.entries[usage.first]; entry && entry.at <= until;) {
      usage.asked -= entry.units;
      if (!entry.isRefused) usage.used -= entry.units;
      usage.first += 1;
      entry = usage.entries[usage.first];
    }
    if (usage.first < 1000) return;
    usage.entries.splice(0, usage.first);
    usage.first = 0;
  }

  #of(account: string): Usage {
    const known = this.#usage.get(account);
    if (known) return known;
    const total = { units: 0, requests: 0 };
    const made = { entries: [], first: 0, used: 0, asked: 0, highest: 0, total, refusals: 0 };
    this.#usage.set(account, made);
    return made;
  }
}
