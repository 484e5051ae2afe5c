import { newId } from '../../platform/base/ids/ids.ts';
import { hasOpenWrite } from '../../accounts/provider-writes/open-writes.ts';
import { storable } from '../../platform/base/text/storable.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { RemoteCalendar } from '../../providers/port/connector.ts';
import type { Calendar } from './calendar.entity.ts';
import type { RowOf, NotNull } from '../../platform/database/rows/row-of.ts';

/* Statements with which a sync pass reads and writes calendars. */

/** A calendar whose events are mirrored. */
export interface MirrorCalendar
  extends
    RowOf<Calendar, 'id' | 'timezone' | 'eventCursor' | 'eventsSince'>,
    NotNull<RowOf<Calendar, 'providerId'>> {}

const CALENDARS = `
  select id, provider_id as "providerId", timezone, event_cursor as "eventCursor", events_since as "eventsSince"
  from calendar where account_id = $1 and provider_id is not null and not deleting
  order by is_primary desc, id`;

// The lock that storing the cursor needs in the end. With a weaker one, a request that shares it
// could wait for an event of this transaction, while the cursor waits for that request.
const LOCK_FOR_SYNC = `
  select timezone from calendar where id = $1 and account_id = $2 and not deleting for no key update`;

// A calendar without a provider id is being created at the provider right now. It may be one of
// those listed, so only primary calendars are added then.
const ADOPT = `
  insert into calendar (id, account_id, provider_id, name, description, location, timezone, is_primary, read_only,
    metadata, created_at, updated_at)
  select x.id, $1, x.provider_id, x.name, x.description, x.location, x.timezone, x.is_primary, x.read_only,
    '{}', $3, $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, provider_id text, name text, description text, location text,
    timezone text, is_primary boolean, read_only boolean)
  where x.is_primary
     or not exists (select 1 from calendar c where c.account_id = $1 and c.provider_id is null and not c.is_emailed)
  on conflict (account_id, provider_id) do nothing
  returning id, metadata`;

const LOCK_LISTED = `
  select id from calendar where account_id = $1 and provider_id = any($2::text[]) order by id for update`;

// A provider returns null for a field that it does not store; our value is kept then. Calendars
// with an open provider write are left alone. Runs after the rows are locked: a statement that
// waits for a row does not see the open writes that were committed with it.
const REFRESH = `
  with listed as (
    select c.id, c.timezone as before, x.name, coalesce(x.description, c.description) as description,
      coalesce(x.location, c.location) as location, coalesce(x.timezone, c.timezone) as timezone, x.is_primary,
      x.read_only
    from jsonb_to_recordset($2::jsonb) x(provider_id text, name text, description text, location text, timezone text,
      is_primary boolean, read_only boolean)
    join calendar c on c.account_id = $1 and c.provider_id = x.provider_id
    where c.updated_at <= $3 and not ${hasOpenWrite('c.id')})
  update calendar c set name = h.name, description = h.description, location = h.location, timezone = h.timezone,
    is_primary = h.is_primary, read_only = h.read_only, updated_at = $3
  from listed h
  where c.id = h.id and (c.name, c.description, c.location, c.timezone, c.is_primary, c.read_only) is distinct from
    (h.name, h.description, h.location, h.timezone, h.is_primary, h.read_only)
  returning c.id, c.metadata, h.before, c.timezone`;

// `differs`: `REFRESH` would change a calendar, or `ADOPT` might add one.
const COMPARE = `
  with listed as (
    select * from jsonb_to_recordset($2::jsonb) x(provider_id text, name text, description text, location text,
      timezone text, is_primary boolean, read_only boolean)),
  missing as (
    select c.id, c.provider_id from calendar c
    where c.account_id = $1 and c.provider_id is not null and c.provider_id <> all(array(select provider_id from listed))
      and not ${hasOpenWrite('c.id')})
  select
    exists (
      select from listed x left join calendar c on c.account_id = $1 and c.provider_id = x.provider_id
      where c.id is null
         or (c.name, c.description, c.location, c.timezone, c.is_primary, c.read_only) is distinct from
            (x.name, coalesce(x.description, c.description), coalesce(x.location, c.location),
             coalesce(x.timezone, c.timezone), x.is_primary, x.read_only)) as differs,
    coalesce((select json_agg(json_build_object('id', id, 'providerId', provider_id)) from missing), '[]') as missing,
    exists (select from calendar c where c.account_id = $1 and c.missing_since is not null) as doubted`;

const LOCK = `select id, metadata from calendar where id = $1 and account_id = $2 for update`;

const REMOVE = `delete from calendar where id = $1`;

const STORE_CURSOR = `
  update calendar set event_cursor = $2, events_since = coalesce(events_since, $3)
  where id = $1`;

const NOTE_ABSENCE = `
  update calendar set missing_since = coalesce(missing_since, $2) where id = $1
  returning missing_since as since`;

