import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type { EventFields, EventRecord } from '../event-record.ts';
import type { Participant } from '../event-values.ts';

/** A write of an event, as far as it concerns participants. */
export interface InvitingWrite {
  /** The event before the write; `null` if the event is new. */
  before: EventFields | null;
  /** The event after the write. */
  event: EventRecord;
  /** Zone of times that have none of their own: the calendar's, or UTC. */
  zone: string;
  /** `notify_participants` of the request. */
  notify: boolean | undefined;
  /** Id of the provider write that carries the change to the provider. */
  writeId: string;
  at: Date;
}

/** The organizer of an event, who alone notifies participants. `null`: the account itself. */
export interface Organized {
  organizerEmail?: string | null | undefined;
}

/**
 * Mails to the participants of events: what events need of them (docs/invitations.md). Implemented
 * by the module `invitations` (ADR 0105).
 */
export abstract class EventInvitations {
  /**
   * Checks whether this account may notify participants. Call it before anything is stored. If its
   * provider mails participants, the user has allowed that with the access to the calendar.
   * @throws {InvalidInputError} if the account cannot send mail
   * @throws {ForbiddenError} if the account has granted no scope for sending
   */
  abstract assertAllowed(
    account: AccountPrincipal,
    options: { notifyParticipants?: boolean | undefined },
  ): void;

  /**
   * The participants of an event after a change, with their responses. If the time changes and
   * participants are notified, their earlier responses are reset. Call it before the event gets its
   * new values.
   */
  abstract participantsAfter(
    account: AccountPrincipal,
    event: Organized,
    change: { before: EventFields; after: EventFields; notify: boolean | undefined },
  ): Participant[];

  /**
   * Whether the provider write of a change has to ask the provider to mail the participants
   * (ADR 0078). False for events with another organizer.
   * @param notify `notify_participants` of the request
   */
  abstract asksProvider(
    account: AccountPrincipal,
    event: Organized,
    notify: boolean | undefined,
  ): boolean;

  /**
   * Whether a write must raise the SEQUENCE of the event (RFC 5546 2.1.4). False for events with
   * another organizer.
   */
  abstract raisesSequence(account: AccountPrincipal, write: InvitingWrite): boolean;

  /**
   * Stores the messages to participants about a write, in its transaction, unless the provider
   * mails them. The messages are sent after the write has reached the provider. Does nothing for an
   * event with another organizer. Call it after the row of the event is stored.
   * @param sequence SEQUENCE of the event after the write
   * @throws {InvalidInputError} if no participant must be notified, but the provider mails them
   */
  abstract store(
    sql: Sql,
    account: AccountPrincipal,
    write: InvitingWrite,
    sequence: number,
  ): Promise<void>;

  /** Adds `by` to the SEQUENCE of the messages about an event whose mails are not made yet. */
  abstract raiseWaiting(sql: Sql, eventId: string, by: number): Promise<void>;
}
