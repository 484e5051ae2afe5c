/** Seconds to wait after refusals that follow one another: minutes, then hours. */
const PAUSES = [600, 1_800, 3_600, 10_800, 21_600] as const;
/** A refusal that is this much older than the end of its pause is forgotten. Milliseconds. */
const FORGOTTEN_MS = 6 * 3_600_000;

/**
 * Waits for Google's general limits of calendars, such as invitations in a day. They are apart from
 * the API's quota: Google refuses writes for minutes or hours, and still answers reads.
 */
export class CalendarUseLimits {
  readonly #refused = new Map<string, { times: number; until: number }>();

  /**
   * Notes a refusal. A refusal during a pause does not make the pause longer, because its request
   * began before the pause.
   * @param now milliseconds
   * @returns seconds to wait before the next write
   */
  refused(key: string, now: number): number {
    for (const [other, { until }] of this.#refused)
      if (now - until > FORGOTTEN_MS) this.#refused.delete(other);
    const last = this.#refused.get(key);
    if (last && now < last.until) return Math.ceil((last.until - now) / 1000);
    const times = last?.times ?? 0;
    const seconds = PAUSES[Math.min(times, PAUSES.length - 1)] ?? PAUSES[0];
    this.#refused.set(key, { times: times + 1, until: now + seconds * 1000 });
    return seconds;
  }

  /** Notes that Google has accepted a write. */
  accepted(key: string): void {
    this.#refused.delete(key);
  }
}
