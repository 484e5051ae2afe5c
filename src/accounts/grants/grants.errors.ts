import {
  ConflictError,
  DomainError,
  ForbiddenError,
  InvalidInputError,
} from '../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** A quickstart application already has one account, which is its limit. */
export class QuickstartLimitError extends ForbiddenError {
  constructor() {
    super(
      'application.quickstart-limit',
      'A quickstart application has one connected account at a time: disconnect it first, or use a standard application.',
      { betaType: 'grant.quickstart_limit' },
    );
  }
}

/** An account can be connected only if the application has an integration for its provider. */
export class IntegrationRequiredError extends InvalidInputError {
  constructor(provider: string) {
    super(`provider: there is no integration for ${provider}: create one first`, {
      betaType: 'grant.integration_required',
    });
  }
}

/**
 * The provider can be registered, but this server has no connector that connects accounts of it.
 */
export class UnconnectableProviderError extends InvalidInputError {
  constructor(providers: readonly string[]) {
    super(
      `provider: this server cannot connect accounts of ${providers.join(' or ')}, with or without an integration: create an integration for imap, with OAuth settings or for app passwords, and use the provider imap`,
      { betaType: 'grant.provider_not_supported' },
    );
  }
}

/** The credentials belong to another account than the one that should be authenticated again. */
export class ReauthenticationMismatchError extends InvalidInputError {
  constructor(message: string) {
    super(message, { betaType: 'grant.reauth_email_invalid' });
  }
}

/**
 * The address belongs to another user of the provider than the one who connected the account, such
 * as a successor who got it.
 */
export class SubjectMismatchError extends InvalidInputError {
  constructor(email: string, provider: string) {
    super(
      `settings: ${email} belongs to another user of ${provider} now than the one who connected this account. Let the same user sign in, or disconnect the account first and connect it as a new one`,
      { betaType: 'grant.reauth_subject_invalid' },
    );
  }
}

/**
 * Two requests changed the settings of one grant at the same time. The later one changed nothing.
 */
export class GrantChangedError extends ConflictError {
  constructor() {
    super('grant.changed', 'The settings of this grant were changed at the same time: try again');
  }
}

/**
 * The settings lead to a mailbox that is already connected as another account of the application.
 */
export class MailboxTakenError extends ConflictError {
  constructor(accountId: string) {
    super(
      'grant.mailbox-taken',
      `settings: this mailbox is connected as account ${accountId}: disconnect one of the two first`,
    );
  }
}

/** The integration accepts only accounts whose address is proven (ADR 0056). */
export class AddressUnprovenError extends InvalidInputError {
  constructor(email: string) {
    super(
      `settings: nothing proves that this mailbox belongs to ${email}: its domain does not name these servers and this login. Leave the servers out, or sign in with the address itself as the login`,
      { betaType: 'grant.address_unproven' },
    );
  }
}

/** Nothing of what the sign-in asks for is allowed at the provider. */
export function noScopes(provider: string): InvalidInputError {
  return new InvalidInputError(
    `scopes: none of the requested scopes is allowed at ${provider}: let the user, or an administrator, allow them there, and sign in again`,
    { betaType: 'grant.scopes_conflict' },
  );
}

/**
 * The error for the client when the provider did not accept an account. An error about one setting
 * begins with the name of that setting. `details.cause` is the provider's error.
 */
export function toConnectError(error: ProviderError): DomainError {
  // A connector may put an explanation for users around the server's own words. Clients get the
  // server's own words.
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
        say('The provider could not be reached'),
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
