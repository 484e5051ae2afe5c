import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** Only what has come as an invitation can be answered. */
export class NoInvitationError extends InvalidInputError {
  constructor() {
    super('event_id: the event did not come from an invitation in mail, so there is nobody to answer');
  }
}

/** The invitation names others, e.g. a mailing list the account is on. */
export class NotInvitedError extends InvalidInputError {
  constructor(email: string) {
    super(`event_id: ${email} is not a participant of this event`);
  }
}
