import { isDeepStrictEqual } from 'node:util';
import { EntityManager } from '@mikro-orm/postgresql';
import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { Listing, Page } from '../../platform/database/listing.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { sqlOf } from '../../platform/database/sql.ts';
import { ConferencingServices } from '../conferencing/conferencing.service.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Invitations } from '../invitations/invitations.service.ts';
import { Reminders } from '../notifications/reminders.service.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { applyInput, NEW_EVENT } from './apply-input.ts';
import {
  assertInstanceInput,
  createInstance,
  endInstances,
  inZoneOf,
  refitInstances,
} from './changed-instances.ts';
import { eventFields, type EventRecord } from './event-record.ts';
import { type EventWrite, EventWriter, type WrittenEvent } from './event-writer.ts';
import { Event } from './event.entity.ts';
import { CancelledEventError, EventInReadOnlyCalendarError } from './events.errors.ts';
import { EventsRepository } from './events.repository.ts';
import type { CreateEvent, ListEventsQuery, UpdateEvent, WriteEventQuery } from './events.schema.ts';
import { ExpandedEvents } from './expanded-events.ts';
import { type HeldEvent, type HeldInstance, holdCalendar, holdEvent, zoneOf } from './held-events.ts';
import { readInstanceId } from './recurrence/instances.ts';
import { assertNotificationsAllowed, type NotificationRights } from './notification-rules.ts';
import { boundsOf } from './when.ts';

/** What a client wants of an event that is there. */
interface WantedUpdate extends WriteEventQuery {
  input: UpdateEvent;
}

/**
 * Events of an account (spec 4.5): read from the mirror; written there at once, with their reminders, and to the
 * provider by a job.
 */
