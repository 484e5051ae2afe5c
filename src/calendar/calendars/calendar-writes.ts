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

/** What the jobs of calendars are opened with: a deleted calendar has no row to read it from. */
interface Payload {
  providerId: string | null;
  content: CalendarContent;
}

/** The part of a calendar the provider keeps. */
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
export class CalendarWrites implements OnModuleInit {
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

  /** Creating and updating are one: a calendar whose creation failed is created by the change that repairs it. */
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
   * The calendar was deleted here. Where an attempt to create it may have gone through, the same key finds it again:
   * the deletion that waits behind this job then knows what to delete.
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
      store: (sql) => tellDeletion(sql, write.objectId, created.providerId),
    };
  }

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const { providerId } = write.payload as unknown as Payload;
    // Without an id it has never been at the provider.
    if (providerId !== null) await port.deleteCalendar(account, providerId);
    return { kind: 'written' };
  };
}

function tellDeletion(sql: Sql, calendarId: string, providerId: string): Promise<void> {
  return amendWrites(sql, calendarId, 'delete_calendar', { providerId });
}

const HOLD = `select 1 from calendar where id = $1 and account_id = $2 for share`;

const DELETE_TWINS = `
  delete from calendar where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update calendar set provider_id = $3 where id = $1 and account_id = $2 and provider_id is null returning id`;

/** Stores the provider's id, or hands it on to the deletion when the calendar has been deleted meanwhile. */
async function store(
  sql: Sql,
  listeners: CalendarListeners,
  { accountId, applicationId }: ProviderAccount,
  calendarId: string,
  providerId: string,
  at: Date,
): Promise<void> {
  const key = [calendarId, accountId, providerId];
  // The mirror may have met the calendar at the provider before we knew its id: then there are two rows of it.
  const kept = (await sql.query(HOLD, key.slice(0, 2))).length > 0;
  await listeners.twinsDeleted(sql, { accountId, applicationId, calendarId, providerId, kept, at });
  const twins = await sql.query<{ id: string }>(DELETE_TWINS, key);
  const owner = { accountId, applicationId, at };
  const changes = twins.map(({ id }) => objectChange('calendar', owner, id, 'deleted', null));
  await recordChanges(sql, changes);
  const stored = await sql.query(STORE, key);
  if (stored.length === 0) await tellDeletion(sql, calendarId, providerId);
}
