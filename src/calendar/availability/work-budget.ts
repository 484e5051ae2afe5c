import { setImmediate as letOthersRun } from 'node:timers/promises';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** Most milliseconds spent on expanding rules for one request. Usual rules take microseconds. */
const MOST_MS = 2_000;
/** Longest time in milliseconds before other requests run. */
const SLICE_MS = 20;
/** Most instances of recurring events in one response. */
const MOST_TIMES = 200_000;

/**
 * Limits the time one request may spend on recurrence rules, which other users wrote, and lets
 * other requests run in between.
 */
export class WorkBudget {
  readonly #now: () => number;
  #sliceBegan: number;
  #spentMs = 0;
  #times = 0;

  /** @param now clock in milliseconds; replaced in tests */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#sliceBegan = now();
  }

  /**
   * Call it after each series.
   * @param times number of instances found
   * @returns a promise to await before continuing, or `undefined` to continue at once
   * @throws {InvalidInputError} if the budget is used up
   */
  spend(times: number): Promise<void> | undefined {
    this.#times += times;
    if (this.#times > MOST_TIMES)
      throw tooMuch(`recurring events take place more than ${MOST_TIMES} times in this range`);
    const sliceMs = this.#now() - this.#sliceBegan;
    if (sliceMs < SLICE_MS) return undefined;
    this.#spentMs += sliceMs;
    if (this.#spentMs > MOST_MS)
      throw tooMuch('the rules of recurring events take too long to expand');
    return this.#rest();
  }

  async #rest(): Promise<void> {
    await letOthersRun();
    this.#sliceBegan = this.#now();
  }
}

const tooMuch = (what: string): InvalidInputError =>
  new InvalidInputError(`emails: ${what}; ask for fewer people or a shorter time`);
