import { BudgetExhaustedError } from '../platform/budgets/budget-exhausted-error.ts';

/**
 * Collects how long parts of a sync pass have to wait for the budget of the provider. Waiting is no
 * failure.
 */
export class BudgetWait {
  /** Shortest wait in seconds; `null` if no part has to wait. */
  seconds: number | null = null;

  /** @returns the result of the part, or `undefined` if the part has to wait */
  async within<T>(part: Promise<T>): Promise<T | undefined> {
    try {
      return await part;
    } catch (error) {
      if (!(error instanceof BudgetExhaustedError)) throw error;
      this.seconds = Math.min(this.seconds ?? Infinity, error.retryAfterSeconds);
      return undefined;
    }
  }
}