@Injectable()
export class EventsService {
  constructor(
    private readonly em: EntityManager,
    private readonly repository: EventsRepository,
    private readonly expanded: ExpandedEvents,
    private readonly connectors: ConnectorRegistry,
    private readonly writer: EventWriter,
    private readonly reminders: Reminders,
    private readonly conferencing: ConferencingServices,
    private readonly egress: EgressClient,
    private readonly invitations: Invitations,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /**
   * By start, earliest first; a recurring event once, or each of its instances. The `event_id` of an instance finds that one.
   * @throws {InvalidInputError} when there are too many instances
   */
  list(account: AccountPrincipal, query: ListEventsQuery): Promise<Listing<EventRecord>> {
    const { accountId } = account;
    const isInstance = query.event_id !== undefined && readInstanceId(query.event_id) !== undefined;
    return query.expand_recurring || isInstance
      ? this.expanded.list(accountId, query)
      : this.repository.list(accountId, query);
  }

  /** Those of the events that the account has, also cancelled ones, in no order. @throws {PageTooLargeError} */
  findMany(accountId: string, ids: readonly string[]): Promise<EventRecord[]> {
    return this.repository.findMany(accountId, ids);
  }

  /** Also cancelled ones, and instances of recurring events. @throws {NotFoundError} */
  async get({ accountId }: AccountPrincipal, id: string): Promise<EventRecord> {
    const event = await (isId(id) ? this.repository : this.expanded).find(accountId, id);
    if (!event) throw new NotFoundError('event', id);
    return event;
  }

  /** What participants of an event were told, with what became of it; latest first. @throws {NotFoundError} */
  async listInvitations(account: AccountPrincipal, id: string, page: Page): ReturnType<Invitations['list']> {
    const event = await this.get(account, id);
    return isId(event.id) ? this.invitations.list(account.accountId, event.id, page) : [];
  }

  /** Reminders of an event with their fates. @throws {NotFoundError} */
  async listReminders(
    account: AccountPrincipal,
    id: string,
    page: Page,
  ): ReturnType<Reminders['listForEvent']> {
    const event = await this.get(account, id);
    // Recurring events have none.
    return isId(event.id) ? this.reminders.listForEvent(account.accountId, event.id, page) : [];
  }

  /**
   * @throws {InvalidInputError} also for an unknown calendar
   * @throws {ForbiddenError} notifications without the right to them
   * @throws {UnsupportedProviderError} when the account's provider has no calendars
   * @throws {DomainError} `rate-limited`: no more meetings are made today
   */
  async create(account: AccountPrincipal, input: CreateEvent, query: WriteEventQuery): Promise<WrittenEvent> {
    this.invitations.assertAllowed(account, query);
    this.connectors.requireCalendar(account.provider);
    await this.conferencing.accept(account.applicationId, input.conferencing, account.accountId);
    const at = this.clock.now();
    const written = await this.em.transactional(async (em) => {
      const calendar = await holdCalendar(em, account.accountId, input.calendar_id);
      if (!calendar)
        throw new InvalidInputError(`calendar_id: Couldn't find calendar ${input.calendar_id.slice(0, 100)}`);
      if (calendar.readOnly) throw new EventInReadOnlyCalendarError();
      const zone = zoneOf(calendar);
      const blank = { ...NEW_EVENT, when: input.when, ...boundsOf(input.when, zone) };
      const fields = applyInput(blank, input, zone);
      assertNotificationsAllowed([], fields, this.#rights(account), this.egress);
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
      const write: EventWrite = {
        action: 'create_event',
        change: 'created',
        notify: query.notify_participants,
      };
      return this.writer.write(em, account, event, write, at);
    });
    return written;
  }

  /**
   * Changes what is given and keeps the rest: of an event, a series, or a single instance of one.
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
    this.invitations.assertAllowed(account, query);
    this.connectors.requireCalendar(account.provider);
    await this.conferencing.accept(account.applicationId, input.conferencing);
    const at = this.clock.now();
    const written = await this.em.transactional(async (em) => {
      const held = await holdEvent(em, account.accountId, id);
      if (input.calendar_id !== undefined && input.calendar_id !== held.calendar.id)
        throw new InvalidInputError('calendar_id: an event cannot be moved to another calendar');
      return 'instance' in held
        ? this.#changeInstance(em, account, held, { ...query, input }, at)
        : this.#change(em, account, held, { ...query, input }, at);
    });
    return written;
  }

  async #change(
    em: EntityManager,
    account: AccountPrincipal,
    { event, calendar }: HeldEvent,
    { input, notify_participants: notify }: WantedUpdate,
    at: Date,
  ): Promise<WrittenEvent> {
    if (event.status === 'cancelled') throw new CancelledEventError();
    const before = eventFields(event);
    const after = applyInput(before, input, zoneOf(calendar));
    if (event.masterProviderId || event.masterEventId) {
      assertInstanceInput(input);
      after.when = inZoneOf(before.when, after.when, undefined);
    }
    after.participants = this.invitations.participantsAfter(account, event, { before, after, notify });
    assertNotificationsAllowed(before.notifications, after, this.#rights(account), this.egress);
    const changed = !isDeepStrictEqual(before, after);
    if (changed) em.assign(event, { ...after, version: event.version + 1, updatedAt: at });
    const moved = !isDeepStrictEqual([before.when, before.recurrence], [after.when, after.recurrence]);
    const series = { accountId: account.accountId, id: event.id };
    const write: EventWrite = {
      action: 'update_event',
      change: changed ? 'updated' : null,
      // Metadata is the application's own affair: its webhooks are not told (api facts 1.5).
      quiet: isDeepStrictEqual(before, { ...after, metadata: before.metadata }),
      ended: before.recurrence && moved ? await refitInstances(sqlOf(em), series, before, after, at) : [],
      reminding: before.notifications.length > 0,
      before,
      notify,
    };
    return this.writer.write(em, account, event, write, at);
  }

  /** From now on the instance has a row, and an id, of its own. */
  async #changeInstance(
    em: EntityManager,
    account: AccountPrincipal,
    { series, instance, calendar }: HeldInstance,
    { input, notify_participants: notify }: WantedUpdate,
    at: Date,
  ): Promise<WrittenEvent> {
    assertInstanceInput(input);
    const zone = series.recurrence?.timezone;
    const said = { ...instance, when: inZoneOf(instance.when, instance.when, zone) };
    const before = eventFields(said);
    const after = applyInput(before, input, zoneOf(calendar));
    after.when = inZoneOf(before.when, after.when, zone);
    after.participants = this.invitations.participantsAfter(account, instance, { before, after, notify });
    if (isDeepStrictEqual(before, after)) {
      const nothing: EventWrite = { action: 'update_event', change: null };
      const { jobId } = await this.writer.write(em, account, series, nothing, at);
      return { event: instance, jobId, planned: [] };
    }
    const event = createInstance(em, series, said, { ...after, status: instance.status }, at);
    const write: EventWrite = { action: 'update_event', change: 'created', before, notify };
    return this.writer.write(em, account, event, write, at);
  }

  /**
   * Cancels an event, a series with its instances, or a single instance: it stays readable as `cancelled`, its reminders are
   * cancelled, the provider deletes it. Of a cancelled event the deletion at the provider is repeated.
   * @returns the job that carries the deletion to the provider
   * @throws {NotFoundError}
   * @throws {ReadOnlyEventError}
   */
  async delete(account: AccountPrincipal, id: string, query: WriteEventQuery): Promise<string> {
    this.invitations.assertAllowed(account, query);
    const at = this.clock.now();
    const { jobId } = await this.em.transactional(async (em) => {
      const held = await holdEvent(em, account.accountId, id);
      return 'instance' in held
        ? this.#cancelInstance(em, account, held, query, at)
        : this.#cancel(em, account, held, query, at);
    });
    return jobId;
  }

  #rights(account: AccountPrincipal): NotificationRights {
    const hasMailbox = this.connectors.require(account.provider).mail !== undefined;
    return { ...account, hasMailbox, quotas: this.config.quotas };
  }

  async #cancel(
    em: EntityManager,
    account: AccountPrincipal,
    { event }: HeldEvent,
    { notify_participants: notify }: WriteEventQuery,
    at: Date,
  ): Promise<WrittenEvent> {
    const change = event.status === 'cancelled' ? null : 'deleted';
    const before = eventFields(event);
    em.assign(event, { status: 'cancelled', version: event.version + 1, updatedAt: at });
    const series = { accountId: account.accountId, id: event.id };
    const ended = event.recurrence ? await endInstances(sqlOf(em), series, at) : [];
    const write: EventWrite = { action: 'delete_event', change, ended, before, notify };
    return this.writer.write(em, account, event, write, at);
  }

  /** The row is what tells that the instance does not take place. */
  #cancelInstance(
    em: EntityManager,
    account: AccountPrincipal,
    { series, instance }: HeldInstance,
    { notify_participants: notify }: WriteEventQuery,
    at: Date,
  ): Promise<WrittenEvent> {
    const before = eventFields(instance);
    const fields = { ...before, status: 'cancelled' as const };
    const event = createInstance(em, series, instance, fields, at);
    const write: EventWrite = { action: 'delete_event', change: 'deleted', before, notify };
    return this.writer.write(em, account, event, write, at);
  }
}
