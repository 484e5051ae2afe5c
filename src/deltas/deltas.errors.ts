import { DomainError } from '../platform/base/errors/domain-error.ts';

/** The text is not a cursor of this account. */
export class InvalidCursorError extends DomainError {
  constructor() {
    super('delta.invalid-cursor', 'invalid', 'Invalid cursor parameter');
  }
}

/** Changes after the cursor have been deleted, so reading on would skip them. */
export class ExpiredCursorError extends DomainError {
  constructor() {
    super(
      'delta.expired-cursor',
      'gone',
      'The cursor parameter is too old: changes are kept for 14 days only. ' +
        'Get a new cursor from POST /delta/latest_cursor, then list again every object that you keep a copy of.',
    );
  }
}
