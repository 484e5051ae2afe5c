import { BudgetExhaustedError } from '../platform/budgets/budget-exhausted-error.ts';
import { CeilingReachedError } from '../platform/budgets/ceiling-reached-error.ts';

/**
 * Pause in seconds before a batch is read again because it may be older than one of our own writes.
 * That is possible for about a second after the end of the write; each attempt costs requests.
 */
const OUTDATED_SECONDS = 0.5;

/**
 * Collects how long parts of a sync pass have to wait, mostly for the budget of the provider.
 * Waiting is no failure.
 */
export class BudgetWait {
  /** Shortest wait in seconds, except for ceilings; `null` if no part has to wait. */
  seconds: number | null = null;
  /**
   * Shortest wait in seconds for a ceiling of the application; `null` if no part waits for one. A
   * ceiling stops some requests only, so the account is still polled meanwhile (ADR 0125).
   */
  ceilingSeconds: number | null = null;
  #hasProgressed = false;

  /** A part has stored something and will go on there. */
  progress(): void {
    this.#hasProgressed = true;
  }

  /** What was read may be older than one of our own writes, and has to be read again. */
  outdated(): void {
    this.seconds = Math.min(this.seconds ?? Infinity, OUTDATED_SECONDS);
  }

  /**
   * A part without progress waits until the budget is full. It begins anew, so after a shorter wait
   * it could fail at the same place again and again.
   * @returns the result of the part, or `undefined` if the part has to wait
   */
  async within<T>(part: Promise<T>): Promise<T | undefined> {
    try {
      return await part;
    } catch (error) {
      if (!(error instanceof BudgetExhaustedError)) throw error;
      if (error instanceof CeilingReachedError) {
        this.ceilingSeconds = Math.min(this.ceilingSeconds ?? Infinity, error.retryAfterSeconds);
        return undefined;
      }
      const wait = this.#hasProgressed ? error.retryAfterSeconds : error.fullAfterSeconds;
      this.seconds = Math.min(this.seconds ?? Infinity, wait);
      return undefined;
    } finally {
      this.#hasProgressed = false;
    }
  }
}
