import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { amendWrites } from '../../accounts/provider-writes/open-writes.ts';
import { CalendarListeners } from './calendar-listeners.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { objectChange } from '../../platform/changes/object-change.ts';
import {
  type ProviderWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import type {
  CalendarContent,
  CalendarPort,
  ProviderAccount,
} from '../../providers/port/connector.ts';

/**
 * Payload of a calendar's provider write. A deleted calendar has no row that the payload could be
 * read from.
 */
interface Payload {
  providerId: string | null;
  content: CalendarContent;
}

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
  select provider_id as "providerId", name, description, location, timezone
  from calendar where id = $1 and account_id = $2`;

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The calendar was deleted before this change had reached the provider',
};

/** Carries changes of calendars to their provider. */
@Injectable()
export class CalendarWriteHandlers implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
    private readonly listeners: CalendarListeners,
  ) {}

  onModuleInit(): void {
    this.writes.register('create_calendar', 'calendar', this.#write);
    this.writes.register('update_calendar', 'calendar', this.#write);
    this.writes.register('delete_calendar', 'calendar', this.#delete);
  }

  /**
   * Creates or updates a calendar. Both are one operation: an update creates the calendar if its
   * creation failed (ADR 0013).
   */
  readonly #write: ProviderWriteHandler = async (port, account, write) => {
    const [calendar] = await this.database.query<CalendarContent & { providerId: string | null }>(
      READ,
      [write.objectId, account.accountId],
    );
    if (!calendar) return this.#writeDeleted(port, account, write);
    const content = contentOf(calendar);
    if (calendar.providerId) {
      await port.updateCalendar(account, calendar.providerId, content);
      return { kind: 'written' };
    }
    const { providerId } = await port.createCalendar(account, write.objectId, content);
    return {
      kind: 'written',
      store: (sql, at) => store(sql, this.listeners, account, write.objectId, providerId, at),
    };
  };

  /**
   * Handles a write whose calendar was deleted here meanwhile. If an earlier attempt may have
   * created the calendar, creating it again with the same key returns its id. The deletion queued
   * after this write needs that id.
   */
  async #writeDeleted(
    port: CalendarPort,
    account: ProviderAccount,
    write: ProviderWrite,
  ): Promise<WriteOutcome> {
    const { providerId, content } = write.payload as unknown as Payload;
    if (providerId !== null || !write.mayHaveRun) return DELETED;
    const created = await port.createCalendar(account, write.objectId, content);
    return {
      kind: 'written',
      store: (sql) => addIdToDeletion(sql, write.objectId, created.providerId),
    };
  }

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const { providerId } = write.payload as unknown as Payload;
    // A calendar without an id has never been at the provider.
    if (providerId !== null) await port.deleteCalendar(account, providerId);
    return { kind: 'written' };
  };
}

function addIdToDeletion(sql: Sql, calendarId: string, providerId: string): Promise<void> {
  return amendWrites(sql, calendarId, 'delete_calendar', { providerId });
}

const LOCK_FOR_SHARE = `select 1 from calendar where id = $1 and account_id = $2 for share`;

const DELETE_DUPLICATES = `
  delete from calendar where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update calendar set provider_id = $3 where id = $1 and account_id = $2 and provider_id is null returning id`;

/**
 * Stores the provider's id. If the calendar was deleted meanwhile, passes the id to the queued
 * deletion.
 */
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
  const kept = (await sql.query(LOCK_FOR_SHARE, key.slice(0, 2))).length > 0;
  await listeners.duplicatesDeleted(sql, {
    accountId,
    applicationId,
    calendarId,
    providerId,
    kept,
    at,
  });
  const duplicates = await sql.query<{ id: string }>(DELETE_DUPLICATES, key);
  const owner = { accountId, applicationId, at };
  const changes = duplicates.map(({ id }) => objectChange('calendar', owner, id, 'deleted', null));
  await recordChanges(sql, changes);
  const stored = await sql.query(STORE, key);
  if (stored.length === 0) await addIdToDeletion(sql, calendarId, providerId);
}
