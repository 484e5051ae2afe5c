import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/**
 * The error for a message whose `from` is an address that its account may not use.
 * @param hint what the user can do, as sentences
 */
export function senderRefused(from: string, hint: string, cause?: unknown): ProviderError {
  return new ProviderError(
    'rejected',
    `from: ${from} is not an address from which this account may send. ${hint}`,
    { phase: 'envelope', cause },
  );
}
