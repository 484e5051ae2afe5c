/**
 * The time of day for decisions that are not made by SQL. In production it is anchored to the database's clock
 * (`database/database-clock.ts`), so that replicas agree on "due"; tests move it.
 */
export abstract class Clock {
  abstract now(): Date;
}

/** The machine's own clock: for programs without a database, such as the `api` client. */
export class SystemClock extends Clock {
  now(): Date {
    return new Date();
  }
}

/** Milliseconds that only measure intervals; never jumps when the wall clock is set. */
export function monotonicMs(): number {
  return performance.now();
}

/** A moment by both of the machine's clocks, to measure pauses from. */
export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export function moment(): Moment {
  return { monotonicMs: monotonicMs(), wallMs: Date.now() };
}

/**
 * Milliseconds from one moment to another, not less than have passed: monotonic time stands still while a machine is
 * suspended, and the wall clock may be set back. Too many when it is set forward.
 */
export function mostMsBetween(from: Moment, to: Moment): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs);
}
