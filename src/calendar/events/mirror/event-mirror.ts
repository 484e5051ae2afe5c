import { storableWarnings } from '../../../providers/port/warnings.ts';
import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { hasOpenWrite } from '../../../accounts/provider-writes/open-writes.ts';
import type { RemoteEvent } from '../../../providers/port/connector.ts';
import {
  assignments,
  columnNames,
  columnValues,
  OWN_FIELDS,
  PROVIDER_FIELDS,
  type ProviderFields,
  RECORD_FIELDS,
  selected,
  typedColumns,
} from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';
import type { Event } from '../event.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/*
 * Statements with which a sync pass reads and writes the events of a provider's calendar. They are
 * set-based: their number does not depend on the number of events.
 */

/** An event of the mirror, with the state in which the provider was last seen. */
export interface MirrorEvent
  extends
    EventRecord,
    RowOf<Event, 'providerId' | 'masterProviderId' | 'providerContent' | 'version' | 'released'> {
  /** True if the event or its series has an open provider write. */
  writing: boolean;
  /**
   * When the event was last changed here, or read or written at the provider, whichever is later.
   */
  touchedAt: Date;
}

const COLUMNS = `
  ${selected(RECORD_FIELDS)}, e.provider_id as "providerId",
  e.master_provider_id as "masterProviderId", e.provider_content as "providerContent", e.version, e.released,
  ${hasOpenWrite('e.id', 'e.master_event_id')} as writing,
  greatest(e.updated_at, e.provider_seen_at) as "touchedAt"`;

const IN_GROUPS = `
  select e.id from event e
  where e.calendar_id = $1 and coalesce(e.master_provider_id, e.provider_id) is not null
    and (e.provider_id is not null or not e.released)
    and (coalesce(e.master_provider_id, e.provider_id) = any($2::text[]) or e.provider_id = any($2::text[]))
  order by e.id for update of e`;

/**
 * SQL condition: the row of an instance counts, or would be the only row for its start that counts.
 */
const MAY_COUNT = `(not e.released or not exists (
  select 1 from event o where o.master_event_id = e.master_event_id and o.original_start = e.original_start
    and not o.released))`;

// One statement checks both the version and the queue. With two statements, a provider write that
// finishes in between would look like one that failed.
const IS_DIVERGED = `
  e.calendar_id = $1 and e.provider_id is not null and e.provider_content is not null
    and e.version > e.provider_version and ${MAY_COUNT}
    and not ${hasOpenWrite('e.id', 'e.master_event_id')}`;

const DIVERGED = `
  select e.id from event e where ${IS_DIVERGED} order by e.id limit 100 for update of e`;

const HAS_DIVERGED = `select exists (select from event e where ${IS_DIVERGED}) as diverged`;

const BY_ID = `select e.id from event e where e.account_id = $1 and e.id = $2 for update of e`;

// Read after the rows are locked: a statement that waits for a row does not see the open writes
// that were committed with it.
const LOCKED = `select ${COLUMNS} from event e where e.id = any($1::uuid[]) order by e.id`;

const ENDED_INSTANCES = `
  select ${COLUMNS} from event e
  where e.account_id = $1 and e.master_event_id = $2 and e.released and e.status = 'cancelled'
    and e.provider_id is not null and e.provider_content is not null and e.version > e.provider_version
    and not ${hasOpenWrite('e.id')} and ${MAY_COUNT}
  order by e.id for update of e`;

/**
 * Events that are being created at the provider. The provider may list their UIDs before we know
 * their provider ids.
 */
const COMING = `
  select e.id from event e
  where e.calendar_id = $1 and e.provider_id is null and e.id = any($2::uuid[]) and ${hasOpenWrite('e.id')}`;

const INSERT = `
  insert into event (id, account_id, calendar_id, provider_id, ical_uid, master_provider_id, original_start,
    ${columnNames(PROVIDER_FIELDS)}, organizer_email, organizer_name, warnings, read_only, hide_participants, notifications, metadata,
    round_robin_order, sequence, version, provider_content, provider_version, provider_seen_at, created_at, updated_at)
  select x.id, $1, $2, x.provider_id, x.ical_uid, x.master_provider_id, to_timestamp(x.original_start),
    ${columnNames(PROVIDER_FIELDS, 'x')}, x.organizer_email, x.organizer_name, x.warnings, x.read_only, false, '[]', '{}',
    '{}', x.sequence, 1, x.provider_content, 1, $4, $4, $4
  from jsonb_to_recordset($3::jsonb) x(id uuid, provider_id text, ical_uid text, master_provider_id text,
    original_start double precision, ${typedColumns(PROVIDER_FIELDS)}, organizer_email text, organizer_name text,
    warnings text[], read_only boolean, sequence int, provider_content jsonb)
  on conflict (account_id, provider_id) do nothing
  returning id`;

