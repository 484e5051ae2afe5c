import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { eventChange } from '../event-store/event-changes.ts';
import type { EventRecord } from '../event-store/event-record.ts';
import type { Participant } from '../event-store/event-values.ts';
import { CancelledEventError } from '../event-store/events.errors.ts';
import { EventReader } from '../event-store/event-reader.ts';
import { Invitations } from '../invitations/invitations.service.ts';
import { SchedulingMails } from '../invitations/scheduling-mails.ts';
import { openProviderJob } from '../../accounts/provider-writes/provider-jobs.ts';
import { ReminderPlanner } from '../notifications/reminder-planner.ts';
import { fieldsOf } from '../event-store/event-plan.ts';
import { instanceKeyOf } from './meeting-book.ts';
import * as mailed from '../event-store/mailed-events.ts';
import type { StoredEvent } from '../event-store/mailed-events.ts';
import {
  hasFailed,
  holdStates,
  noteReply,
  type StoredState,
  storeStates,
} from './meeting-states.sql.ts';
import { type Reply, replyFile, replyWords } from './reply-mail.ts';
import { meetingKey } from '../../formats/ical/revisions.ts';

/** Only what has come as an invitation can be answered. */
export class NoInvitationError extends InvalidInputError {
  constructor() {
    super(
      'event_id: the event did not come from an invitation in mail, so there is nobody to answer',
    );
  }
}

/** The invitation names others, e.g. a mailing list the account is on. */
export class NotInvitedError extends InvalidInputError {
  constructor(email: string) {
    super(`event_id: ${email} is not a participant of this event`);
  }
}

/** What an account answers to an invitation. */
export interface Answer {
  /** Also of an instance of a series. */
  eventId: string;
  status: 'yes' | 'no' | 'maybe';
  /** For the organizer. Undefined: the last one stays while the answer is the same; empty: none. */
  comment?: string | undefined;
}

/** How an answer is given. */
export interface AnswerOptions {
  /** Whether the organizer is told by mail. Default true. */
  notifyParticipants?: boolean | undefined;
}

/** An event after an answer. */
export interface AnsweredEvent {
  event: EventRecord;
  /** The job of the mail, or else of the write to the provider; null: there is none, as nothing has changed. */
  jobId: string | null;
}

/** An answer that is being given, within its transaction. */
interface Answering {
  account: AccountPrincipal;
  event: StoredEvent;
  attendee: Participant;
  /** Null: no mail is known of it. */
  state: StoredState | null;
  at: Date;
}

/** Answers invitations (docs/adr/0044). */
@Injectable()
export class RsvpService {
  constructor(
    private readonly database: Database,
    private readonly events: EventReader,
    private readonly planner: ReminderPlanner,
    private readonly invitations: Invitations,
    private readonly mails: SchedulingMails,
    private readonly clock: Clock,
  ) {}

  /**
   * Gives the account's answer to an invitation: the event shows it, and the organizer is sent a mail. One that changes
   * nothing does nothing, unless the mail with it has failed.
   * @throws {NotFoundError}
   * @throws {ForbiddenError} the organizer is to be told, and the account has not granted sending
   * @throws {NoInvitationError}
   * @throws {NotInvitedError}
   * @throws {CancelledEventError}
   */
  async answer(
    account: AccountPrincipal,
    answer: Answer,
    options: AnswerOptions,
  ): Promise<AnsweredEvent> {
    const known = await this.events.get(account.accountId, answer.eventId);
    this.invitations.assertAllowed(account, {
      notifyParticipants: options.notifyParticipants ?? true,
    });
    const at = this.clock.now();
    const { id, jobId } = await this.database.transaction(async (sql) => {
      const event = await this.#hold(sql, account.accountId, known, at);
      const answering = await this.#answering(sql, account, event, answer, at);
      return { id: event.id, jobId: answering && (await this.#write(sql, answering, options)) };
    });
    return { event: await this.events.get(account.accountId, id), jobId };
  }

  /** The event, held; an instance of a series becomes one of its own by being answered by itself. */
  async #hold(sql: Sql, accountId: string, known: EventRecord, at: Date): Promise<StoredEvent> {
    const rowId = isId(known.id) ? known.id : (known.masterEventId ?? '');
    const [held] = await mailed.holdMailedEvents(sql, accountId, [], [rowId]);
    if (!held) throw new NotFoundError('event', known.id);
    if (held.id === known.id) return held;
    if (held.messageId === null) throw new NoInvitationError();
    if (!held.emailed)
      throw new InvalidInputError(
        'event_id: in this calendar only the whole series can be answered',
      );
    const instance = await mailed.findInstance(sql, accountId, held.id, known.originalStart);
    if (instance) return this.#hold(sql, accountId, { ...known, id: instance }, at);
    return this.#detach(sql, accountId, held, known, at);
  }

  /** What mails say of the instance from now on is said of its own event. */
  async #detach(
    sql: Sql,
    accountId: string,
    series: StoredEvent,
    { when, originalStart }: EventRecord,
    at: Date,
  ): Promise<StoredEvent> {
    const { icalUid, organizerEmail, messageId } = series;
    if (icalUid === null || organizerEmail === null) throw new NoInvitationError();
    const fields = fieldsOf({ ...series.fields, when, recurrence: null }, 'UTC');
    const event = { id: newId(), fields, messageId, masterEventId: series.id, originalStart };
    const organizer = { email: organizerEmail, name: series.organizerName };
    const instance = instanceKeyOf(event);
    await mailed.insertMailedEvents(sql, accountId, series.calendarId, [{ uid: icalUid, organizer, event }], at);
    const [state] = await holdStates(sql, accountId, [meetingKey(icalUid, organizerEmail)]);
    if (state) await storeStates(sql, accountId, [{ ...state, instance, eventId: event.id, replies: {} }]);
    return { ...series, ...event, notifications: [], metadata: {} };
  } // prettier-ignore

