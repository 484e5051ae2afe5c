import type { Participant } from '../events/event-values.ts';
import type { ShownEvent } from '../events/ics/ics-writer.ts';

/** A participant to be notified of a change. */
export interface InvitationRecipient {
  email: string;
  name: string;
  /** Id of the mail in the outbox and of its job status. Several recipients may share one mail. */
  mailId: string;
  /** Why no mail was sent to this recipient; absent if one was or will be sent. */
  skipped?: string;
}

/** The event as it was after a change; the mails about the change show it. */
export interface InvitationContent {
  event: ShownEvent;
  participants: Participant[];
  /** True if recipients must not see each other. */
  hideParticipants: boolean;
  /** Time zone for times that have none of their own: the calendar's, or UTC. */
  zone: string;
}
