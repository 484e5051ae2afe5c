/** Seconds to wait after refusals that follow one another. */
type Pauses = readonly [number, ...number[]];

/** Google's general limits of calendars, such as invitations in a day, last minutes or hours. */
export const CALENDAR_PAUSES: Pauses = [600, 1_800, 3_600, 10_800, 21_600];
/** The quota of full lists of contacts. Google names neither its number nor its time. */
export const FULL_LIST_PAUSES: Pauses = [60, 300, 900, 3_600];
/** A refusal that is this much older than the end of its pause is forgotten. Milliseconds. */
const FORGOTTEN_MS = 6 * 3_600_000;

/**
 * Waits for a limit of Google's that is apart from the quota of its API: Google refuses some
 * requests, and still answers the others.
 */
export class UseLimits {
  readonly #refused = new Map<string, { times: number; until: number }>();

  constructor(private readonly pauses: Pauses) {}

  /**
   * Notes a refusal. A refusal during a pause does not make the pause longer, because its request
   * began before the pause.
   * @param now milliseconds
   * @returns seconds to wait before the next such request
   */
  refused(key: string, now: number): number {
    for (const [other, { until }] of this.#refused)
      if (now - until > FORGOTTEN_MS) this.#refused.delete(other);
    const last = this.#refused.get(key);
    if (last && now < last.until) return Math.ceil((last.until - now) / 1000);
    const times = last?.times ?? 0;
    const seconds = this.pauses[Math.min(times, this.pauses.length - 1)] ?? this.pauses[0];
    this.#refused.set(key, { times: times + 1, until: now + seconds * 1000 });
    return seconds;
  }

  /** Notes that Google has accepted such a request. */
  accepted(key: string): void {
    this.#refused.delete(key);
  }
}
