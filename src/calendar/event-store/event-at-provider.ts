import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { openWritesUntil } from '../../accounts/provider-writes/open-writes.ts';
import type { EventContent, WrittenEvent } from '../../providers/port/connector.ts';
import { RECORD_FIELDS, selected } from './event-columns.ts';
import type { EventRecord } from './event-record.ts';

/** What the provider needs to know of an event, and where in the provider it belongs. */
export interface EventAtProvider extends EventRecord {
  providerId: string | null;
  calendarProviderId: string | null;
  /** What the provider had when it was last read or written; null: not known. */
  providerContent: EventContent | null;
  version: number;
  /** SEQUENCE of iCalendar. */
  sequence: number;
  /** Of a changed instance: its series. */
  series: {
    providerId: string | null;
    allDay: boolean;
    /** As `calendarBusyUntil`. */
    busyUntil: Date | null;
  } | null;
  /** Of a changed instance: it is over, its series decides again. */
  released: boolean;
  /** Of a series: `providerId`s of changed instances that are over here, but not at the provider. */
  over: string[];
  /** When the writes of its calendar that are still open will be through at the earliest; null: there are none. */
  calendarBusyUntil: Date | null;
}

interface EventAtProviderRow extends Omit<EventAtProvider, 'series'> {
  seriesId: string | null;
  seriesProviderId: string | null;
  seriesAllDay: boolean;
  seriesBusyUntil: Date | null;
}

// One statement, so that a calendar without an id at the provider and without open writes has failed for good.
const FIND_AT_PROVIDER = `
  select ${selected(RECORD_FIELDS)}, e.provider_id as "providerId", e.provider_content as "providerContent", e.version, e.sequence, e.released,
    c.provider_id as "calendarProviderId",
    ${openWritesUntil('c.id')} as "calendarBusyUntil",
    s.id as "seriesId", s.provider_id as "seriesProviderId",
    s.when_value ->> 'object' in ('date', 'datespan') as "seriesAllDay",
    ${openWritesUntil('s.id')} as "seriesBusyUntil",
    (select coalesce(array_agg(i.provider_id order by i.id), '{}') from event i
     where i.master_event_id = e.id and i.released and i.provider_id is not null) as over
  from event e join calendar c on c.id = e.calendar_id
    left join event s on s.id = e.master_event_id and s.account_id = e.account_id
  where e.id = $1 and e.account_id = $2`;

/** An event of an account as its provider has to get it; undefined: it is gone. */
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

/** A cancelled instance that is not at its provider is what its series says again. */
export async function releaseInstance(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query(BRING_BACK, [id, accountId]);
}

const STORE_OVER = `
  update event set provider_id = null, provider_version = version
  where master_event_id = $1 and account_id = $2 and released and provider_id = any($3::text[])`;

/** Changed instances that are over are not at the provider any more. */
export async function storeOver(sql: Sql, { id, accountId, over }: EventAtProvider): Promise<void> {
  if (over.length > 0) await sql.query(STORE_OVER, [id, accountId, over]);
}

const STORE_SEEN = `
  update event set provider_content = $2, provider_version = $3, provider_seen_at = $4 where id = $1`;

/** Stores what the provider has now, and which version of ours that is: later ones may be on their way already. */
export async function storeSeen(
  sql: Sql,
  { id, version }: EventAtProvider,
  content: EventContent | null,
  at: Date,
): Promise<void> {
  await sql.query(STORE_SEEN, [id, content && JSON.stringify(content), version, at]);
}

/** SEQUENCE of an event becomes greater by so much. */
export async function raiseSequence(sql: Sql, id: string, by: number): Promise<void> {
  await sql.query('update event set sequence = sequence + $2 where id = $1', [id, by]);
}

const DELETE_TWINS = `
  delete from event where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update event set provider_id = $3, ical_uid = $4
  where id = $1 and account_id = $2 and provider_id is null returning id`;

/** Instances that were changed before their series was there. */
const STORE_SERIES = `
  update event set master_provider_id = $3
  where master_event_id = $1 and account_id = $2 and master_provider_id is distinct from $3`;

/**
 * Stores what an event is called at its provider. Other rows of it go: the mirror may have met it there before we knew its id.
 * @returns the ids of those; `isNew`: it had no id yet
 */
export async function storeProviderIds(
  sql: Sql,
  accountId: string,
  eventId: string,
  { providerId, icalUid }: Pick<WrittenEvent, 'providerId' | 'icalUid'>,
): Promise<{ twins: string[]; isNew: boolean }> {
  const key = [eventId, accountId, providerId];
  const twins = await sql.query<{ id: string }>(DELETE_TWINS, key);
  const stored = await sql.query<{ id: string }>(STORE, [...key, icalUid]);
  await sql.query(STORE_SERIES, [eventId, accountId, providerId]);
  return { twins: idsOf(twins), isNew: stored.length > 0 };
}
