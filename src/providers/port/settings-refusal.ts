import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { ProviderError } from '../../platform/base/errors/provider-error.ts';

/**
 * What an owner is told when a service did not accept its settings: nothing was stored.
 * @param service as the owner knows it, such as `mailing service`
 * @param code of the error while the service cannot be asked, such as `relay.unavailable`
 */
export function toSettingsRefusal(
  error: ProviderError,
  service: string,
  code: string,
): DomainError {
  const details = { cause: error, serverError: error.message };
  switch (error.code) {
    case 'auth-invalid':
      return new InvalidInputError(
        `settings: the ${service} refused the credentials: ${error.message}`,
        details,
      );
    case 'temporary':
    case 'rate-limited':
    case 'quota-exhausted':
    case 'outcome-unknown':
      return new DomainError(
        code,
        'unavailable',
        `The ${service} could not be asked: ${error.message}`,
        details,
      );
    case 'rejected':
    case 'not-found':
    case 'conflict':
    case 'unsupported':
      return new InvalidInputError(`settings: the ${service} says: ${error.message}`, details);
  }
}
