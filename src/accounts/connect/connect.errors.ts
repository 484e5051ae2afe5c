import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** The client id, or the client id and secret, in the body are not right. */
export class ClientCredentialsError extends DomainError {
  constructor() {
    super('connect.client-credentials', 'unauthorized', 'Could not verify access credential.');
  }
}

/** The code cannot be exchanged. Which of the reasons it is, is not told. */
export class CodeError extends InvalidInputError {
  constructor() {
    super('code: is unknown, expired or already used');
  }
}

/** The provider is not one this version can connect by credentials. */
export class NativeProviderError extends InvalidInputError {
  constructor(provider: string, supported: readonly string[]) {
    super(
      `provider: "${provider}" cannot be connected in this version; supported: ${supported.join(', ')}`,
    );
  }
}

/** The browser would be sent to an address that nobody has registered. */
export class RedirectUriError extends InvalidInputError {
  constructor() {
    super(
      'redirect_uri: is not registered: it has to be one of the redirect_uris of the application or its integration, to the letter',
      { betaType: 'grant.callback_uri_not_allowed' },
    );
  }
}
