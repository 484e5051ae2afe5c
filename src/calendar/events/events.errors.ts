import { ConflictError, DomainError } from '../../platform/base/errors/domain-error.ts';

/** Events cannot be created, changed or deleted in a read-only calendar. */
export class EventInReadOnlyCalendarError extends DomainError {
  constructor() {
    super(
      'event.read-only-calendar',
      'invalid',
      "Can't create, change or delete events on a read_only calendar.",
    );
  }
}

/** A deleted event stays readable but can no longer be changed. */
export class CancelledEventError extends ConflictError {
  constructor() {
    super('event.cancelled', 'This event has been cancelled and cannot be changed.');
  }
}