const UPDATE = `
  update event e set ${assignments(PROVIDER_FIELDS)},
    released = e.released and x.status = 'cancelled', version = e.version + 1, updated_at = $2
  from jsonb_to_recordset($1::jsonb) x(id uuid, ${typedColumns(PROVIDER_FIELDS)})
  where e.id = x.id`;

const SEEN = `
  update event e set provider_content = x.provider_content, provider_version = e.version, provider_seen_at = $2,
    provider_id = x.provider_id, master_provider_id = coalesce(x.master_provider_id, e.master_provider_id), ical_uid = coalesce(e.ical_uid, x.ical_uid),
    organizer_email = coalesce(x.organizer_email, e.organizer_email),
    organizer_name = case when x.organizer_email is null then e.organizer_name else x.organizer_name end,
    original_start = coalesce(to_timestamp(x.original_start), e.original_start),
    sequence = greatest(e.sequence, x.sequence), warnings = x.warnings
  from jsonb_to_recordset($1::jsonb) x(id uuid, provider_id text, master_provider_id text, ical_uid text, provider_content jsonb,
    organizer_email text, organizer_name text, original_start double precision, sequence int, warnings text[])
  where e.id = x.id`;

const TIE_INSTANCES = `
  update event e set master_event_id = m.id
  from event m
  where e.calendar_id = $1 and e.master_provider_id = any($2::text[]) and m.account_id = e.account_id
    and m.provider_id = e.master_provider_id and e.master_event_id is distinct from m.id
  returning e.id, e.status`;

const RESTORED_FIELDS = [...new Set([...PROVIDER_FIELDS, ...OWN_FIELDS])];

const RESTORE = `
  update event e set ${assignments(RESTORED_FIELDS)}, released = e.released and x.status = 'cancelled',
    version = e.version + 1, provider_version = e.version + 1, provider_seen_at = $2, updated_at = $2
  from jsonb_to_recordset($1::jsonb) x(id uuid, ${typedColumns(RESTORED_FIELDS)})
  where e.id = x.id`;

const SAME_AS_PROVIDER = `
  update event set provider_version = version, provider_seen_at = $2
  where id = any($1::uuid[]) and provider_content is not null`;

const WITHDRAW = `
  update event set status = 'cancelled', released = master_event_id is not null, version = version + 1, updated_at = $2
  where id = $1`;

const CANCEL = `
  update event set status = 'cancelled', version = version + 1, provider_version = version + 1, provider_seen_at = $2,
    updated_at = $2
  where id = any($1::uuid[])`;

const RELEASE = `
  update event set released = true, provider_id = null
  where id = any($1::uuid[]) and master_event_id is not null and status = 'cancelled'`;

/** An event that is new in the mirror, with the fields to store. */
export interface NewMirrorEvent {
  id: string;
  remote: RemoteEvent;
  fields: ProviderFields;
}

/** An event of the mirror, with the content that a sync pass read at its provider. */
export interface SeenEvent {
  id: string;
  remote: RemoteEvent;
}

async function readLocked(sql: Sql, locked: readonly { id: string }[]): Promise<MirrorEvent[]> {
  return locked.length > 0 ? sql.query<MirrorEvent>(LOCKED, [idsOf(locked)]) : [];
}

/**
 * The events with these provider ids, and the instances of these series; or all events of the
 * calendar. Their rows stay locked until the transaction ends.
 */
export async function lockGroups(
  sql: Sql,
  calendarId: string,
  providerIds: readonly string[],
): Promise<MirrorEvent[]> {
  const locked = await sql.query<{ id: string }>(IN_GROUPS, [calendarId, providerIds]);
  return readLocked(sql, locked);
}

