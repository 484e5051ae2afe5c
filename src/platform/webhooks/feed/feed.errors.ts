import { ConflictError, DomainError } from '../../base/errors/domain-error.ts';

/** The text is not a cursor of this webhook, or the database no longer knows the position. */
export class InvalidFeedCursorError extends DomainError {
  constructor() {
    super(
      'webhook.invalid-cursor',
      'invalid',
      'cursor is not a cursor of this webhook: send a cursor_end that it returned, `0` for the oldest stored event, or none to continue after the acknowledged one',
    );
  }
}

/** Events after the cursor have been deleted, so reading on would skip them. */
export class ExpiredFeedCursorError extends DomainError {
  constructor() {
    super(
      'webhook.expired-cursor',
      'gone',
      'cursor is too old: events after it were stored for 7 days and have been deleted. Continue with cursor=0, the oldest stored event, and read again what you keep a copy of.',
    );
  }
}

/** No events are stored for an inactive webhook. */
export class InactiveFeedError extends ConflictError {
  constructor() {
    super(
      'webhook.inactive',
      'The webhook is inactive, so no events are stored for it: set its state to active',
    );
  }
}
