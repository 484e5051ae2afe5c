import { isDeepStrictEqual } from 'node:util';
import { LockMode } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import { Calendar } from '../calendars/calendar.entity.ts';
import { EgressClient } from '../common/egress/egress-client.ts';
import { InvalidInputError, NotFoundError, NotImplementedError } from '../common/errors/domain-error.ts';
import type { Page } from '../common/http/pagination.schema.ts';
import { isId, newId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { Wake } from '../common/wake.ts';
import type { Listing } from '../database/listing.ts';
import { sqlOf } from '../database/sql.ts';
import { recordChanges } from '../deltas/change-log.ts';
import { Grant } from '../grants/grant.entity.ts';
import { openProviderJob } from '../job-statuses/jobs.ts';
import type { PlannedReminder } from '../notifications/reminder-plan.ts';
import { ReminderPlanner } from '../notifications/reminder-planner.ts';
import { Reminders } from '../notifications/reminders.service.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import { applyInput, NEW_EVENT } from './apply-input.ts';
import { eventFields, type EventRecord, eventRecord } from './event-record.ts';
import { Event } from './event.entity.ts';
import { CancelledEventError, EventInReadOnlyCalendarError, ReadOnlyEventError } from './events.errors.ts';
import { EventsRepository } from './events.repository.ts';
import type { CreateEvent, ListEventsQuery, UpdateEvent, WriteEventQuery } from './events.schema.ts';
import { assertNotificationsAllowed } from './notification-rules.ts';
import { boundsOf } from './when.ts';

/** An event after a write, with what the write brings about. */
export interface WrittenEvent {
  event: EventRecord;
  jobId: string;
  planned: PlannedReminder[];
}

/** What a write does to the change log. */
const CHANGES = {
  create_event: { event: 'create', trigger: 'event.created' },
  update_event: { event: 'modify', trigger: 'event.updated' },
  delete_event: { event: 'delete', trigger: 'event.deleted' },
} as const;

/** Who hears of a change: nobody because there is none, readers of the change log, or subscribers as well. */
type Audience = 'nobody' | 'log' | 'webhook';

/**
 * Events of an account (spec 4.5): read from the mirror; written there at once, with their reminders, and to the
 * provider by a job.
 */
@Injectable()
export class EventsService {
  constructor(
    private readonly em: EntityManager,
    private readonly repository: EventsRepository,
    private readonly connectors: ConnectorRegistry,
    private readonly planner: ReminderPlanner,
    private readonly reminders: Reminders,
    private readonly egress: EgressClient,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /**
   * By start, earliest first; a recurring event once.
   * @throws {NotImplementedError} for `expand_recurring`
   */
  async list(account: AccountPrincipal, query: ListEventsQuery): Promise<Listing<EventRecord>> {
    if (query.expand_recurring)
      throw new NotImplementedError('expand_recurring: recurring events are not expanded in this version');
    return this.repository.list(account.accountId, query);
  }

  /** Also cancelled ones. @throws {NotFoundError} */
  async get(account: AccountPrincipal, id: string): Promise<EventRecord> {
    const event = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!event) throw new NotFoundError('event', id);
    return event;
  }

  /** Reminders of an event with their fates. @throws {NotFoundError} */
  async listReminders(
    account: AccountPrincipal,
    id: string,
    page: Page,
  ): ReturnType<Reminders['listForEvent']> {
    const event = await this.get(account, id);
    return this.reminders.listForEvent(account.accountId, event.id, page);
  }

  /**
   * @throws {InvalidInputError} also for an unknown calendar
   * @throws {ForbiddenError} notifications without the right to them
   * @throws {UnsupportedProviderError} when the account's provider has no calendars
   */
  async create(account: AccountPrincipal, input: CreateEvent, query: WriteEventQuery): Promise<WrittenEvent> {
    this.#refuseInvitations(query);
    this.connectors.requireCalendar(account.provider);
    const at = this.clock.now();
    const written = await this.em.transactional(async (em) => {
      const calendar = await this.#holdCalendar(em, account, input.calendar_id);
      if (!calendar)
        throw new InvalidInputError(`calendar_id: Couldn't find calendar ${input.calendar_id.slice(0, 100)}`);
      if (calendar.readOnly) throw new EventInReadOnlyCalendarError();
      const zone = zoneOf(calendar);
      const blank = { ...NEW_EVENT, when: input.when, ...boundsOf(input.when, zone) };
      const fields = applyInput(blank, input, zone);
      assertNotificationsAllowed([], fields, account, this.egress);
      const event = em.create(Event, {
        id: newId(),
        account: em.getReference(Grant, account.accountId),
        calendar,
        ...fields,
        readOnly: input.read_only ?? false,
        status: 'confirmed',
        organizerEmail: account.email,
        organizerName: account.name || null,
        createdAt: at,
        updatedAt: at,
      });
      return this.#writeThrough(em, account, event, 'create_event', at, 'webhook');
    });
    this.#wakeUp();
    return written;
  }

  /**
   * Changes what is given and keeps the rest.
   * @throws {NotFoundError}
   * @throws {CancelledEventError}
   * @throws {ReadOnlyEventError}
   * @throws {InvalidInputError}
   * @throws {ForbiddenError} notifications without the right to them
   */
  async update(
    account: AccountPrincipal,
    id: string,
    input: UpdateEvent,
    query: WriteEventQuery,
  ): Promise<WrittenEvent> {
    this.#refuseInvitations(query);
    this.connectors.requireCalendar(account.provider);
    const at = this.clock.now();
    const written = await this.em.transactional(async (em) => {
      const { event, calendar } = await this.#holdEvent(em, account, id);
      if (event.status === 'cancelled') throw new CancelledEventError();
      if (input.calendar_id !== undefined && input.calendar_id !== calendar.id)
        throw new InvalidInputError('calendar_id: an event cannot be moved to another calendar');
      const before = eventFields(event);
      const after = applyInput(before, input, zoneOf(calendar));
      assertNotificationsAllowed(before.notifications, after, account, this.egress);
      const changed = !isDeepStrictEqual(before, after);
      if (changed) em.assign(event, { ...after, version: event.version + 1, updatedAt: at });
      // Metadata is the application's own affair: its webhooks are not told (api facts 1.5).
      const metadataOnly = isDeepStrictEqual(before, { ...after, metadata: before.metadata });
      const audience = changed ? (metadataOnly ? 'log' : 'webhook') : 'nobody';
      const reminding = before.notifications.length > 0;
      return this.#writeThrough(em, account, event, 'update_event', at, audience, reminding);
    });
    this.#wakeUp();
    return written;
  }

  /**
   * Cancels an event: it stays readable as `cancelled`, its reminders are cancelled, the provider deletes it. Of a
   * cancelled event the deletion at the provider is repeated.
   * @returns the job that carries the deletion to the provider
   * @throws {NotFoundError}
   * @throws {ReadOnlyEventError}
   */
  async delete(account: AccountPrincipal, id: string, query: WriteEventQuery): Promise<string> {
    this.#refuseInvitations(query);
    const at = this.clock.now();
    const { jobId } = await this.em.transactional(async (em) => {
      const { event } = await this.#holdEvent(em, account, id);
      const audience = event.status === 'cancelled' ? 'nobody' : 'webhook';
      em.assign(event, { status: 'cancelled', version: event.version + 1, updatedAt: at });
      return this.#writeThrough(em, account, event, 'delete_event', at, audience);
    });
    this.#wakeUp();
    return jobId;
  }

  /** A calendar that will neither go nor change until the transaction ends. */
  async #holdCalendar(em: EntityManager, account: AccountPrincipal, id: string): Promise<Calendar | null> {
    if (!isId(id)) return null;
    return em.findOne(
      Calendar,
      { id, account: account.accountId },
      { lockMode: LockMode.PESSIMISTIC_READ, refresh: true },
    );
  }

  /** An event, held against every other change. First its calendar, as those do who change a calendar. */
  async #holdEvent(
    em: EntityManager,
    account: AccountPrincipal,
    id: string,
  ): Promise<{ event: Event; calendar: Calendar }> {
    const where = { id, account: account.accountId };
    const found = isId(id) ? await em.findOne(Event, where, { fields: ['calendar'] }) : null;
    const calendar = found && (await this.#holdCalendar(em, account, found.calendar.id));
    const event =
      calendar && (await em.findOne(Event, where, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true }));
    if (!calendar || !event) throw new NotFoundError('event', id);
    if (event.readOnly) throw new ReadOnlyEventError();
    if (calendar.readOnly) throw new EventInReadOnlyCalendarError();
    return { event, calendar };
  }

  /** Plans the reminders, opens the job and tells of the change. @param reminding whether reminders may be there */
  async #writeThrough(
    em: EntityManager,
    account: AccountPrincipal,
    entity: Event,
    action: keyof typeof CHANGES,
    at: Date,
    audience: Audience,
    reminding = false,
  ): Promise<WrittenEvent> {
    const sql = sqlOf(em);
    const { accountId, applicationId } = account;
    const event = eventRecord(entity);
    const planned =
      reminding || event.notifications.length > 0
        ? await this.planner.plan(
            sql,
            { ...event, accountId, eventId: event.id, cancelled: event.status === 'cancelled' },
            at,
          )
        : [];
    const jobId = newId();
    await openProviderJob(sql, { id: jobId, accountId, action, object: 'event', objectId: event.id, at });
    if (audience !== 'nobody') {
      const change = CHANGES[action];
      const attributes = { calendar_id: event.calendarId, created_before_account_connection: false };
      const webhook = {
        trigger: change.trigger,
        dedupe: `${action}:${jobId}`,
        attributes,
        metadata: event.metadata,
      };
      await recordChanges(sql, [
        {
          applicationId,
          accountId,
          object: 'event',
          objectId: event.id,
          event: change.event,
          at,
          ...(audience === 'webhook' ? { webhook } : {}),
        },
      ]);
    }
    return { event, jobId, planned };
  }

  #refuseInvitations({ notify_participants }: WriteEventQuery): void {
    if (notify_participants)
      throw new NotImplementedError('notify_participants: invitations are not sent in this version');
  }

  #wakeUp(): void {
    for (const queue of ['provider', 'reminder', 'hook'] as const) this.wake.wake(queue);
  }
}

/** The zone of all-day events. */
function zoneOf(calendar: Calendar): string {
  return calendar.timezone ?? 'UTC';
}
