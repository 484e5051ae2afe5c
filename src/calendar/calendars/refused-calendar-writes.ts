import { Injectable } from '@nestjs/common';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { type ChangeVerb, objectChange } from '../../platform/changes/object-change.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { handOnReplaced, replacedValues } from '../../accounts/provider-writes/open-writes.ts';
import type { FailedWrite } from '../../accounts/provider-writes/provider-writes.ts';
import type { CalendarContent } from '../../providers/port/connector.ts';
import { CalendarListeners, type ChangedCalendar } from './calendar-listeners.ts';
import type { Calendar } from './calendar.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const LOCK = `
  select c.id as "calendarId", c.account_id as "accountId", g.application_id as "applicationId",
    c.provider_id as "providerId", c.name, c.description, c.location, c.timezone, c.metadata, c.deleting
  from calendar c join "grant" g on g.id = c.account_id
  where c.id = $1 and c.account_id = $2 for update of c`;

const REMOVE = `delete from calendar where id = $1`;

const RESTORE = `
  update calendar set name = $2, description = $3, location = $4, timezone = $5, deleting = false, updated_at = $6
  where id = $1`;

interface LockedCalendar
  extends
    CalendarContent,
    Omit<ChangedCalendar, 'at'>,
    RowOf<Calendar, 'providerId' | 'metadata' | 'deleting'> {}

/**
 * Takes back changes of calendars that the provider has refused for good (ADR 0071), in the
 * transaction that ends their provider writes.
 */
@Injectable()
export class RefusedCalendarWrites {
  constructor(private readonly listeners: CalendarListeners) {}

  /**
   * Takes back a creation or a change. If the provider does not have the calendar, the calendar is
   * removed with its events. Otherwise its fields return to their values from before the change; a
   * field that was changed again since keeps its value. Nothing happens while a later write of the
   * calendar is open, because that write carries the whole calendar.
   */
  readonly written = async (sql: Sql, write: FailedWrite, at: Date): Promise<void> => {
    const calendar = await lock(sql, write);
    if (!calendar || (await isWrittenAgain(sql, write)) || calendar.deleting) return;
    if (calendar.providerId !== null) return this.#restore(sql, write, calendar, 'updated', at);
    await this.listeners.deleted(sql, { ...calendar, at });
    await sql.query(REMOVE, [calendar.calendarId]);
    await log(sql, write, calendar, 'deleted', at);
  };

  /**
   * Takes back a deletion: the calendar is shown again, with the events in it. Nothing changes if
   * another deletion of the calendar is open.
   */
  readonly deleted = async (sql: Sql, write: FailedWrite, at: Date): Promise<void> => {
    const calendar = await lock(sql, write);
    if (!calendar?.deleting || (await isWrittenAgain(sql, write))) return;
    await this.#restore(sql, write, calendar, 'created', at);
    await this.listeners.shownAgain(sql, { ...calendar, at });
  };

  async #restore(
    sql: Sql,
    write: FailedWrite,
    calendar: LockedCalendar,
    verb: ChangeVerb,
    at: Date,
  ): Promise<void> {
    const { calendarId } = calendar;
    const { name, description, location, timezone } = valuesBefore(write, calendar);
    await sql.query(RESTORE, [calendarId, name, description, location, timezone, at]);
    if (timezone !== calendar.timezone)
      await this.listeners.timezoneChanged(sql, { ...calendar, at, timezone });
    await log(sql, write, calendar, verb, at);
  }
}

async function lock(
  sql: Sql,
  { objectId, accountId }: FailedWrite,
): Promise<LockedCalendar | undefined> {
  return (await sql.query<LockedCalendar>(LOCK, [objectId, accountId]))[0];
}

/** Passes the change on to a later open write of the calendar, if there is one. */
function isWrittenAgain(sql: Sql, write: FailedWrite): Promise<boolean> {
  const actions = ['create_calendar', 'update_calendar', 'delete_calendar'] as const;
  return handOnReplaced(sql, write, actions, replacedValues(write.payload));
}

/** The content to return to. A field that was changed again since keeps its value. */
function valuesBefore({ payload }: FailedWrite, calendar: LockedCalendar): CalendarContent {
  const { before, after } = replacedValues(payload);
  const { name, description, location, timezone } = calendar;
  const now = { name, description, location, timezone };
  const changed = Object.entries(now).filter(
    ([field, value]) => field in before && value === after[field],
  );
  return { ...now, ...Object.fromEntries(changed.map(([field]) => [field, before[field]])) };
}

async function log(
  sql: Sql,
  { jobId }: FailedWrite,
  { calendarId, metadata, ...owner }: LockedCalendar,
  verb: ChangeVerb,
  at: Date,
): Promise<void> {
  const notice = { dedupe: `refused:${jobId}`, metadata };
  await recordChanges(sql, [objectChange('calendar', { ...owner, at }, calendarId, verb, notice)]);
}