/** Whether `lockDiverged` would find an event. */
export async function hasDiverged(sql: Sql, calendarId: string): Promise<boolean> {
  const [row] = await sql.query<{ diverged: boolean }>(HAS_DIVERGED, [calendarId]);
  return row?.diverged ?? false;
}

/**
 * Up to 100 events of a calendar that differ from the provider and have no open write. Their rows
 * stay locked until the transaction ends.
 */
export async function lockDiverged(sql: Sql, calendarId: string): Promise<MirrorEvent[]> {
  const locked = await sql.query<{ id: string }>(DIVERGED, [calendarId]);
  return (await readLocked(sql, locked)).filter(({ writing }) => !writing);
}

/** Which of the ids belong to our events that have no provider id yet. */
export async function eventsBeingCreated(
  sql: Sql,
  calendarId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql.query<{ id: string }>(COMING, [calendarId, ids]);
  return new Set(idsOf(rows));
}

/**
 * An event of an account, with the state in which the provider was last seen; `undefined` if the
 * event was deleted. Its row stays locked until the transaction ends.
 */
export async function lockMirrorEvent(
  sql: Sql,
  accountId: string,
  id: string,
): Promise<MirrorEvent | undefined> {
  const locked = await sql.query<{ id: string }>(BY_ID, [accountId, id]);
  return (await readLocked(sql, locked))[0];
}

/**
 * Changed instances that a change of their series cancelled here, and that the provider still has.
 * Their rows stay locked until the transaction ends.
 */
export function lockEndedInstances(
  sql: Sql,
  accountId: string,
  seriesId: string,
): Promise<MirrorEvent[]> {
  return sql.query<MirrorEvent>(ENDED_INSTANCES, [accountId, seriesId]);
}

function seenColumns(id: string, { organizer, ...remote }: RemoteEvent) {
  return {
    id,
    provider_id: remote.providerId,
    master_provider_id: remote.masterProviderId,
    ical_uid: remote.icalUid,
    provider_content: remote.content,
    organizer_email: organizer?.email ?? null,
    organizer_name: organizer?.name ?? null,
    original_start: remote.originalStartTime,
    sequence: remote.sequence,
    read_only: remote.readOnly ?? false,
    warnings: storableWarnings(remote.warnings),
  };
}

/**
 * @returns ids of the rows that were inserted; an event whose provider id already exists is
 *   skipped
 */
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

/**
 * Stores the content that a sync pass read at the provider, and marks the current version as the
 * provider's. Call it after `updateMirrored`.
 */
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

/**
 * Links changed instances to the rows of their series.
 * @returns ids of the newly linked instances that are not cancelled
 */
export async function tieInstances(
  sql: Sql,
  calendarId: string,
  masters: readonly string[],
): Promise<string[]> {
  if (masters.length === 0) return [];
  const tied = await sql.query<RowOf<Event, 'id' | 'status'>>(TIE_INSTANCES, [calendarId, masters]);
  return tied.flatMap(({ id, status }) => (status === 'cancelled' ? [] : [id]));
}

/** The fields that are restored after the provider refused a change. */
export type RestoredFields = ProviderFields & Pick<EventRecord, (typeof OWN_FIELDS)[number]>;

/**
 * Gives events back the state that their provider has. A cancelled instance that takes place again
 * is no longer `released`.
 */
export async function writeRestored(
  sql: Sql,
  events: readonly { id: string; fields: RestoredFields }[],
  at: Date,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ id, fields }) => ({ id, ...columnValues(fields, RESTORED_FIELDS) }));
  await sql.query(RESTORE, [JSON.stringify(rows), at]);
}

/** Marks the present version of events as the one that their provider has. */
export async function markAsProvider(sql: Sql, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length > 0) await sql.query(SAME_AS_PROVIDER, [ids, at]);
}

/**
 * Cancels an event that its provider has refused to create. For an instance, the rules of its
 * series decide again.
 */
export async function withdrawEvent(sql: Sql, id: string, at: Date): Promise<void> {
  await sql.query(WITHDRAW, [id, at]);
}

/** Cancels events that were deleted at the provider. */
export async function cancelMirrored(sql: Sql, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length > 0) await sql.query(CANCEL, [ids, at]);
}

/**
 * Releases cancelled instances that the provider does not list: their rows no longer count, and the
 * rules of their series decide again. Other events in `ids` stay as they are.
 */
export async function releaseInstances(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(RELEASE, [ids]);
}
