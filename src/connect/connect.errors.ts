import { DomainError, InvalidInputError } from '../common/errors/domain-error.ts';

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
    const what =
      provider === 'nylas'
        ? 'virtual calendars (provider nylas) are not part of this version'
        : `"${provider}" cannot be connected in this version`;
    super(`provider: ${what}; supported: ${supported.join(', ')}`);
  }
}
