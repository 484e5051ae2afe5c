import { DomainError } from '../platform/base/errors/domain-error.ts';

/** Not a cursor of this account. */
export class InvalidCursorError extends DomainError {
  constructor() {
    super('delta.invalid-cursor', 'invalid', 'Invalid cursor parameter');
  }
}

/** Changes after the cursor have been cleared away: reading on would skip them. */
export class ExpiredCursorError extends DomainError {
  constructor() {
    super(
      'delta.expired-cursor',
      'gone',
      'The cursor parameter is too old: changes after it are not kept any more (14 days). ' +
        'Get a new one from POST /delta/latest_cursor, and list what you keep a copy of once more.',
    );
  }
}

/** The token is not good any more: it was when the request began. */
export class NotWelcomeError extends DomainError {
  constructor() {
    super('delta.not-welcome', 'unauthorized', 'Could not verify access credential.');
  }
}
