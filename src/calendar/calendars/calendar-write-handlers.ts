import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { CalendarListeners } from './calendar-listeners.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { objectChange } from '../../platform/changes/object-change.ts';
import {
  type ProviderWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import type { CalendarContent, ProviderAccount } from '../../providers/port/connector.ts';
import { RefusedCalendarWrites } from './refused-calendar-writes.ts';
import type { Calendar } from './calendar.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** The part of a calendar that the provider stores. */
export function contentOf({
  name,
  description,
  location,
  timezone,
}: CalendarContent): CalendarContent {
  return { name, description, location, timezone };
}

const READ = `
  select provider_id as "providerId", name, description, location, timezone, deleting
  from calendar where id = $1 and account_id = $2`;

interface StoredCalendar extends CalendarContent, RowOf<Calendar, 'providerId' | 'deleting'> {}

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The calendar was deleted before this change had reached the provider',
};

/**
 * Carries changes of calendars to their provider, and takes back changes that the provider refuses.
 */
@Injectable()
export class CalendarWriteHandlers implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
    private readonly listeners: CalendarListeners,
    private readonly refused: RefusedCalendarWrites,
  ) {}

  onModuleInit(): void {
    const { written, deleted } = this.refused;
    this.writes.register('create_calendar', 'calendar', this.#write, { failed: written });
    this.writes.register('update_calendar', 'calendar', this.#write, { failed: written });
    this.writes.register('delete_calendar', 'calendar', this.#delete, { failed: deleted });
  }

  /**
   * Creates or updates a calendar. Both are one operation: an update creates the calendar if its
   * creation failed (ADR 0013).
   */
  readonly #write: ProviderWriteHandler = async (port, account, write) => {
    const calendar = await this.#find(account, write);
    if (!calendar) return DELETED;
    const { providerId, deleting } = calendar;
    // If an earlier attempt may have created a calendar that was deleted meanwhile, creating it
    // again with the same key returns its id. The deletion queued after this write needs that id.
    if (deleting && (providerId !== null || !write.mayHaveRun)) return DELETED;
    const content = contentOf(calendar);
    if (providerId !== null) {
      await port.updateCalendar(account, providerId, content);
      return { kind: 'written' };
    }
    const created = await port.createCalendar(account, write.objectId, content);
    return {
      kind: 'written',
      store: (sql, at) =>
        store(sql, this.listeners, account, write.objectId, created.providerId, at),
    };
  };

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const calendar = await this.#find(account, write);
    // A calendar without an id has never been at the provider.
    if (calendar?.providerId) await port.deleteCalendar(account, calendar.providerId);
    return {
      kind: 'written',
      store: async (sql) => {
        await sql.query(REMOVE, [write.objectId, account.accountId]);
      },
    };
  };

  async #find(
    { accountId }: ProviderAccount,
    { objectId }: ProviderWrite,
  ): Promise<StoredCalendar | undefined> {
    return (await this.database.query<StoredCalendar>(READ, [objectId, accountId]))[0];
  }
}

const REMOVE = `delete from calendar where id = $1 and account_id = $2 and deleting`;

const LOCK_FOR_SHARE = `
  select deleting from calendar where id = $1 and account_id = $2 for share`;

const DELETE_DUPLICATES = `
  delete from calendar where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update calendar set provider_id = $3 where id = $1 and account_id = $2 and provider_id is null`;

/** Stores the provider's id. */
async function store(
  sql: Sql,
  listeners: CalendarListeners,
  { accountId, applicationId }: ProviderAccount,
  calendarId: string,
  providerId: string,
  at: Date,
): Promise<void> {
  const key = [calendarId, accountId, providerId];
  // A sync pass may have added the calendar before we stored its provider id. There are two rows of
  // it then.
  const [row] = await sql.query<RowOf<Calendar, 'deleting'>>(LOCK_FOR_SHARE, key.slice(0, 2));
  await listeners.duplicatesDeleted(sql, {
    accountId,
    applicationId,
    calendarId,
    providerId,
    kept: row?.deleting === false,
    at,
  });
  const duplicates = await sql.query<{ id: string }>(DELETE_DUPLICATES, key);
  const owner = { accountId, applicationId, at };
  const changes = duplicates.map(({ id }) => objectChange('calendar', owner, id, 'deleted', null));
  await recordChanges(sql, changes);
  await sql.query(STORE, key);
}
