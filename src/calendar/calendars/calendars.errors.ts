import { DomainError } from '../../platform/base/errors/domain-error.ts';

/** The provider does not let anybody change this calendar. */
export class ReadOnlyCalendarError extends DomainError {
  constructor() {
    super('calendar.read-only', 'invalid', 'Cannot change a read_only calendar.');
  }
}

/** Every account has a primary calendar; it goes with the account only. */
export class PrimaryCalendarError extends DomainError {
  constructor() {
    super('calendar.primary', 'invalid', 'The primary calendar cannot be deleted.');
  }
}
