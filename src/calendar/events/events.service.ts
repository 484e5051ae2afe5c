import { isDeepStrictEqual } from 'node:util';
import { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import { recordUnchangedWrite } from '../../accounts/provider-writes/unchanged-write.ts';
import { CalendarServers } from '../calendars/calendar-servers.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { EventInvitations } from './ports/event-invitations.ts';
import { EventMeetings } from './ports/event-meetings.ts';
import { EventReminders } from './ports/event-reminders.ts';
import {
  applyInput,
  assertInstanceInput,
  type EventInput,
  type EventUpdate,
  NEW_EVENT,
  type NewEvent,
} from './writes/apply-input.ts';
import {
  createInstance,
  endInstances,
  movedRecurrence,
  refitInstances,
} from './instances/changed-instances.ts';
import { eventFields, type EventRecord, eventRecord } from './event-record.ts';
import {
  type ChangeToFollowUp,
  EventFollowUp,
  type EventWriteResult,
} from './writes/event-follow-up.ts';
import { Event } from './event.entity.ts';
import { CancelledEventError, EventInReadOnlyCalendarError } from './events.errors.ts';
import {
  type LockedEvent,
  type LockedInstance,
  lockCalendarById,
  lockEvent,
  zoneOf,
} from './writes/locked-events.ts';
import { boundsOf, inZoneOf } from './when/when.ts';

/** Options for a change of an event. */
export interface WriteOptions {
  /** Whether participants are notified by mail. Default: false. */
  notifyParticipants?: boolean | undefined;
}

/** The input of a client for an existing event. */
interface WantedUpdate extends WriteOptions {
  input: EventInput;
}

/**
 * Creates, changes and deletes events. A change is stored in the mirror at once, with its
 * reminders, and a queued provider write carries it to the provider.
 */
@Injectable()
export class EventsService {
  constructor(
    private readonly em: EntityManager,
    private readonly servers: CalendarServers,
    private readonly followUp: EventFollowUp,
    private readonly reminders: EventReminders,
    private readonly invitations: EventInvitations,
    private readonly meetings: EventMeetings,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates an event.
   * @throws {InvalidInputError} if the input is not valid or the calendar does not exist
   * @throws {ForbiddenError} if the account may not have these notifications
   * @throws {UnsupportedProviderError} if the account's provider has no calendars
   * @throws {NoCalendarServerError}
   * @throws {DomainError} `rate-limited` if the account may create no more meetings today
   */
  async create(
    account: AccountPrincipal,
    input: NewEvent,
    options: WriteOptions,
  ): Promise<EventWriteResult> {
    this.invitations.assertAllowed(account, options);
    await this.meetings.accept(account, input.conferencing, { isNew: true });
    const at = this.clock.now();
    return this.em.transactional(async (em) => {
      await this.servers.require(sqlOf(em), account);
      const calendar = await lockCalendarById(em, account.accountId, input.calendarId);
      if (!calendar)
        throw new InvalidInputError(
          `calendar_id: Couldn't find calendar ${input.calendarId.slice(0, 100)}`,
        );
      if (calendar.readOnly) throw new EventInReadOnlyCalendarError();
      const zone = zoneOf(calendar);
      const blank = { ...NEW_EVENT, when: input.when, ...boundsOf(input.when, zone) };
      const fields = applyInput(blank, input, zone);
      this.reminders.assertAllowed(account, null, fields);
      const event = em.create(Event, {
        id: newId(),
        account: em.getReference(Grant, account.accountId),
        calendar,
        ...fields,
        status: 'confirmed',
        organizerEmail: account.email,
        organizerName: account.name || null,
        createdAt: at,
        updatedAt: at,
      });
      const write: ChangeToFollowUp = {
        action: 'create_event',
        change: 'created',
        notify: options.notifyParticipants,
      };
      return this.followUp.run(em, account, event, write, at);
    });
  }

  /**
   * Changes the given fields of an event, a series, or a single instance of a series. All other
   * fields stay as they are. A change that changes nothing has no effect, and its job is successful
   * at once.
   * @throws {NotFoundError}
   * @throws {CancelledEventError}
   * @throws {EventInReadOnlyCalendarError}
   * @throws {InvalidInputError}
   * @throws {ForbiddenError} if the account may not have these notifications
   * @throws {NoCalendarServerError}
   */
  async update(
    account: AccountPrincipal,
    id: string,
    input: EventUpdate,
    options: WriteOptions,
  ): Promise<EventWriteResult> {
    this.invitations.assertAllowed(account, options);
    await this.meetings.accept(account, input.conferencing, { isNew: false });
    const at = this.clock.now();
    return this.em.transactional(async (em) => {
      const locked = await lockEvent(em, account.accountId, id);
      await this.servers.require(sqlOf(em), account);
      if (input.calendarId !== undefined && input.calendarId !== locked.calendar.id)
        throw new InvalidInputError('calendar_id: an event cannot be moved to another calendar');
      return 'instance' in locked
        ? this.#changeInstance(em, account, locked, { ...options, input }, at)
        : this.#change(em, account, locked, { ...options, input }, at);
    });
  }

  async #change(
    em: EntityManager,
    account: AccountPrincipal,
    { event, calendar }: LockedEvent,
    { input, notifyParticipants: notify }: WantedUpdate,
    at: Date,
  ): Promise<EventWriteResult> {
    if (event.status === 'cancelled') throw new CancelledEventError();
    const before = eventFields(event);
    const after = applyInput(before, input, zoneOf(calendar));
    if (event.masterProviderId || event.masterEventId) {
      assertInstanceInput(input);
      after.when = inZoneOf(before.when, after.when, undefined);
    }
    const series = { accountId: account.accountId, id: event.id };
    after.recurrence = await movedRecurrence(sqlOf(em), series, before, after);
    after.participants = this.invitations.participantsAfter(account, event, {
      before,
      after,
      notify,
    });
    this.reminders.assertAllowed(account, before, after);
    // A change that asks for a missing meeting again is written again.
    const wantsMeeting = input.conferencing && after.autocreate && !after.conferencing;
    const changed = !isDeepStrictEqual(before, after);
    if (!changed && !wantsMeeting) return unchanged(em, eventRecord(event), event.id, at);
    if (changed) em.assign(event, { ...after, version: event.version + 1, updatedAt: at });
    const moved = !isDeepStrictEqual(
      [before.when, before.recurrence],
      [after.when, after.recurrence],
    );
    const write: ChangeToFollowUp = {
      action: 'update_event',
      change: changed ? 'updated' : null,
      // Metadata belongs to the application, so a change of metadata alone sends no webhook.
      quiet: isDeepStrictEqual(before, { ...after, metadata: before.metadata }),
      ended:
        before.recurrence && moved
          ? await refitInstances(sqlOf(em), series, before, after, at)
          : [],
      reminding: before.notifications.length > 0,
      before,
      notify,
    };
    return this.followUp.run(em, account, event, write, at);
  }

  /** Creates a row for the instance. From now on the instance has an id of its own. */
  async #changeInstance(
    em: EntityManager,
    account: AccountPrincipal,
    { series, instance, calendar }: LockedInstance,
    { input, notifyParticipants: notify }: WantedUpdate,
    at: Date,
  ): Promise<EventWriteResult> {
    assertInstanceInput(input);
    const zone = series.recurrence?.timezone;
    const before = eventFields(instance);
    const after = applyInput(before, input, zoneOf(calendar));
    after.when = inZoneOf(before.when, after.when, zone);
    after.participants = this.invitations.participantsAfter(account, instance, {
      before,
      after,
      notify,
    });
    if (isDeepStrictEqual(before, after)) return unchanged(em, instance, series.id, at);
    const event = createInstance(em, series, instance, { ...after, status: instance.status }, at);
    const write: ChangeToFollowUp = { action: 'update_event', change: 'created', before, notify };
    return this.followUp.run(em, account, event, write, at);
  }

  /**
   * Cancels an event, a series with its instances, or a single instance. The event stays readable
   * as `cancelled`, its reminders are cancelled, and the provider deletes it. For an event that is
   * already cancelled, only the deletion at the provider is repeated.
   * @returns id of the job that deletes the event at the provider
   * @throws {NotFoundError}
   * @throws {EventInReadOnlyCalendarError}
   * @throws {NoCalendarServerError}
   */
  async delete(account: AccountPrincipal, id: string, options: WriteOptions): Promise<string> {
    this.invitations.assertAllowed(account, options);
    const at = this.clock.now();
    const { jobId } = await this.em.transactional(async (em): Promise<{ jobId: string }> => {
      const locked = await lockEvent(em, account.accountId, id);
      await this.servers.require(sqlOf(em), account);
      return 'instance' in locked
        ? this.#cancelInstance(em, account, locked, options, at)
        : this.#cancel(em, account, locked, options, at);
    });
    return jobId;
  }

  async #cancel(
    em: EntityManager,
    account: AccountPrincipal,
    { event }: LockedEvent,
    { notifyParticipants: notify }: WriteOptions,
    at: Date,
  ): Promise<{ jobId: string }> {
    if (event.status === 'cancelled') {
      const repeated: ChangeToFollowUp = { action: 'delete_event', change: null };
      return this.followUp.run(em, account, event, repeated, at);
    }
    const before = eventFields(event);
    em.assign(event, { status: 'cancelled', version: event.version + 1, updatedAt: at });
    const series = { accountId: account.accountId, id: event.id };
    const ended = event.recurrence ? await endInstances(sqlOf(em), series, at) : [];
    const write: ChangeToFollowUp = {
      action: 'delete_event',
      change: 'deleted',
      ended,
      before,
      notify,
    };
    return this.followUp.run(em, account, event, write, at);
  }

  /** Creates a cancelled row: it records that the instance does not take place. */
  #cancelInstance(
    em: EntityManager,
    account: AccountPrincipal,
    { series, instance }: LockedInstance,
    { notifyParticipants: notify }: WriteOptions,
    at: Date,
  ): Promise<{ jobId: string }> {
    const before = eventFields(instance);
    const fields = { ...before, status: 'cancelled' as const };
    const event = createInstance(em, series, instance, fields, at);
    const write: ChangeToFollowUp = { action: 'delete_event', change: 'deleted', before, notify };
    return this.followUp.run(em, account, event, write, at);
  }
}

/** @param objectId of the event, or of the series of an instance without a row */
async function unchanged(
  em: EntityManager,
  event: EventRecord,
  objectId: string,
  at: Date,
): Promise<EventWriteResult> {
  const { accountId } = event;
  const write = { accountId, action: 'update_event', object: 'event', objectId, at } as const;
  return { event, jobId: await recordUnchangedWrite(sqlOf(em), write) };
}
