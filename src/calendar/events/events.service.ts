import { isDeepStrictEqual } from 'node:util';
import { EntityManager } from '@mikro-orm/postgresql';
import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { sqlOf } from '../../platform/database/sql.ts';
import { ConferencingServices } from '../conferencing/conferencing.service.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Invitations } from '../invitations/invitations.service.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import {
  applyInput,
  assertInstanceInput,
  type EventInput,
  type EventUpdate,
  NEW_EVENT,
  type NewEvent,
} from './apply-input.ts';
import {
  createInstance,
  endInstances,
  inZoneOf,
  refitInstances,
} from '../event-store/changed-instances.ts';
import { eventFields } from '../event-store/event-record.ts';
import { type ChangeToFollowUp, EventFollowUp, type FollowedUpEvent } from './event-follow-up.ts';
import { Event } from '../event-store/event.entity.ts';
import { CancelledEventError, EventInReadOnlyCalendarError } from '../event-store/events.errors.ts';
import {
  type HeldEvent,
  type HeldInstance,
  holdCalendar,
  holdEvent,
  zoneOf,
} from '../event-store/held-events.ts';
import { assertNotificationsAllowed, type NotificationRights } from './notification-rules.ts';
import { boundsOf } from '../event-store/when.ts';

/** How an event is written. */
export interface WriteOptions {
  /** Whether participants are told by mail. Default false. */
  notifyParticipants?: boolean | undefined;
}

/** What a client wants of an event that is there. */
interface WantedUpdate extends WriteOptions {
  input: EventInput;
}

