import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { hasOpenWrite } from '../../accounts/provider-writes/open-writes.ts';
import type { EventContent, RemoteEvent } from '../../providers/port/connector.ts';
import {
  assignments, columnNames, columnValues, PROVIDER_FIELDS, type ProviderFields, RECORD_FIELDS, selected, typedColumns,
} from './event-columns.ts'; // prettier-ignore
import type { EventRecord } from './event-record.ts';

/* Events as they are at their provider: what the mirror reads of them and writes. Set-based: the number of statements does not
 * depend on the number of events. */

/** An event of the mirror, with what is known of it at its provider. */
export interface MirrorEvent extends EventRecord {
  /** Null: of an instance that was changed here and is not there yet. */
  providerId: string | null;
  masterProviderId: string | null;
  providerContent: EventContent | null;
  version: number;
  /** Of a changed instance that is over: its series decides again. */
  released: boolean;
  /** A write of ours is under way: of the event, or of its series. */
  writing: boolean;
  /** When it was last changed here, read or written there. */
  touchedAt: Date;
}

const COLUMNS = `
  ${selected(RECORD_FIELDS)}, e.provider_id as "providerId",
  e.master_provider_id as "masterProviderId", e.provider_content as "providerContent", e.version, e.released,
  ${hasOpenWrite('e.id', 'e.master_event_id')} as writing,
  greatest(e.updated_at, e.provider_seen_at) as "touchedAt"`;

const IN_GROUPS = `
  select ${COLUMNS} from event e
  where e.calendar_id = $1 and coalesce(e.master_provider_id, e.provider_id) is not null
    and (e.provider_id is not null or not e.released)
    and ($3 or coalesce(e.master_provider_id, e.provider_id) = any($2::text[]))
  order by e.id for update of e`;

// Version and queue are looked at together: a write that ends in between has stored what it brought there.
const DIVERGED = `
  select ${COLUMNS} from event e
  where e.calendar_id = $1 and e.provider_id is not null and e.provider_content is not null
    and e.version > e.provider_version
    and not ${hasOpenWrite('e.id', 'e.master_event_id')}
  order by e.id limit 100 for update of e`;

/** Those of ours that are being created there: their UIDs may be listed before their ids are known. */
const COMING = `
  select id from event where calendar_id = $1 and provider_id is null and id = any($2::uuid[])`;

const INSERT = `
  insert into event (id, account_id, calendar_id, provider_id, ical_uid, master_provider_id, original_start,
    ${columnNames(PROVIDER_FIELDS)}, organizer_email, organizer_name, read_only, hide_participants, notifications, metadata,
    round_robin_order, sequence, version, provider_content, provider_version, provider_seen_at, created_at, updated_at)
  select x.id, $1, $2, x.provider_id, x.ical_uid, x.master_provider_id, to_timestamp(x.original_start),
    ${columnNames(PROVIDER_FIELDS, 'x')}, x.organizer_email, x.organizer_name, false, false, '[]', '{}',
    '{}', x.sequence, 1, x.provider_content, 1, $4, $4, $4
  from jsonb_to_recordset($3::jsonb) x(id uuid, provider_id text, ical_uid text, master_provider_id text,
    original_start double precision, ${typedColumns(PROVIDER_FIELDS)}, organizer_email text, organizer_name text,
    sequence int, provider_content jsonb)
  on conflict (account_id, provider_id) do nothing
  returning id`;

const UPDATE = `
  update event e set ${assignments(PROVIDER_FIELDS)},
    released = e.released and x.status = 'cancelled', version = e.version + 1, updated_at = $2
  from jsonb_to_recordset($1::jsonb) x(id uuid, ${typedColumns(PROVIDER_FIELDS)})
  where e.id = x.id`;

const SEEN = `
  update event e set provider_content = x.provider_content, provider_version = e.version, provider_seen_at = $2,
    provider_id = coalesce(e.provider_id, x.provider_id), ical_uid = coalesce(e.ical_uid, x.ical_uid),
    organizer_email = coalesce(x.organizer_email, e.organizer_email),
    organizer_name = case when x.organizer_email is null then e.organizer_name else x.organizer_name end,
    original_start = coalesce(to_timestamp(x.original_start), e.original_start),
    sequence = greatest(e.sequence, x.sequence)
  from jsonb_to_recordset($1::jsonb) x(id uuid, provider_id text, ical_uid text, provider_content jsonb,
    organizer_email text, organizer_name text, original_start double precision, sequence int)
  where e.id = x.id`;

