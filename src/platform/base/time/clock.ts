/**
 * The time of day for decisions outside SQL. In production it follows the database's clock
 * (`database/database-clock.ts`), so that all processes agree on what is due. Tests can set it.
 */
export abstract class Clock {
  abstract now(): Date;
}

/** The machine's own clock, for programs without a database such as `carillon-api`. */
export class SystemClock extends Clock {
  now(): Date {
    return new Date();
  }
}

/** Milliseconds for measuring intervals. The value does not jump when the wall clock is set. */
export function monotonicMs(): number {
  return performance.now();
}

/** The readings of both of the machine's clocks at one moment, for measuring pauses. */
export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export function moment(): Moment {
  return { monotonicMs: monotonicMs(), wallMs: Date.now() };
}

/**
 * Returns at least as many milliseconds as have passed between two moments. The larger reading
 * counts, because the monotonic clock stops while a machine is suspended, and the wall clock may be
 * set back. The result is too large if the wall clock was set forward.
 */
export function mostMsBetween(from: Moment, to: Moment): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs);
}
