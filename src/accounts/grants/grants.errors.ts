import {
  ConflictError,
  DomainError,
  ForbiddenError,
  InvalidInputError,
} from '../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** A quickstart application already has its one account (spec 1, 8). */
export class QuickstartLimitError extends ForbiddenError {
  constructor() {
    super(
      'application.quickstart-limit',
      'A quickstart application has one connected account at a time: disconnect it first, or use a standard application.',
      { betaType: 'grant.quickstart_limit' },
    );
  }
}

/** Accounts are connected through the integration of their provider (spec 1). */
export class IntegrationRequiredError extends InvalidInputError {
  constructor(provider: string) {
    super(`provider: there is no integration for ${provider}: create one first`, {
      betaType: 'grant.integration_required',
    });
  }
}

/** The credentials belong to another account than the one that is to be authenticated again. */
export class ReauthenticationMismatchError extends InvalidInputError {
  constructor(message: string) {
    super(message, { betaType: 'grant.reauth_email_invalid' });
  }
}

/** Two requests changed the settings of one grant at the same time; the later one changed nothing. */
export class GrantChangedError extends ConflictError {
  constructor() {
    super('grant.changed', 'The settings of this grant were changed at the same time: try again');
  }
}

/** The settings open a mailbox that is connected as another account of the application. */
export class MailboxTakenError extends ConflictError {
  constructor(accountId: string) {
    super(
      'grant.mailbox-taken',
      `settings: this mailbox is connected as account ${accountId}: disconnect one of the two first`,
    );
  }
}

/** The integration takes only accounts whose address is proven (ADR 0056). */
export class AddressUnprovenError extends InvalidInputError {
  constructor(email: string) {
    super(
      `settings: nothing proves that this mailbox is that of ${email}: its domain does not name these servers and this login. Leave the servers out, or sign in with the address itself as the login`,
      { betaType: 'grant.address_unproven' },
    );
  }
}

/**
 * What a client is told when the provider did not accept an account. An error that is about one setting begins with its name.
 * `details.cause` is the provider's error.
 */
export function toConnectError(error: ProviderError): DomainError {
  // What was put around the server's own words is for people.
  const words = error.cause instanceof ProviderError ? error.cause.message : error.message;
  const details = { cause: error, serverError: words };
  const say = (usual: string) =>
    error.setting === null
      ? `${usual}: ${error.message}`
      : `settings.${error.setting}: ${error.message}`;
  switch (error.code) {
    case 'auth-invalid':
      return new InvalidInputError(say('The provider refused the credentials'), {
        ...details,
        betaType: 'grant.credentials_refused',
      });
    case 'temporary':
    case 'rate-limited':
    case 'quota-exhausted':
    case 'outcome-unknown':
      return new DomainError(
        'provider.unavailable',
        'unavailable',
        say('The provider could not be asked at the moment'),
        { ...details, betaType: 'grant.provider_unavailable' },
      );
    case 'rejected':
    case 'not-found':
    case 'conflict':
    case 'unsupported':
      return new InvalidInputError(say('The provider did not accept the account'), {
        ...details,
        betaType: 'grant.provider_error',
      });
  }
}
