import {
  DomainError,
  type ErrorKind,
  NotImplementedError,
} from '../../platform/base/errors/domain-error.ts';
import { BudgetExhaustedError } from '../../platform/budgets/budget-exhausted-error.ts';
import type {
  ProviderError,
  ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';

const KINDS: Readonly<Record<Exclude<ProviderErrorCode, 'unsupported'>, ErrorKind>> = {
  'auth-invalid': 'forbidden',
  'quota-exhausted': 'rate-limited',
  'rate-limited': 'rate-limited',
  temporary: 'unavailable',
  'outcome-unknown': 'unavailable',
  rejected: 'payment',
  'not-found': 'not-found',
  conflict: 'conflict',
};

/**
 * The API error for a request that waited for a provider and failed there.
 * @param what the failed action, in words that complete "The provider could not …", for example
 *   "give the message"
 */
export function providerFailure(error: ProviderError, what: string): DomainError {
  if (error.code === 'unsupported') return new NotImplementedError(error.message);
  const { retryAfterSeconds, message, code, cause } = error;
  return new DomainError(
    `provider.${code}`,
    KINDS[code],
    error instanceof BudgetExhaustedError
      ? `The provider was not asked to ${what}: ${message}. Try again after that time`
      : `The provider could not ${what}: ${message}`,
    {
      serverError: message,
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
      cause,
    },
  );
}
