import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { openWritesUntil } from '../../../accounts/provider-writes/open-writes.ts';
import type { EventContent, EventProviderIds } from '../../../providers/port/connector.ts';
import { RECORD_FIELDS, selected } from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';

/**
 * An event with everything that a provider write needs: its content and its position at the
 * provider.
 */
export interface EventAtProvider extends EventRecord {
  providerId: string | null;
  calendarProviderId: string | null;
  /** The content at the provider when it was last read or written; `null` if not known. */
  providerContent: EventContent | null;
  version: number;
  /** SEQUENCE of the iCalendar event. */
  sequence: number;
  /** The series of a changed instance; `null` for all other events. */
  series: {
    providerId: string | null;
    allDay: boolean;
    /** Like `calendarBusyUntil`, for the series. */
    busyUntil: Date | null;
  } | null;
  /**
   * True for a changed instance whose row no longer counts: the rules of its series decide again
   * whether an instance takes place at that time.
   */
  released: boolean;
  /** For a series: `providerId`s of released instances that the provider still has. */
  releasedProviderIds: string[];
  /**
   * Earliest time at which the open provider writes of the calendar may be finished; `null` if
   * there are none.
   */
  calendarBusyUntil: Date | null;
}

interface EventAtProviderRow extends Omit<EventAtProvider, 'series'> {
  seriesId: string | null;
  seriesProviderId: string | null;
  seriesAllDay: boolean;
  seriesBusyUntil: Date | null;
}

// One statement reads both the provider id of the calendar and its open writes, because two
// statements could miss a write that finishes in between. If a calendar has neither, its creation
// has failed permanently.
const FIND_AT_PROVIDER = `
  select ${selected(RECORD_FIELDS)}, e.provider_id as "providerId", e.provider_content as "providerContent", e.version, e.sequence, e.released,
    c.provider_id as "calendarProviderId",
    ${openWritesUntil('c.id')} as "calendarBusyUntil",
    s.id as "seriesId", s.provider_id as "seriesProviderId",
    s.when_value ->> 'object' in ('date', 'datespan') as "seriesAllDay",
    ${openWritesUntil('s.id')} as "seriesBusyUntil",
    (select coalesce(array_agg(i.provider_id order by i.id), '{}') from event i
     where i.master_event_id = e.id and i.released and i.provider_id is not null) as "releasedProviderIds"
  from event e join calendar c on c.id = e.calendar_id
    left join event s on s.id = e.master_event_id and s.account_id = e.account_id
  where e.id = $1 and e.account_id = $2`;

/**
 * Finds an event of an account with all data that a provider write needs; `undefined` if it was
 * deleted.
 */
export async function findEventAtProvider(
  sql: Sql,
  accountId: string,
  id: string,
): Promise<EventAtProvider | undefined> {
  const [row] = await sql.query<EventAtProviderRow>(FIND_AT_PROVIDER, [id, accountId]);
  if (!row) return undefined;
  const { seriesId, seriesProviderId, seriesAllDay, seriesBusyUntil, ...event } = row;
  const series = { providerId: seriesProviderId, allDay: seriesAllDay, busyUntil: seriesBusyUntil };
  return { ...event, series: seriesId === null ? null : series };
}

const BRING_BACK = `
  update event set released = true
  where id = $1 and account_id = $2 and master_event_id is not null and provider_id is null and status = 'cancelled'`;

/**
 * Releases a cancelled instance that the provider does not have: its row no longer counts, and the
 * rules of its series decide again whether an instance takes place at that time.
 */
export async function releaseInstance(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query(BRING_BACK, [id, accountId]);
}

const STORE_OVER = `
  update event set provider_id = null, provider_version = version
  where master_event_id = $1 and account_id = $2 and released and provider_id = any($3::text[])`;

/** Stores that the provider no longer has the released instances in `releasedProviderIds`. */
export async function clearReleasedIds(
  sql: Sql,
  { id, accountId, releasedProviderIds }: EventAtProvider,
): Promise<void> {
  if (releasedProviderIds.length > 0)
    await sql.query(STORE_OVER, [id, accountId, releasedProviderIds]);
}

const STORE_SEEN = `
  update event set provider_content = $2, provider_version = $3, provider_seen_at = $4 where id = $1`;

/**
 * Stores the content that the provider now has and the version of our event it corresponds to. The
 * row may already have a later version whose write is still open.
 */
export async function storeProviderContent(
  sql: Sql,
  { id, version }: EventAtProvider,
  content: EventContent | null,
  at: Date,
): Promise<void> {
  await sql.query(STORE_SEEN, [id, content && JSON.stringify(content), version, at]);
}

/** Raises the SEQUENCE of an event by the given number. */
export async function raiseSequence(sql: Sql, id: string, by: number): Promise<void> {
  await sql.query('update event set sequence = sequence + $2 where id = $1', [id, by]);
}

const DELETE_DUPLICATES = `
  delete from event where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update event set provider_id = $3, ical_uid = $4
  where id = $1 and account_id = $2 and provider_id is null
  returning status = 'cancelled' as deleted`;

/** Updates instances that were changed before their series had an id at the provider. */
const STORE_SERIES = `
  update event set master_provider_id = $3
  where master_event_id = $1 and account_id = $2 and master_provider_id is distinct from $3`;

/**
 * Stores the ids that the provider gave to an event. Deletes duplicates: a sync pass may have
 * stored the event under its provider id before this write knew the id.
 * @returns `duplicates`: ids of the deleted rows; `isNews`: true if the event had no provider id
 *   before, and was not deleted meanwhile
 */
export async function storeProviderIds(
  sql: Sql,
  accountId: string,
  eventId: string,
  { providerId, icalUid }: Pick<EventProviderIds, 'providerId' | 'icalUid'>,
): Promise<{ duplicates: string[]; isNews: boolean }> {
  const key = [eventId, accountId, providerId];
  const duplicates = await sql.query<{ id: string }>(DELETE_DUPLICATES, key);
  const stored = await sql.query<{ deleted: boolean }>(STORE, [...key, icalUid]);
  await sql.query(STORE_SERIES, [eventId, accountId, providerId]);
  return { duplicates: idsOf(duplicates), isNews: stored.some(({ deleted }) => !deleted) };
}
