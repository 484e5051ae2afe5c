import type { Participant } from '../event-store/event-values.ts';
import type { ShownEvent } from '../event-store/ics/ics-writer.ts';

/** Somebody who is told. */
export interface InvitationRecipient {
  email: string;
  name: string;
  /** The job of the mail; several may share one. */
  mailId: string;
  /** Why no mail was made for them; absent: one was, or will be. */
  skipped?: string;
}

/** An event as it was with a change, for the mails about it. */
export interface InvitationContent {
  event: ShownEvent;
  participants: Participant[];
  /** Whether each one sees nobody but themselves. */
  hideParticipants: boolean;
  /** The calendar's zone, or UTC: in which times without a zone are told. */
  zone: string;
}
