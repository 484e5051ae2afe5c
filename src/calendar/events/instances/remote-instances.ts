import { newId } from '../../../platform/base/ids/ids.ts';
import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import type { ExcludedInstance } from '../../../providers/port/connector.ts';
import {
  assignments,
  columnNames,
  columnValues,
  pickFields,
  PROVIDER_FIELDS,
  type ProviderFields,
  RECORD_FIELDS,
  selected,
  typedColumns,
} from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';
import { instanceOf } from '../recurrence/instances.ts';
import { openSeries } from '../../../formats/recurrence/series.ts';

/*
 * Statements for instances of series that a provider reports one by one, and for events that it has
 * moved to another calendar.
 */

const MOVE = `
  update event e set calendar_id = $2 from calendar c
  where e.account_id = $1 and e.provider_id = any($3::text[]) and e.calendar_id <> $2 and c.id = e.calendar_id
    and c.provider_id is not null and not c.deleting
  returning e.id`;

// The changed instances of a series that was moved follow it, even if they are not reported again.
const MOVE_INSTANCES = `
  update event e set calendar_id = $2
  where e.account_id = $1 and e.master_event_id = any($3::uuid[]) and e.calendar_id <> $2`;

/**
 * Moves events to a calendar in which the provider now lists them. They keep their ids.
 * @param providerIds of the events that the provider lists in the calendar
 * @returns ids of the moved events, without the instances that followed their series
 */
export async function moveToCalendar(
  sql: Sql,
  accountId: string,
  calendarId: string,
  providerIds: readonly string[],
): Promise<string[]> {
  if (providerIds.length === 0) return [];
  const moved = idsOf(await sql.query<{ id: string }>(MOVE, [accountId, calendarId, providerIds]));
  if (moved.length > 0) await sql.query(MOVE_INSTANCES, [accountId, calendarId, moved]);
  return moved;
}

const BLANK: Omit<ProviderFields, 'when' | 'startsAt' | 'endsAt'> = {
  title: '',
  description: '',
  location: '',
  busy: true,
  status: 'cancelled',
  visibility: null,
  recurrence: null,
  conferencing: null,
  participants: [],
  reminders: null,
};

const INSERT = `
  insert into event (id, account_id, calendar_id, provider_id, ical_uid, master_provider_id, original_start,
    ${columnNames(PROVIDER_FIELDS)}, read_only, hide_participants, notifications, metadata, round_robin_order, version,
    provider_version, provider_seen_at, created_at, updated_at)
  select x.id, $1, $2, x.provider_id, null, x.master_provider_id, to_timestamp(x.original_start),
    ${columnNames(PROVIDER_FIELDS, 'x')}, false, false, '[]', '{}', '{}', 1, 1, $4, $4, $4
  from jsonb_to_recordset($3::jsonb) x(id uuid, provider_id text, master_provider_id text,
    original_start double precision, ${typedColumns(PROVIDER_FIELDS)})
  on conflict (account_id, provider_id) do nothing
  returning id`;

/**
 * Stores starts that the provider excludes from a series as cancelled instances. Their other fields
 * stay empty until `fillExcluded`.
 * @returns ids of the new rows
 */
export async function insertExcluded(
  sql: Sql,
  accountId: string,
  calendarId: string,
  excluded: readonly ExcludedInstance[],
  at: Date,
): Promise<string[]> {
  if (excluded.length === 0) return [];
  const rows = excluded.map(({ providerId, masterProviderId, originalStartTime }) => {
    const start = new Date(originalStartTime * 1000);
    const when = { object: 'time' as const, time: originalStartTime };
    const fields: ProviderFields = { ...BLANK, when, startsAt: start, endsAt: start };
    return {
      id: newId(),
      provider_id: providerId,
      master_provider_id: masterProviderId,
      original_start: originalStartTime,
      ...columnValues(fields, PROVIDER_FIELDS),
    };
  });
  return idsOf(
    await sql.query<{ id: string }>(INSERT, [accountId, calendarId, JSON.stringify(rows), at]),
  );
}

const EXCLUDE = `
  update event e set provider_id = x.provider_id, provider_content = null, provider_version = e.version,
    provider_seen_at = $2, released = false
  from unnest($1::uuid[], $3::text[]) x(id, provider_id) where e.id = x.id`;

/** Stores that the provider excludes these cancelled instances from their series. */
export async function storeExcluded(
  sql: Sql,
  instances: readonly { id: string; providerId: string }[],
  at: Date,
): Promise<void> {
  if (instances.length === 0) return;
  await sql.query(EXCLUDE, [
    instances.map(({ id }) => id),
    at,
    instances.map(({ providerId }) => providerId),
  ]);
}

// Only rows that `insertExcluded` made have neither a UID nor content at the provider.
const BLANK_INSTANCES = `
  select i.id as "instanceId", i.original_start as "instanceStart", $3 as zone, ${selected(RECORD_FIELDS)}
  from event i join event e on e.id = i.master_event_id
  where i.calendar_id = $1 and i.master_provider_id = any($2::text[]) and i.status = 'cancelled'
    and i.ical_uid is null and i.provider_content is null and i.provider_id is not null
    and e.recurrence is not null`;

const FILL = `
  update event e set ${assignments(PROVIDER_FIELDS)}, ical_uid = x.ical_uid, organizer_email = x.organizer_email,
    organizer_name = x.organizer_name
  from jsonb_to_recordset($1::jsonb) x(id uuid, ical_uid text, organizer_email text, organizer_name text,
    ${typedColumns(PROVIDER_FIELDS)})
  where e.id = x.id`;

/**
 * Gives excluded instances the fields that their series defines. An instance whose series is not in
 * the mirror stays as it is until the series arrives.
 * @param masters provider ids of the series
 * @param zone of the calendar, for all-day events
 */
export async function fillExcluded(
  sql: Sql,
  calendarId: string,
  masters: readonly string[],
  zone: string,
): Promise<void> {
  if (masters.length === 0) return;
  type Row = EventRecord & { instanceId: string; instanceStart: Date; zone: string };
  const found = await sql.query<Row>(BLANK_INSTANCES, [calendarId, masters, zone]);
  const rows = found.flatMap(({ instanceId: id, instanceStart, ...series }) => {
    const { when, recurrence } = series;
    if (!recurrence) return [];
    const occurrence = openSeries({ when, recurrence }).occurrenceAt(instanceStart.getTime());
    const instance = instanceOf({ ...series, recurrence }, occurrence);
    const fields = { ...pickFields(instance, PROVIDER_FIELDS), status: 'cancelled' as const };
    const { icalUid: ical_uid, organizerEmail, organizerName } = series;
    const organizer = { organizer_email: organizerEmail, organizer_name: organizerName };
    return [{ id, ical_uid, ...organizer, ...columnValues(fields, PROVIDER_FIELDS) }];
  });
  if (rows.length > 0) await sql.query(FILL, [JSON.stringify(rows)]);
}
