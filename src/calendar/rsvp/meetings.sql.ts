import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { Participant, StoredNotification } from '../event-store/event-values.ts';
import type { ProviderFields } from '../event-store/event-columns.ts';
import type { MeetingPart } from './meeting.ts';
import type { SeenReplies } from '../../formats/ical/revisions.ts';

/** What mails have said about the meetings of an account. */
export const MEETINGS_OF_ACCOUNT: AccountListener = {
  mirrored: ['delete from meeting_state where account_id = $1'],
};

/** An event of the account that mails may be about. */
export interface StoredEvent {
  id: string;
  calendarId: string;
  icalUid: string | null;
  /** In the calendar of mailed events. */
  emailed: boolean;
  fields: ProviderFields;
  messageId: string | null;
  /** The message is still there. */
  messageKept: boolean;
  masterEventId: string | null;
  originalStart: Date | null;
  organizerEmail: string | null;
  organizerName: string | null;
  notifications: StoredNotification[];
  metadata: Record<string, string>;
}

/** A row of `MeetingState`. */
export interface StoredState {
  key: string;
  instance: string;
  eventId: string | null;
  sender: string | null;
  trusted: boolean;
  sequence: number;
  stamp: number | null;
  cancelled: boolean;
  replies: SeenReplies;
}

// Changes through the API hold the event first as well. Instances that are over stand for nothing.
const EVENTS = `
  select e.id, e.calendar_id as "calendarId", e.ical_uid as "icalUid", c.is_emailed as emailed,
    e.message_id as "messageId", m.id is not null as "messageKept", e.master_event_id as "masterEventId",
    e.original_start as "originalStart", e.organizer_email as "organizerEmail",
    e.organizer_name as "organizerName", e.notifications, e.metadata, e.title,
    e.description, e.location, e.when_value as "when", e.starts_at as "startsAt", e.ends_at as "endsAt", e.busy, e.status,
    e.visibility, e.participants, e.recurrence, e.conferencing, e.reminders
  from event e join calendar c on c.id = e.calendar_id left join message m on m.id = e.message_id
  where e.account_id = $1 and (e.ical_uid = any($2::text[]) or e.id = any($3::uuid[])) and not e.released
  order by e.id for update of e`;

const STATES = `
  select key, instance, event_id as "eventId", sender, trusted, sequence, stamp, cancelled, replies
  from meeting_state where account_id = $1 and key = any($2::text[]) order by key, instance for update`;

const NAME = 'Emailed events';
const CALENDAR = `select id from calendar where account_id = $1 and is_emailed`;
const ADD_CALENDAR = `
  insert into calendar (id, account_id, name, is_primary, read_only, is_emailed, metadata, created_at, updated_at)
  values ($2, $1, '${NAME}', false, true, true, '{}', $3, $3)
  on conflict (account_id) where is_emailed do nothing returning id`;

const INSERT = `
  insert into event (id, account_id, calendar_id, ical_uid, message_id, master_event_id, original_start, title, description,
    location, when_value, starts_at, ends_at, busy, read_only, status, visibility, hide_participants, participants,
    organizer_email, organizer_name, recurrence, conferencing, reminders, notifications, metadata, round_robin_order,
    version, created_at, updated_at)
  select x.id, $1, $2, x.ical_uid, x.message_id, x.master_event_id, x.original_start, x.title, x.description, x.location,
    x.when_value, x.starts_at, x.ends_at, x.busy, true, x.status, x.visibility, false, x.participants, x.organizer_email,
    x.organizer_name, x.recurrence, x.conferencing, null, '[]', '{}', '{}', 1, $4, $4
  from jsonb_to_recordset($3::jsonb) x(id uuid, ical_uid text, message_id uuid, master_event_id uuid,
    original_start timestamptz, title text, description text, location text, when_value jsonb, starts_at timestamptz,
    ends_at timestamptz, busy boolean, status text, visibility text, participants jsonb, organizer_email text,
    organizer_name text, recurrence jsonb, conferencing jsonb)`;

const UPDATE = `
  update event e set title = x.title, description = x.description, location = x.location, when_value = x.when_value,
    starts_at = x.starts_at, ends_at = x.ends_at, busy = x.busy, status = x.status, visibility = x.visibility,
    participants = x.participants, recurrence = x.recurrence, conferencing = x.conferencing, message_id = x.message_id,
    master_event_id = x.master_event_id, version = e.version + 1, updated_at = $2
  from jsonb_to_recordset($1::jsonb) x(id uuid, message_id uuid, master_event_id uuid, title text, description text,
    location text, when_value jsonb, starts_at timestamptz, ends_at timestamptz, busy boolean, status text,
    visibility text, participants jsonb, recurrence jsonb, conferencing jsonb)
  where e.id = x.id`;

const LINK = `
  update event e set message_id = x.message_id from unnest($1::uuid[], $2::uuid[]) x(id, message_id) where e.id = x.id`;

const REMOVE = `delete from event where id = any($1::uuid[])`;

const PARTICIPANTS = `
  update event set participants = $2, version = version + 1, updated_at = $3 where id = $1`;

const STORE = `
  insert into meeting_state (account_id, key, instance, event_id, sender, trusted, sequence, stamp, cancelled, replies)
  select $1, x.key, x.instance, x.event_id, x.sender, x.trusted, x.sequence, x.stamp, x.cancelled, x.replies
  from jsonb_to_recordset($2::jsonb) x(key text, instance text, event_id uuid, sender text, trusted boolean, sequence int,
    stamp double precision, cancelled boolean, replies jsonb)
  on conflict (account_id, key, instance) do update set event_id = excluded.event_id, sender = excluded.sender,
    trusted = excluded.trusted, sequence = excluded.sequence, stamp = excluded.stamp, cancelled = excluded.cancelled,
    replies = excluded.replies`;

