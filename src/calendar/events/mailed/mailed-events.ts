import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import {
  assignments,
  columnNames,
  columnValues,
  CONTENT_FIELDS,
  DECIDED_FIELDS,
  pickFields,
  PROVIDER_FIELDS,
  type ProviderFields,
  selected,
  typedColumns,
} from '../event-columns.ts';
import { type Participant, type StoredNotification, withAddress } from '../event-values.ts';

/* Statements for events that invitations in mail create, change or cancel. */

export interface MailedEvent {
  id: string;
  fields: ProviderFields;
  messageId: string | null;
  masterEventId: string | null;
  /** For an instance of a series: when it would have begun without a change. */
  originalStart: Date | null;
  /** What could not be read of the mail's calendar file. Default: keep what is stored. */
  warnings?: readonly string[];
}

/** An event of the account that a mail may refer to. */
export interface StoredEvent extends MailedEvent {
  calendarId: string;
  icalUid: string | null;
  /** True if the event is in the account's calendar of emailed events. */
  emailed: boolean;
  /** True if the message still exists. */
  messageKept: boolean;
  organizerEmail: string | null;
  organizerName: string | null;
  notifications: StoredNotification[];
  metadata: Record<string, string>;
  /** Zone of all-day events. */
  zone: string;
}

/** An instance of a series of the account that a mail changes on its own for the first time. */
export interface NewInstance extends StoredEvent {
  /** The instance as its series describes it. */
  described: ProviderFields;
}

export interface NewMailedEvent {
  uid: string;
  organizer: { email: string; name: string | null };
  event: MailedEvent;
}

/** Alarms in mail are the organizer's, so the account's reminders are not taken from them. */
const MAILED_FIELDS = PROVIDER_FIELDS.filter((field) => field !== 'reminders');

// Changes through the API lock the event first as well. Released instances are left out.
const EVENTS = `
  select e.id, e.calendar_id as "calendarId", e.ical_uid as "icalUid", c.is_emailed as emailed,
    e.message_id as "messageId", m.id is not null as "messageKept", e.master_event_id as "masterEventId",
    e.original_start as "originalStart", e.organizer_email as "organizerEmail",
    e.organizer_name as "organizerName", e.notifications, e.metadata,
    coalesce(c.timezone, 'UTC') as zone, ${selected(PROVIDER_FIELDS)}
  from event e join calendar c on c.id = e.calendar_id left join message m on m.id = e.message_id
  where e.account_id = $1 and (e.ical_uid = any($2::text[]) or e.id = any($3::uuid[])) and not e.released
  order by e.id for update of e`;

const INSERT = `
  insert into event (id, account_id, calendar_id, ical_uid, message_id, master_event_id, original_start,
    ${columnNames(MAILED_FIELDS)}, organizer_email, organizer_name, warnings, read_only, hide_participants, notifications, metadata,
    round_robin_order, version, created_at, updated_at)
  select x.id, $1, $2, x.ical_uid, x.message_id, x.master_event_id, x.original_start,
    ${columnNames(MAILED_FIELDS, 'x')}, x.organizer_email, x.organizer_name, coalesce(x.warnings, '{}'), true, false, '[]', '{}', '{}', 1, $4, $4
  from jsonb_to_recordset($3::jsonb) x(id uuid, ical_uid text, message_id uuid, master_event_id uuid,
    original_start timestamptz, ${typedColumns(MAILED_FIELDS)}, organizer_email text, organizer_name text, warnings text[])`;

const UPDATE = `
  update event e set ${assignments(MAILED_FIELDS)}, message_id = x.message_id, master_event_id = x.master_event_id,
    version = e.version + 1, updated_at = $2, warnings = coalesce(x.warnings, e.warnings),
    original_start = x.original_start
  from jsonb_to_recordset($1::jsonb) x(id uuid, message_id uuid, master_event_id uuid, ${typedColumns(MAILED_FIELDS)},
    warnings text[], original_start timestamptz)
  where e.id = x.id`;

const LINK = `
  update event e set message_id = x.message_id from unnest($1::uuid[], $2::uuid[]) x(id, message_id) where e.id = x.id`;

const REMOVE = `delete from event where id = any($1::uuid[])`;

const PARTICIPANTS = `
  update event set participants = $2, version = version + 1, updated_at = $3 where id = $1`;

