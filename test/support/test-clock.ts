import { Clock } from '../../src/platform/base/time/clock.ts';

/** A clock that stands still until it is moved. The database's own clock is not moved by it. */
export class TestClock extends Clock {
  #now: Date;

  constructor(now = new Date()) {
    super();
    this.#now = now;
  }

  now(): Date {
    return new Date(this.#now);
  }

  advance(milliseconds: number): void {
    this.#now = new Date(this.#now.getTime() + milliseconds);
  }
}
