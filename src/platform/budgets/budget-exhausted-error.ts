import { ProviderError } from '../base/errors/provider-error.ts';

/**
 * Our own limit on requests to a provider is used up, so the provider was not asked. Callers wait
 * for `retryAfterSeconds`; it counts as a failure of nobody.
 */
export class BudgetExhaustedError extends ProviderError {
  override name = 'BudgetExhaustedError';
  declare readonly retryAfterSeconds: number;
  /**
   * Seconds until the budget is full if nobody uses it; rounded up. Work that needs many requests,
   * and begins anew if it is interrupted, waits for so long: after `retryAfterSeconds` there is
   * enough for a single request only.
   */
  readonly fullAfterSeconds: number;

  /**
   * @param seconds until the request can be made if nobody else makes one; rounded up
   * @param fullSeconds until the budget is full. Default: `seconds`
   * @param message default: that the account stays below its provider's limit
   */
  constructor(seconds: number, fullSeconds: number = seconds, message?: string) {
    const wait = Math.max(1, Math.ceil(seconds));
    super(
      'rate-limited',
      message ??
        `Carillon waits for ${wait} s, so that the account stays below its provider's limit on requests`,
      { retryAfterSeconds: wait },
    );
    this.fullAfterSeconds = Math.max(wait, Math.ceil(fullSeconds));
  }
}
