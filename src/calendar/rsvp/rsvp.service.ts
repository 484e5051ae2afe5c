import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { eventChange } from '../events/event-changes.ts';
import type { EventRecord } from '../events/event-record.ts';
import type { Participant } from '../events/event-values.ts';
import { CancelledEventError } from '../events/events.errors.ts';
import { EventReader } from '../events/event-reader.ts';
import { InvitationsService } from '../invitations/invitations.service.ts';
import { SchedulingMails } from '../invitations/scheduling-mails.ts';
import { openProviderWrite } from '../../accounts/provider-writes/provider-jobs.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ReminderPlanner } from '../notifications/plan/reminder-planner.ts';
import { fieldsOf } from '../events/mirror/event-plan.ts';
import { instanceKeyOf } from './meeting-batch.ts';
import * as mailed from '../events/mailed/mailed-events.ts';
import type { StoredEvent } from '../events/mailed/mailed-events.ts';
import {
  hasFailed,
  lockStates,
  storeReplyJob,
  type StoredState,
  storeStates,
} from './meeting-states.sql.ts';
import { type Reply, replyFile, replyWords } from './reply-mail.ts';
import { meetingKey } from '../../formats/ical/revisions.ts';

/** Only an event that came from an invitation can be answered. */
export class NoInvitationError extends InvalidInputError {
  constructor() {
    super(
      'event_id: the event did not come from an invitation, so there is no organizer to answer',
    );
  }
}

/** The account is not a participant of the event, e.g. because a mailing list was invited. */
export class NotInvitedError extends InvalidInputError {
  constructor(email: string) {
    super(`event_id: ${email} is not a participant of this event`);
  }
}

/** An account's answer to an invitation. */
export interface Answer {
  /** Id of an event, or of an instance of a series. */
  eventId: string;
  status: 'yes' | 'no' | 'maybe';
  /**
   * Comment for the organizer. If `undefined`, the last comment is kept while the status is the
   * same; an empty string clears it.
   */
  comment?: string | undefined;
}

/** Options for an answer. */
export interface AnswerOptions {
  /** Whether the organizer is notified by mail. Default: true. */
  notifyParticipants?: boolean | undefined;
}

/** An event after an answer. */
export interface AnsweredEvent {
  event: EventRecord;
  /**
   * The job of the mail if one is sent, else the job of the provider write. `null` if nothing has
   * changed, or if neither is needed.
   */
  jobId: string | null;
}

/** An answer that has been checked and is to be stored. */
interface PreparedAnswer {
  account: AccountPrincipal;
  event: StoredEvent;
  attendee: Participant;
  /** `null` if no mail about the meeting has been processed. */
  state: StoredState | null;
  /** True if the provider takes the answer and mails it to the organizer. */
  atProvider: boolean;
  at: Date;
}

/** Answers invitations (ADR 0044). */
@Injectable()
export class RsvpService {
  constructor(
    private readonly database: Database,
    private readonly events: EventReader,
    private readonly planner: ReminderPlanner,
    private readonly invitations: InvitationsService,
    private readonly mails: SchedulingMails,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores the account's answer in the event and sends a mail to the organizer. A provider that
   * takes answers gets it instead, and mails the organizer. An answer that changes nothing has no
   * effect, unless the last mail has failed.
   * @throws {NotFoundError}
   * @throws {ForbiddenError} if the organizer is to be notified and the account has not granted
   *   the right to send
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
      const event = await this.#lock(sql, account, known, at);
      const prepared = await this.#prepareAnswer(sql, account, event, answer, at);
      return { id: event.id, jobId: prepared && (await this.#write(sql, prepared, options)) };
    });
    return { event: await this.events.get(account.accountId, id), jobId };
  }

