import { isDeepStrictEqual } from 'node:util';
import { LockMode } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { DomainError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { Listing } from '../../platform/database/listing.ts';
import type { Metadata } from '../../platform/database/metadata-filter.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { objectChange } from '../../platform/changes/object-change.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { JobAction } from '../../job-statuses/job-status.ts';
import type { ReplacedValues } from '../../accounts/provider-writes/open-writes.ts';
import { openProviderWrite } from '../../accounts/provider-writes/provider-jobs.ts';
import { recordUnchangedWrite } from '../../accounts/provider-writes/unchanged-write.ts';
import { CalendarServers } from './calendar-servers.ts';
import { CalendarListeners, type ChangedCalendar } from './calendar-listeners.ts';
import type { CalendarContent } from '../../providers/port/connector.ts';
import { contentOf } from './calendar-write-handlers.ts';
import { Calendar } from './calendar.entity.ts';
import {
  type CalendarQuery,
  type CalendarRecord,
  calendarRecord,
  CalendarsRepository,
} from './calendars.repository.ts';

/** The fields of a calendar that a client can set; `undefined` means not given. */
export interface CalendarInput {
  name?: string | undefined;
  description?: string | null | undefined;
  location?: string | null | undefined;
  /** IANA name. */
  timezone?: string | null | undefined;
  metadata?: Metadata | undefined;
}

/** A calendar after a change, and the job that carries the change to the provider. */
export interface CalendarWriteResult {
  calendar: CalendarRecord;
  /** Already successful if nothing has changed. */
  jobId: string;
}

/** Verb in the change log for each action. */
const CHANGES = {
  create_calendar: 'created',
  update_calendar: 'updated',
  delete_calendar: 'deleted',
} as const;

interface CalendarWrite {
  action: keyof typeof CHANGES & JobAction;
  /** What an update replaces, for the case that the provider refuses it. */
  replaced?: ReplacedValues;
  /** Whether subscribers are notified. Default: true. */
  notify?: boolean;
}

/**
 * Calendars of an account. Reads come from the mirror. A change is stored in the mirror at once,
 * and a queued provider write carries it to the provider.
 */
@Injectable()
export class CalendarsService {
  constructor(
    private readonly em: EntityManager,
    private readonly repository: CalendarsRepository,
    private readonly servers: CalendarServers,
    private readonly listeners: CalendarListeners,
    private readonly clock: Clock,
  ) {}

  /** Lists calendars, oldest first. */
  list(account: AccountPrincipal, query: CalendarQuery): Promise<Listing<CalendarRecord>> {
    return this.repository.list(account.accountId, query);
  }

  /** Returns those of the given calendars that the account has, in no particular order. */
  findMany(accountId: string, ids: readonly string[]): Promise<CalendarRecord[]> {
    return this.repository.findMany(accountId, ids);
  }

  /** @throws {NotFoundError} */
  async get(account: AccountPrincipal, id: string): Promise<CalendarRecord> {
    const calendar = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!calendar) throw new NotFoundError('calendar', id);
    return calendar;
  }

  /**
   * Creates a calendar.
   * @throws {UnsupportedProviderError} if the account's provider has no calendars
   * @throws {NoCalendarServerError}
   */
  async create(
    account: AccountPrincipal,
    input: CalendarInput & { name: string },
  ): Promise<CalendarWriteResult> {
    const at = this.clock.now();
    return this.em.transactional(async (em) => {
      await this.servers.require(sqlOf(em), account);
      const calendar = em.create(Calendar, {
        id: newId(),
        account: em.getReference(Grant, account.accountId),
        name: input.name,
        description: input.description ?? null,
        location: input.location ?? null,
        timezone: input.timezone ?? null,
        isPrimary: false,
        readOnly: false,
        metadata: input.metadata ?? {},
        createdAt: at,
        updatedAt: at,
      });
      return this.#writeThrough(em, account, calendar, { action: 'create_calendar' }, at);
    });
  }

  /**
   * Changes the given fields; all others stay as they are. A change that changes nothing has no
   * effect, and its job is successful at once.
   * @throws {NotFoundError}
   * @throws {DomainError} if the calendar is read-only at the provider
   * @throws {NoCalendarServerError}
   */
  async update(
    account: AccountPrincipal,
    id: string,
    input: CalendarInput,
  ): Promise<CalendarWriteResult> {
    const at = this.clock.now();
    return this.em.transactional(async (em) => {
      const calendar = await this.#lock(em, account, id);
      await this.servers.require(sqlOf(em), account);
      const before = calendarRecord(calendar);
      const wanted = { ...before, ...definedOnly(input) };
      if (isDeepStrictEqual(before, wanted)) return this.#unchanged(em, before, at);
      em.assign(calendar, { ...definedOnly(input), updatedAt: at });
      const after = calendarRecord(calendar);
      if (after.timezone !== before.timezone)
        await this.listeners.timezoneChanged(sqlOf(em), {
          ...changed(account, after.id, at),
          timezone: after.timezone,
        });
      // Metadata belongs to the application, so a change of metadata alone sends no webhook.
      const notify = !isDeepStrictEqual(contentOf(before), contentOf(after));
      const replaced = replacedBy(contentOf(before), contentOf(after));
      const write = { action: 'update_calendar', replaced, notify } as const;
      return this.#writeThrough(em, account, calendar, write, at);
    });
  }

  /**
   * Deletes a calendar with the events in it. They are shown again if the provider refuses to
   * delete the calendar.
   * @returns id of the job that deletes the calendar at the provider
   * @throws {NotFoundError}
   * @throws {DomainError} if the calendar is read-only at the provider, or is the primary
   *   calendar
   * @throws {NoCalendarServerError} if the calendar was created at a server that the account no
   *   longer has
   */
  async delete(account: AccountPrincipal, id: string): Promise<string> {
    const at = this.clock.now();
    const { jobId } = await this.em.transactional(async (em) => {
      const calendar = await this.#lock(em, account, id);
      if (calendar.isPrimary)
        throw new DomainError(
          'calendar.primary',
          'invalid',
          'The primary calendar cannot be deleted.',
        );
      if (calendar.providerId) await this.servers.require(sqlOf(em), account);
      await this.listeners.deleted(sqlOf(em), changed(account, calendar.id, at));
      em.assign(calendar, { deleting: true, updatedAt: at });
      return this.#writeThrough(em, account, calendar, { action: 'delete_calendar' }, at);
    });
    return jobId;
  }

  /** Locks the calendar against every other change until the transaction ends. */
  async #lock(em: EntityManager, account: AccountPrincipal, id: string): Promise<Calendar> {
    const calendar = isId(id)
      ? await em.findOne(
          Calendar,
          { id, account: account.accountId, deleting: false },
          { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
        )
      : null;
    if (!calendar) throw new NotFoundError('calendar', id);
    if (calendar.readOnly)
      throw new DomainError('calendar.read-only', 'invalid', 'Cannot change a read_only calendar.');
    return calendar;
  }

  async #unchanged(
    em: EntityManager,
    calendar: CalendarRecord,
    at: Date,
  ): Promise<CalendarWriteResult> {
    const { id: objectId, accountId } = calendar;
    const write = {
      accountId,
      action: 'update_calendar',
      object: 'calendar',
      objectId,
      at,
    } as const;
    return { calendar, jobId: await recordUnchangedWrite(sqlOf(em), write) };
  }

  /** Queues the provider write and logs the change. */
  async #writeThrough(
    em: EntityManager,
    account: AccountPrincipal,
    calendar: Calendar,
    { action, replaced, notify = true }: CalendarWrite,
    at: Date,
  ): Promise<CalendarWriteResult> {
    const sql = sqlOf(em);
    const { accountId } = account;
    const record = calendarRecord(calendar);
    const jobId = newId();
    await openProviderWrite(sql, {
      id: jobId,
      accountId,
      action,
      object: 'calendar',
      objectId: record.id,
      payload: { ...replaced },
      at,
    });
    const notice = notify ? { dedupe: `${action}:${jobId}`, metadata: record.metadata } : null;
    await recordChanges(sql, [
      objectChange('calendar', { ...account, at }, record.id, CHANGES[action], notice),
    ]);
    return { calendar: record, jobId };
  }
}

const changed = (
  { accountId, applicationId }: AccountPrincipal,
  calendarId: string,
  at: Date,
): ChangedCalendar => ({ calendarId, accountId, applicationId, at });

/** The fields of `before` and `after` that differ. */
function replacedBy(before: CalendarContent, after: CalendarContent): ReplacedValues {
  const fields = (Object.keys(before) as (keyof CalendarContent)[]).filter(
    (field) => before[field] !== after[field],
  );
  const only = (content: CalendarContent) =>
    Object.fromEntries(fields.map((field) => [field, content[field]]));
  return { before: only(before), after: only(after) };
}

/** A copy of `input` without the keys whose value is `undefined`. */
function definedOnly<T extends object>(input: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
