import { DomainError, InvalidInputError } from '../common/errors/domain-error.ts';
import type { ProviderError } from '../providers/provider-error.ts';

/** What an owner is told when a service did not accept its settings: nothing was stored. */
export function toSettingsError(error: ProviderError): DomainError {
  const details = { cause: error, serverError: error.message };
  switch (error.code) {
    case 'auth-invalid':
      return new InvalidInputError(
        `settings: the conferencing service refused the credentials: ${error.message}`,
        details,
      );
    case 'temporary':
    case 'rate-limited':
    case 'quota-exhausted':
    case 'outcome-unknown':
      return new DomainError(
        'conferencing.unavailable',
        'unavailable',
        `The conferencing service could not be asked: ${error.message}`,
        details,
      );
    case 'rejected':
    case 'not-found':
    case 'conflict':
    case 'unsupported':
      return new InvalidInputError(`settings: the conferencing service says: ${error.message}`, details);
  }
}
