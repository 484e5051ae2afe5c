import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** The client id, or the client id and secret, in the body are wrong. */
export class ClientCredentialsError extends DomainError {
  constructor() {
    super('connect.client-credentials', 'unauthorized', 'Could not verify access credential.');
  }
}

/** The code cannot be exchanged. The error does not say which of the reasons applies. */
export class CodeError extends InvalidInputError {
  constructor() {
    super('code: is unknown, expired or already used');
  }
}

/** The provider cannot be connected with credentials in this version. */
export class NativeProviderError extends InvalidInputError {
  constructor(provider: string, supported: readonly string[]) {
    super(
      `provider: "${provider}" cannot be connected in this version; supported: ${supported.join(', ')}`,
    );
  }
}

/** The redirect address is not registered, so the browser is not sent there. */
export class RedirectUriError extends InvalidInputError {
  constructor() {
    super(
      'redirect_uri: is not registered: it must be identical to one of the redirect_uris of the application or its integration',
      { betaType: 'grant.callback_uri_not_allowed' },
    );
  }
}