  /** @returns null: there is nothing to do */
  async #answering(
    sql: Sql,
    account: AccountPrincipal,
    event: StoredEvent,
    { status, comment }: Answer,
    at: Date,
  ): Promise<Answering | null> {
    const { icalUid, organizerEmail, messageId, fields } = event;
    if (messageId === null || icalUid === null || organizerEmail === null)
      throw new NoInvitationError();
    if (fields.status === 'cancelled') throw new CancelledEventError();
    const own = account.email.toLowerCase();
    const before = fields.participants.find(({ email }) => email.toLowerCase() === own);
    if (!before) throw new NotInvitedError(account.email);
    const kept = before.status === status ? before.comment : null;
    const attendee = { ...before, status, comment: comment === undefined ? kept : comment || null };
    const states = await holdStates(sql, account.accountId, [meetingKey(icalUid, organizerEmail)]);
    const state =
      states.find(({ instance }) => instance === instanceKeyOf(event)) ??
      states.find(({ instance }) => instance === '') ??
      null;
    const isSame = before.status === attendee.status && before.comment === attendee.comment;
    if (isSame && !(await hasFailed(sql, account.accountId, event.id))) return null;
    return { account, event, attendee, state, at };
  }

  /** @returns the job to follow */
  async #write(sql: Sql, answering: Answering, options: AnswerOptions): Promise<string | null> {
    const { account, event, attendee, at } = answering;
    const { accountId } = account;
    const own = account.email.toLowerCase();
    const participants = event.fields.participants.map((one) =>
      one.email.toLowerCase() === own ? attendee : one,
    );
    await mailed.writeParticipants(sql, event.id, participants, at);
    await this.#planReminders(sql, accountId, event, participants, at);
    const mailId = options.notifyParticipants === false ? null : await this.#mail(sql, answering);
    const writeId = event.emailed ? null : newId();
    if (writeId !== null) {
      const job = { id: writeId, accountId, action: 'update_event', object: 'event', objectId: event.id, at } as const;
      await openProviderJob(sql, job);
    }
    const dedupe = `event:${event.id}:updated:${newId()}`;
    await recordChanges(sql, [eventChange({ ...account, at }, event, 'updated', dedupe)]);
    return mailId ?? writeId;
  } // prettier-ignore

  async #planReminders(
    sql: Sql,
    accountId: string,
    { id: eventId, fields, notifications }: StoredEvent,
    participants: Participant[],
    at: Date,
  ): Promise<void> {
    if (notifications.length === 0) return;
    const { title, startsAt } = fields;
    await this.planner.plan(
      sql,
      { accountId, eventId, title, startsAt, notifications, participants, cancelled: false },
      at,
    );
  }

  async #mail(sql: Sql, { account, event, attendee, state, at }: Answering): Promise<string> {
    const id = newId();
    const { icalUid, organizerEmail, organizerName, originalStart, fields } = event;
    const organizer = { email: organizerEmail ?? '', name: organizerName ?? '' };
    const reply: Reply = {
      uid: icalUid ?? '', sequence: state?.sequence ?? 0, organizer, attendee, title: fields.title, when: fields.when,
      originalStart, at,
    };
    const content = { to: [organizer], words: replyWords(reply), method: 'REPLY', ics: replyFile(reply) };
    await this.mails.accept(sql, [await this.mails.compose({ ...content, id, account, at })]);
    await noteReply(sql, account.accountId, event.id, id);
    return id;
  } // prettier-ignore
}