  /** Locks the event. An instance without a row gets one, because it is answered on its own. */
  async #lock(
    sql: Sql,
    account: AccountPrincipal,
    known: EventRecord,
    at: Date,
  ): Promise<StoredEvent> {
    const { accountId } = account;
    const rowId = isId(known.id) ? known.id : (known.masterEventId ?? '');
    const [locked] = await mailed.lockMailedEvents(sql, accountId, [], [rowId]);
    if (!locked) throw new NotFoundError('event', known.id);
    if (locked.id === known.id) return locked;
    if (locked.messageId === null && !this.#takesAnswers(account, locked))
      throw new NoInvitationError();
    if (!locked.emailed)
      throw new InvalidInputError(
        'event_id: in this calendar only the whole series can be answered',
      );
    const instance = await mailed.findInstance(sql, accountId, locked.id, known.originalStart);
    if (instance) return this.#lock(sql, account, { ...known, id: instance }, at);
    return this.#detach(sql, accountId, locked, known, at);
  }

  /** Whether the account's provider takes the answer to this event. */
  #takesAnswers({ provider }: AccountPrincipal, { emailed }: StoredEvent): boolean {
    return !emailed && this.connectors.require(provider).calendar?.respond !== undefined;
  }

  /** Creates a row for an instance. Later mail about the instance changes this row. */
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
    await mailed.insertMailedEvents(
      sql,
      accountId,
      series.calendarId,
      [{ uid: icalUid, organizer, event }],
      at,
    );
    const [state] = await lockStates(sql, accountId, [meetingKey(icalUid, organizerEmail)]);
    if (state)
      await storeStates(sql, accountId, [{ ...state, instance, eventId: event.id, replies: {} }]);
    return { ...series, ...event, notifications: [], metadata: {} };
  }

  /**
   * Checks the answer.
   * @returns `null` if there is nothing to do
   */
  async #prepareAnswer(
    sql: Sql,
    account: AccountPrincipal,
    event: StoredEvent,
    { status, comment }: Answer,
    at: Date,
  ): Promise<PreparedAnswer | null> {
    const { icalUid, organizerEmail, messageId, fields } = event;
    const own = account.email.toLowerCase();
    const atProvider = this.#takesAnswers(account, event);
    if (icalUid === null || organizerEmail === null || (messageId === null && !atProvider))
      throw new NoInvitationError();
    if (organizerEmail.toLowerCase() === own) throw new NoInvitationError();
    if (fields.status === 'cancelled') throw new CancelledEventError();
    const before = fields.participants.find(({ email }) => email.toLowerCase() === own);
    if (!before) throw new NotInvitedError(account.email);
    const kept = before.status === status ? before.comment : null;
    const attendee = { ...before, status, comment: comment === undefined ? kept : comment || null };
    const states = await lockStates(sql, account.accountId, [meetingKey(icalUid, organizerEmail)]);
    const state =
      states.find(({ instance }) => instance === instanceKeyOf(event)) ??
      states.find(({ instance }) => instance === '') ??
      null;
    const isSame = before.status === attendee.status && before.comment === attendee.comment;
    if (isSame && !(await hasFailed(sql, account.accountId, event.id))) return null;
    return { account, event, attendee, state, atProvider, at };
  }

  /**
   * Stores the answer.
   * @returns id of the job that the client can follow; `null` if there is none
   */
  async #write(sql: Sql, prepared: PreparedAnswer, options: AnswerOptions): Promise<string | null> {
    const { account, event, attendee, atProvider, at } = prepared;
    const { accountId } = account;
    const notify = options.notifyParticipants !== false;
    const own = account.email.toLowerCase();
    const participants = event.fields.participants.map((one) =>
      one.email.toLowerCase() === own ? attendee : one,
    );
    await mailed.writeParticipants(sql, event.id, participants, at);
    await this.#planReminders(sql, accountId, event, participants, at);
    const mailId = notify && !atProvider ? await this.#mail(sql, prepared) : null;
    const writeId = event.emailed ? null : newId();
    if (writeId !== null) {
      const { status, comment } = attendee;
      const replaced = {
        before: { participants: event.fields.participants },
        after: { participants },
      };
      const payload = atProvider
        ? { ...replaced, response: { status, comment, notify } }
        : replaced;
      const job = {
        id: writeId,
        accountId,
        action: 'update_event',
        object: 'event',
        objectId: event.id,
        payload,
        at,
      } as const;
      await openProviderWrite(sql, job);
    }
    const dedupe = `event:${event.id}:updated:${newId()}`;
    await recordChanges(sql, [eventChange({ ...account, at }, event, 'updated', dedupe)]);
    return mailId ?? writeId;
  }

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

  async #mail(sql: Sql, { account, event, attendee, state, at }: PreparedAnswer): Promise<string> {
    const id = newId();
    const { icalUid, organizerEmail, organizerName, originalStart, fields } = event;
    const organizer = { email: organizerEmail ?? '', name: organizerName ?? '' };
    const reply: Reply = {
      uid: icalUid ?? '',
      sequence: state?.sequence ?? 0,
      organizer,
      attendee,
      title: fields.title,
      when: fields.when,
      originalStart,
      at,
    };
    const content = {
      to: [organizer],
      words: replyWords(reply),
      method: 'REPLY',
      ics: replyFile(reply),
    };
    await this.mails.accept(sql, [await this.mails.compose({ ...content, id, account, at })]);
    await storeReplyJob(sql, account.accountId, event.id, id);
    return id;
  }
}
