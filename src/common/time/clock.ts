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