const FORGET_ABSENCE = `
  update calendar set missing_since = null where account_id = $1 and missing_since is not null`;

/** A calendar that a sync pass has written. */
export type MirroredCalendar = RowOf<Calendar, 'id' | 'metadata'>;

/** A calendar that a sync pass has updated. */
export interface RefreshedCalendar extends MirroredCalendar {
  /** The time zone before the update. */
  before: string | null;
  timezone: string | null;
}

/** The calendars of an account that have a provider id, the primary one first. */
export function calendarsAtProvider(sql: Sql, accountId: string): Promise<MirrorCalendar[]> {
  return sql.query<MirrorCalendar>(CALENDARS, [accountId]);
}

/**
 * Locks a calendar against changes and deletion until the transaction ends.
 * @returns `undefined` if the calendar was deleted
 */
export async function lockCalendarForSync(
  sql: Sql,
  accountId: string,
  calendarId: string,
): Promise<{ timezone: string | null } | undefined> {
  return (await sql.query<RowOf<Calendar, 'timezone'>>(LOCK_FOR_SYNC, [calendarId, accountId]))[0];
}

function recordsOf(calendars: readonly RemoteCalendar[]): string {
  const text = (value: string | null) => (value === null ? null : storable(value, 10_000));
  const rows = calendars.map((one) => ({
    id: newId(),
    provider_id: one.providerId,
    name: text(one.name),
    description: text(one.description),
    location: text(one.location),
    timezone: one.timezone,
    is_primary: one.isPrimary,
    read_only: one.readOnly,
  }));
  return JSON.stringify(rows);
}

/** Calendars as a provider lists them, compared with the mirror. */
export interface ComparedCalendars {
  /** Whether `writeCalendars` may have something to write. */
  differs: boolean;
  /**
   * Calendars that should be at the provider but are not listed. Calendars with an open provider
   * write are left out.
   */
  missing: { id: string; providerId: string }[];
  /** Whether a calendar was missing before (`noteAbsence`). */
  doubted: boolean;
}

/**
 * SQL condition: the account has a calendar with a provider id.
 * @param accountId an SQL expression
 */
export const hasCalendars = (accountId: string): string =>
  `exists (select 1 from calendar c where c.account_id = ${accountId} and c.provider_id is not null)`;

/** Compares all calendars that a provider lists with the mirror. Locks nothing. */
export async function compareCalendars(
  sql: Sql,
  accountId: string,
  listed: readonly RemoteCalendar[],
): Promise<ComparedCalendars> {
  const [row] = await sql.query<ComparedCalendars>(COMPARE, [accountId, recordsOf(listed)]);
  return row ?? { differs: true, missing: [], doubted: false };
}

/** Adds new calendars and updates existing ones. */
export async function writeCalendars(
  sql: Sql,
  accountId: string,
  calendars: readonly RemoteCalendar[],
  at: Date,
): Promise<{ added: MirroredCalendar[]; changed: RefreshedCalendar[] }> {
  const json = recordsOf(calendars);
  await sql.query(LOCK_LISTED, [accountId, calendars.map(({ providerId }) => providerId)]);
  const changed = await sql.query<RefreshedCalendar>(REFRESH, [accountId, json, at]);
  return { added: await sql.query<MirroredCalendar>(ADOPT, [accountId, json, at]), changed };
}

/**
 * Locks a calendar against every other change.
 * @returns `undefined` if the calendar was deleted
 */
export async function lockCalendar(
  sql: Sql,
  accountId: string,
  calendarId: string,
): Promise<MirroredCalendar | undefined> {
  return (await sql.query<MirroredCalendar>(LOCK, [calendarId, accountId]))[0];
}

/** Deletes a locked calendar. */
export async function removeCalendar(sql: Sql, calendarId: string): Promise<void> {
  await sql.query(REMOVE, [calendarId]);
}

/**
 * Notes that a provider does not show a calendar.
 * @returns since when it has not: `at` for the first time
 */
export async function noteAbsence(sql: Sql, calendarId: string, at: Date): Promise<Date> {
  const [noted] = await sql.query<{ since: Date }>(NOTE_ABSENCE, [calendarId, at]);
  return noted?.since ?? at;
}

/** Forgets what `noteAbsence` has noted of the calendars of an account. */
export async function forgetAbsences(sql: Sql, accountId: string): Promise<void> {
  await sql.query(FORGET_ABSENCE, [accountId]);
}

/**
 * Stores how far the mirror of a calendar's events has come.
 * @param completeAt when the mirror had all events; `null` if it does not have them yet
 */
export async function storeEventCursor(
  sql: Sql,
  calendarId: string,
  cursor: string,
  completeAt: Date | null,
): Promise<void> {
  await sql.query(STORE_CURSOR, [calendarId, cursor, completeAt]);
}
