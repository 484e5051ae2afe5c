import { Clock } from '../../src/platform/base/time/clock.ts';

/** A clock that stands still until a test moves it. The database's clock does not move with it. */
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