/** What a new event of the calendar of mailed events is, besides its part. */
export interface NewMailedEvent {
  uid: string;
  organizer: { email: string; name: string | null };
  part: MeetingPart;
}

function columnsOf({ event }: MeetingPart): Record<string, unknown> {
  const fields = event?.fields;
  return {
    id: event?.id, message_id: event?.messageId, master_event_id: event?.masterEventId,
    original_start: event?.originalStart, title: fields?.title, description: fields?.description,
    location: fields?.location, when_value: fields?.when, starts_at: fields?.startsAt, ends_at: fields?.endsAt,
    busy: fields?.busy, status: fields?.status, visibility: fields?.visibility, participants: fields?.participants,
    recurrence: fields?.recurrence, conferencing: fields?.conferencing,
  }; // prettier-ignore
}

type EventRow = Omit<StoredEvent, 'fields'> & ProviderFields;

function storedEvent(row: EventRow): StoredEvent {
  const { id, calendarId, icalUid, emailed, messageId, messageKept, masterEventId, originalStart } = row;
  const { organizerEmail, organizerName, notifications, metadata, ...rest } = row;
  const { title, description, location, when, startsAt, endsAt, busy, status, visibility } = rest;
  const { participants, recurrence, conferencing, reminders } = rest;
  return {
    id, calendarId, icalUid, emailed, messageId, messageKept, masterEventId, originalStart, organizerEmail, organizerName, notifications,
    metadata,
    fields: {
      title, description, location, when, startsAt, endsAt, busy, status, visibility, participants, recurrence,
      conferencing, reminders,
    },
  }; // prettier-ignore
}

/** Events with these UIDs or ids, held until the transaction ends. */
export async function holdEvents(
  sql: Sql,
  accountId: string,
  uids: readonly string[],
  ids: readonly string[],
): Promise<StoredEvent[]> {
  return (await sql.query<EventRow>(EVENTS, [accountId, uids, ids])).map(storedEvent);
}

/** What mails have said of these meetings; held. After their events. */
export function holdStates(sql: Sql, accountId: string, keys: readonly string[]): Promise<StoredState[]> {
  return sql.query<StoredState>(STATES, [accountId, keys]);
}

/** The account's calendar of mailed events; it is made when it is needed first. */
export async function emailedCalendar(
  sql: Sql,
  accountId: string,
  at: Date,
): Promise<{ id: string; created: boolean }> {
  const [known] = await sql.query<{ id: string }>(CALENDAR, [accountId]);
  if (known) return { id: known.id, created: false };
  const [added] = await sql.query<{ id: string }>(ADD_CALENDAR, [accountId, newId(), at]);
  if (added) return { id: added.id, created: true };
  const [other] = await sql.query<{ id: string }>(CALENDAR, [accountId]);
  if (!other) throw new Error('a calendar that is there cannot be read');
  return { id: other.id, created: false };
}

export async function insertEvents(
  sql: Sql,
  accountId: string,
  calendarId: string,
  events: readonly NewMailedEvent[],
  at: Date,
): Promise<void> {
  const rows = events.map(({ uid, organizer, part }) => ({
    ...columnsOf(part),
    ical_uid: uid,
    organizer_email: organizer.email,
    organizer_name: organizer.name,
  }));
  await sql.query(INSERT, [accountId, calendarId, JSON.stringify(rows), at]);
}

export async function updateEvents(sql: Sql, parts: readonly MeetingPart[], at: Date): Promise<void> {
  if (parts.length > 0) await sql.query(UPDATE, [JSON.stringify(parts.map(columnsOf)), at]);
}

/** Says which mails events were invited to by. */
export async function linkEvents(
  sql: Sql,
  links: readonly { id: string; messageId: string }[],
): Promise<void> {
  if (links.length > 0)
    await sql.query(LINK, [links.map(({ id }) => id), links.map(({ messageId }) => messageId)]);
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

const INSTANCE = `
  select id from event where account_id = $1 and master_event_id = $2 and original_start = $3`;

/** Id of the event that an instance of a series has become; undefined: it is as the series says. */
export async function findInstance(
  sql: Sql,
  accountId: string,
  seriesId: string,
  originalStart: Date | null,
): Promise<string | undefined> {
  const [row] = await sql.query<{ id: string }>(INSTANCE, [accountId, seriesId, originalStart]);
  return row?.id;
}

const FAILED = `
  select 1 from meeting_state s join job_status j on j.id = s.reply_job_id
  where s.event_id = $1 and s.account_id = $2 and j.status in ('failed', 'cancelled')`;

/** Whether the account's last answer has not come to the organizer. */
export async function hasFailed(sql: Sql, accountId: string, eventId: string): Promise<boolean> {
  return (await sql.query(FAILED, [eventId, accountId])).length > 0;
}

const NOTE_REPLY = `
  update meeting_state set reply_job_id = $3 where event_id = $1 and account_id = $2`;

/** Says which job carries the account's answer to the organizer. */
export async function noteReply(sql: Sql, accountId: string, eventId: string, jobId: string): Promise<void> {
  await sql.query(NOTE_REPLY, [eventId, accountId, jobId]);
}

export async function storeStates(sql: Sql, accountId: string, rows: readonly StoredState[]): Promise<void> {
  if (rows.length === 0) return;
  const json = rows.map(({ eventId, ...row }) => ({ ...row, event_id: eventId }));
  await sql.query(STORE, [accountId, JSON.stringify(json)]);
}
