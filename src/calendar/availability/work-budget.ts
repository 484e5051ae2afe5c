import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** How long rules of one request are worked out; usual ones take microseconds. */
const MOST_MS = 2_000;
/** How long others wait for their turn meanwhile. */
const TURN_MS = 20;
/** Times of recurring events in one answer. */
const MOST_TIMES = 200_000;

/** Bounds what one request may have worked out of the rules of others, and lets other requests have their turns. */
export class WorkBudget {
  readonly #now: () => number;
  #turnBegan: number;
  #spentMs = 0;
  #times = 0;

  /** @param now milliseconds, for tests */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#turnBegan = now();
  }

  /**
   * To be called after each series.
   * @param times how many of it were found
   * @returns what has to be waited for, if anything
   * @throws {InvalidInputError} when it has been too much
   */
  spend(times: number): Promise<void> | undefined {
    this.#times += times;
    if (this.#times > MOST_TIMES)
      throw tooMuch(`recurring events take place more than ${MOST_TIMES} times then`);
    const turnMs = this.#now() - this.#turnBegan;
    if (turnMs < TURN_MS) return undefined;
    this.#spentMs += turnMs;
    if (this.#spentMs > MOST_MS)
      throw tooMuch('the rules of recurring events take too long to be worked out');
    return this.#rest();
  }

  async #rest(): Promise<void> {
    await turnOfOthers();
    this.#turnBegan = this.#now();
  }
}

const tooMuch = (what: string): InvalidInputError =>
  new InvalidInputError(`emails: ${what}; ask for fewer people or a shorter time`);
