import { DomainError, InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import type { ProviderError } from '../../../platform/base/errors/provider-error.ts';

/**
 * The error for an owner whose settings a service did not accept. Nothing has been stored.
 * @param service its name in the error text, such as `mailing service`
 * @param code error type if the service could not be reached, such as `relay.unavailable`
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
      return new InvalidInputError(`settings: the ${service} reported: ${error.message}`, details);
  }
}