const TIE_INSTANCES = `
  update event e set master_event_id = m.id
  from event m
  where e.calendar_id = $1 and e.master_provider_id = any($2::text[]) and m.account_id = e.account_id
    and m.provider_id = e.master_provider_id and e.master_event_id is distinct from m.id
  returning e.id, e.status`;

const CANCEL = `
  update event set status = 'cancelled', version = version + 1, provider_version = version + 1, provider_seen_at = $2,
    updated_at = $2
  where id = any($1::uuid[])`;

const RELEASE = `
  update event set released = true, provider_id = null
  where id = any($1::uuid[]) and master_event_id is not null and status = 'cancelled'`;

/** A remote event with the fields it is stored with. */
export interface NewMirrorEvent {
  id: string;
  remote: RemoteEvent;
  fields: ProviderFields;
}

/** What was seen of an event at its provider. */
export interface SeenEvent {
  id: string;
  remote: RemoteEvent;
}

/** Events of these series, or all of the calendar, held until the transaction ends. */
export function holdGroups(
  sql: Sql,
  calendarId: string,
  groups: readonly string[],
  all: boolean,
): Promise<MirrorEvent[]> {
  return sql.query<MirrorEvent>(IN_GROUPS, [calendarId, groups, all]);
}

/** Events that show what never came to the provider, as the write of it has failed; held. */
export function holdDiverged(sql: Sql, calendarId: string): Promise<MirrorEvent[]> {
  return sql.query<MirrorEvent>(DIVERGED, [calendarId]);
}

/** Those of the ids that are events of ours without an id at the provider. */
export async function comingEvents(
  sql: Sql,
  calendarId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql.query<{ id: string }>(COMING, [calendarId, ids]);
  return new Set(idsOf(rows));
}

function seenColumns(id: string, { organizer, ...remote }: RemoteEvent) {
  return {
    id,
    provider_id: remote.providerId,
    ical_uid: remote.icalUid,
    provider_content: remote.content,
    organizer_email: organizer?.email ?? null,
    organizer_name: organizer?.name ?? null,
    original_start: remote.originalStartTime,
    sequence: remote.sequence,
  };
}

/** @returns the ids that are really new */
export async function insertMirrored(
  sql: Sql,
  accountId: string,
  calendarId: string,
  events: readonly NewMirrorEvent[],
  at: Date,
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const rows = events.map(({ id, remote, fields }) => ({
    ...seenColumns(id, remote),
    master_provider_id: remote.masterProviderId,
    ...columnValues(fields, PROVIDER_FIELDS),
  }));
  const inserted = await sql.query<{ id: string }>(INSERT, [
    accountId,
    calendarId,
    JSON.stringify(rows),
    at,
  ]);
  return new Set(idsOf(inserted));
}

export async function updateMirrored(
  sql: Sql,
  events: readonly { id: string; fields: ProviderFields }[],
  at: Date,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ id, fields }) => ({ id, ...columnValues(fields, PROVIDER_FIELDS) }));
  await sql.query(UPDATE, [JSON.stringify(rows), at]);
}

/** After `update`: the version that is stored now is the provider's. */
export async function storeSeenEvents(
  sql: Sql,
  events: readonly SeenEvent[],
  at: Date,
): Promise<void> {
  if (events.length === 0) return;
  await sql.query(SEEN, [
    JSON.stringify(events.map(({ id, remote }) => seenColumns(id, remote))),
    at,
  ]);
}

/** Ties changed instances to their series. @returns those that say so now; not cancelled ones */
export async function tieInstances(
  sql: Sql,
  calendarId: string,
  masters: readonly string[],
): Promise<string[]> {
  if (masters.length === 0) return [];
  const tied = await sql.query<{ id: string; status: string }>(TIE_INSTANCES, [
    calendarId,
    masters,
  ]);
  return tied.flatMap(({ id, status }) => (status === 'cancelled' ? [] : [id]));
}

/** Cancels events that are gone at the provider. */
export async function cancelMirrored(sql: Sql, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length > 0) await sql.query(CANCEL, [ids, at]);
}

/** Of cancelled instances that are not at the provider: their series decides again. Others stay as they are. */
export async function releaseInstances(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(RELEASE, [ids]);
}