function rowOf({ id, fields, ...event }: MailedEvent): Record<string, unknown> {
  const {
    messageId: message_id,
    masterEventId: master_event_id,
    originalStart: original_start,
  } = event;
  return {
    id,
    message_id,
    master_event_id,
    original_start,
    warnings: event.warnings ?? null,
    ...columnValues(fields, MAILED_FIELDS),
  };
}

type EventRow = Omit<StoredEvent, 'fields'> & ProviderFields;

/** Events with these UIDs or ids. Their rows stay locked until the transaction ends. */
export async function lockMailedEvents(
  sql: Sql,
  accountId: string,
  uids: readonly string[],
  ids: readonly string[],
): Promise<StoredEvent[]> {
  return (await sql.query<EventRow>(EVENTS, [accountId, uids, ids])).map((row) => ({
    ...row,
    fields: pickFields(row, PROVIDER_FIELDS),
  }));
}

export async function insertMailedEvents(
  sql: Sql,
  accountId: string,
  calendarId: string,
  events: readonly NewMailedEvent[],
  at: Date,
): Promise<void> {
  const rows = events.map(({ uid, organizer, event }) => ({
    ...rowOf(event),
    ical_uid: uid,
    organizer_email: organizer.email,
    organizer_name: organizer.name,
  }));
  await sql.query(INSERT, [accountId, calendarId, JSON.stringify(rows), at]);
}

export async function updateMailedEvents(
  sql: Sql,
  events: readonly MailedEvent[],
  at: Date,
): Promise<void> {
  if (events.length > 0) await sql.query(UPDATE, [JSON.stringify(events.map(rowOf)), at]);
}

/** Stores for each event the message that invited the account to it. */
export async function linkEvents(sql: Sql, links: readonly { id: string; messageId: string }[]) {
  if (links.length > 0)
    await sql.query(LINK, [idsOf(links), links.map(({ messageId }) => messageId)]);
}

export async function removeEvents(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(REMOVE, [ids]);
}

export async function writeParticipants(
  sql: Sql,
  eventId: string,
  participants: readonly Participant[],
  at: Date,
): Promise<void> {
  await sql.query(PARTICIPANTS, [eventId, JSON.stringify(participants), at]);
}

/** Fields that a new instance takes over from the row of its series. */
const OF_SERIES = DECIDED_FIELDS.filter(
  (field) => field !== 'notifications' && !PROVIDER_FIELDS.some((one) => one === field),
);

const DETACH = `
  insert into event (id, account_id, calendar_id, ical_uid, sequence, master_event_id, master_provider_id, original_start,
    provider_content, organizer_email, organizer_name, notifications, version, created_at, updated_at,
    ${columnNames(OF_SERIES)}, ${columnNames(PROVIDER_FIELDS)})
  select x.id, s.account_id, s.calendar_id, s.ical_uid, s.sequence, s.id, s.provider_id, x.original_start,
    x.provider_content || jsonb_build_object('hide_participants', s.hide_participants), s.organizer_email, s.organizer_name,
    '[]', 1, $3, $3, ${columnNames(OF_SERIES, 's')}, ${columnNames(PROVIDER_FIELDS, 'x')}
  from jsonb_to_recordset($2::jsonb) x(id uuid, master_event_id uuid, original_start timestamptz, provider_content jsonb,
    ${typedColumns(PROVIDER_FIELDS)})
    join event s on s.id = x.master_event_id and s.account_id = $1`;

/**
 * Stores instances that have no row yet, as `createInstance` does. The caller has locked their
 * series, and has read afterwards that the instances have no rows.
 */
export async function insertInstances(
  sql: Sql,
  accountId: string,
  instances: readonly NewInstance[],
  at: Date,
): Promise<void> {
  if (instances.length === 0) return;
  const rows = instances.map(({ id, fields, described, masterEventId, originalStart }) => ({
    id,
    master_event_id: masterEventId,
    original_start: originalStart,
    provider_content: {
      ...pickFields(described, CONTENT_FIELDS),
      participants: withAddress(described.participants),
    },
    ...columnValues(fields, PROVIDER_FIELDS),
  }));
  await sql.query(DETACH, [accountId, JSON.stringify(rows), at]);
}

const INSTANCE = `
  select id from event where account_id = $1 and master_event_id = $2 and original_start = $3`;

/**
 * Id of the row of an instance that was changed on its own; `undefined` if its series describes it.
 */
export async function findInstance(
  sql: Sql,
  accountId: string,
  seriesId: string,
  originalStart: Date | null,
): Promise<string | undefined> {
  const [row] = await sql.query<{ id: string }>(INSTANCE, [accountId, seriesId, originalStart]);
  return row?.id;
}
