import { ConflictError, DomainError } from '../../platform/base/errors/domain-error.ts';

/** The provider, or whoever created it, does not let anybody change this event. */
export class ReadOnlyEventError extends DomainError {
  constructor() {
    super('event.read-only', 'invalid', 'Cannot change a read_only event.');
  }
}

/** Nothing in a read_only calendar can be created, changed or deleted. */
export class EventInReadOnlyCalendarError extends DomainError {
  constructor() {
    super(
      'event.read-only-calendar',
      'invalid',
      "Can't create, change or delete events on a read_only calendar.",
    );
  }
}

/** A deleted event stays readable but cannot be changed any more. */
export class CancelledEventError extends ConflictError {
  constructor() {
    super('event.cancelled', 'This event has been cancelled and cannot be changed.');
  }
}