/** Writes of events (spec 4.5): to the mirror at once, with their reminders, and to the provider by a job. */
@Injectable()
export class EventsService {
  constructor(
    private readonly em: EntityManager,
    private readonly connectors: ConnectorRegistry,
    private readonly followUp: EventFollowUp,
    private readonly conferencing: ConferencingServices,
    private readonly egress: EgressClient,
    private readonly invitations: Invitations,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws {InvalidInputError} also for an unknown calendar
   * @throws {ForbiddenError} notifications without the right to them
   * @throws {UnsupportedProviderError} when the account's provider has no calendars
   * @throws {DomainError} `rate-limited`: no more meetings are made today
   */
  async create(
    account: AccountPrincipal,
    input: NewEvent,
    options: WriteOptions,
  ): Promise<FollowedUpEvent> {
    this.invitations.assertAllowed(account, options);
    this.connectors.requireCalendar(account.provider);
    await this.conferencing.accept(account.applicationId, input.conferencing, account.accountId);
    const at = this.clock.now();
    return this.em.transactional(async (em) => {
      const calendar = await holdCalendar(em, account.accountId, input.calendarId);
      if (!calendar)
        throw new InvalidInputError(
          `calendar_id: Couldn't find calendar ${input.calendarId.slice(0, 100)}`,
        );
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
        readOnly: input.readOnly ?? false,
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
    input: EventUpdate,
    options: WriteOptions,
  ): Promise<FollowedUpEvent> {
    this.invitations.assertAllowed(account, options);
    this.connectors.requireCalendar(account.provider);
    await this.conferencing.accept(account.applicationId, input.conferencing);
    const at = this.clock.now();
    return this.em.transactional(async (em) => {
      const held = await holdEvent(em, account.accountId, id);
      if (input.calendarId !== undefined && input.calendarId !== held.calendar.id)
        throw new InvalidInputError('calendar_id: an event cannot be moved to another calendar');
      return 'instance' in held
        ? this.#changeInstance(em, account, held, { ...options, input }, at)
        : this.#change(em, account, held, { ...options, input }, at);
    });
  }

  async #change(
    em: EntityManager,
    account: AccountPrincipal,
    { event, calendar }: HeldEvent,
    { input, notifyParticipants: notify }: WantedUpdate,
    at: Date,
  ): Promise<FollowedUpEvent> {
    if (event.status === 'cancelled') throw new CancelledEventError();
    const before = eventFields(event);
    const after = applyInput(before, input, zoneOf(calendar));
    if (event.masterProviderId || event.masterEventId) {
      assertInstanceInput(input);
      after.when = inZoneOf(before.when, after.when, undefined);
    }
    after.participants = this.invitations.participantsAfter(account, event, {
      before,
      after,
      notify,
    });
    assertNotificationsAllowed(before.notifications, after, this.#rights(account), this.egress);
    const changed = !isDeepStrictEqual(before, after);
    if (changed) em.assign(event, { ...after, version: event.version + 1, updatedAt: at });
    const moved = !isDeepStrictEqual(
      [before.when, before.recurrence],
      [after.when, after.recurrence],
    );
    const series = { accountId: account.accountId, id: event.id };
    const write: ChangeToFollowUp = {
      action: 'update_event',
      change: changed ? 'updated' : null,
      // Metadata is the application's own affair: its webhooks are not told (api facts 1.5).
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

  /** From now on the instance has a row, and an id, of its own. */
  async #changeInstance(
    em: EntityManager,
    account: AccountPrincipal,
    { series, instance, calendar }: HeldInstance,
    { input, notifyParticipants: notify }: WantedUpdate,
    at: Date,
  ): Promise<FollowedUpEvent> {
    assertInstanceInput(input);
    const zone = series.recurrence?.timezone;
    const said = { ...instance, when: inZoneOf(instance.when, instance.when, zone) };
    const before = eventFields(said);
    const after = applyInput(before, input, zoneOf(calendar));
    after.when = inZoneOf(before.when, after.when, zone);
    after.participants = this.invitations.participantsAfter(account, instance, {
      before,
      after,
      notify,
    });
    if (isDeepStrictEqual(before, after)) {
      const nothing: ChangeToFollowUp = { action: 'update_event', change: null };
      const { jobId } = await this.followUp.run(em, account, series, nothing, at);
      return { event: instance, jobId, planned: [] };
    }
    const event = createInstance(em, series, said, { ...after, status: instance.status }, at);
    const write: ChangeToFollowUp = { action: 'update_event', change: 'created', before, notify };
    return this.followUp.run(em, account, event, write, at);
  }

  /**
   * Cancels an event, a series with its instances, or a single instance: it stays readable as `cancelled`, its reminders are
   * cancelled, the provider deletes it. Of a cancelled event the deletion at the provider is repeated.
   * @returns the job that carries the deletion to the provider
   * @throws {NotFoundError}
   * @throws {ReadOnlyEventError}
   */
  async delete(account: AccountPrincipal, id: string, options: WriteOptions): Promise<string> {
    this.invitations.assertAllowed(account, options);
    const at = this.clock.now();
    const { jobId } = await this.em.transactional(async (em) => {
      const held = await holdEvent(em, account.accountId, id);
      return 'instance' in held
        ? this.#cancelInstance(em, account, held, options, at)
        : this.#cancel(em, account, held, options, at);
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
    { notifyParticipants: notify }: WriteOptions,
    at: Date,
  ): Promise<FollowedUpEvent> {
    const change = event.status === 'cancelled' ? null : 'deleted';
    const before = eventFields(event);
    em.assign(event, { status: 'cancelled', version: event.version + 1, updatedAt: at });
    const series = { accountId: account.accountId, id: event.id };
    const ended = event.recurrence ? await endInstances(sqlOf(em), series, at) : [];
    const write: ChangeToFollowUp = { action: 'delete_event', change, ended, before, notify };
    return this.followUp.run(em, account, event, write, at);
  }

  /** The row is what tells that the instance does not take place. */
  #cancelInstance(
    em: EntityManager,
    account: AccountPrincipal,
    { series, instance }: HeldInstance,
    { notifyParticipants: notify }: WriteOptions,
    at: Date,
  ): Promise<FollowedUpEvent> {
    const before = eventFields(instance);
    const fields = { ...before, status: 'cancelled' as const };
    const event = createInstance(em, series, instance, fields, at);
    const write: ChangeToFollowUp = { action: 'delete_event', change: 'deleted', before, notify };
    return this.followUp.run(em, account, event, write, at);
  }
}
