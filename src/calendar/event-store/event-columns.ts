import type { EventFields, EventRecord } from './event-record.ts';

/*
 * The one list of an event's fields. Statements that read, write and compare events are built from it: a new field takes a
 * line here, in `EventFields`, in the entity, and where it comes in and goes out (schema, mapper, `applyInput`).
 */

/** Fields that callers decide: each with its column and the type of that. */
const DECIDED = {
  title: 'title text',
  description: 'description text',
  location: 'location text',
  when: 'when_value jsonb',
  startsAt: 'starts_at timestamptz',
  endsAt: 'ends_at timestamptz',
  busy: 'busy boolean',
  visibility: 'visibility text',
  hideParticipants: 'hide_participants boolean',
  participants: 'participants jsonb',
  recurrence: 'recurrence jsonb',
  conferencing: 'conferencing jsonb',
  autocreate: 'autocreate jsonb',
  reminders: 'reminders jsonb',
  notifications: 'notifications jsonb',
  metadata: 'metadata jsonb',
  customerEventId: 'customer_event_id text',
  eventCollectionId: 'event_collection_id text',
  capacity: 'capacity int',
  roundRobinOrder: 'round_robin_order text[]',
} as const satisfies Record<keyof EventFields, string>;

/** All fields of a record. */
const COLUMNS = {
  id: 'id uuid',
  accountId: 'account_id uuid',
  calendarId: 'calendar_id uuid',
  icalUid: 'ical_uid text',
  messageId: 'message_id uuid',
  status: 'status text',
  readOnly: 'read_only boolean',
  masterEventId: 'master_event_id uuid',
  originalStart: 'original_start timestamptz',
  organizerEmail: 'organizer_email text',
  organizerName: 'organizer_name text',
  updatedAt: 'updated_at timestamptz',
  ...DECIDED,
} as const satisfies Record<keyof EventRecord, string>;

type Field = keyof EventRecord;

export const DECIDED_FIELDS = Object.keys(DECIDED) as (keyof EventFields)[];
export const RECORD_FIELDS = Object.keys(COLUMNS) as Field[];

/** What files of events show to others. */
export const SHOWN_FIELDS = [
  'title', 'description', 'location', 'when', 'busy', 'status', 'visibility', 'recurrence', 'conferencing',
] as const satisfies readonly Field[]; // prettier-ignore

/** What providers keep of an event, by the names of `EventContent`. */
export const CONTENT_FIELDS = [...SHOWN_FIELDS, 'participants', 'reminders'] as const;

/** What the mirror writes of an event. */
export const PROVIDER_FIELDS = [...CONTENT_FIELDS, 'startsAt', 'endsAt'] as const;

/** The part of an event that providers keep. */
export type ProviderFields = Pick<EventRecord, (typeof PROVIDER_FIELDS)[number]>;

/** Some fields of an event; what has no value is null. */
export function pickFields<F extends Field>(
  event: { [K in F]?: EventRecord[K] | null | undefined },
  fields: readonly F[],
): Pick<EventRecord, F> {
  return Object.fromEntries(fields.map((field) => [field, event[field] ?? null])) as Pick<
    EventRecord,
    F
  >;
}

const columnOf = (field: Field): string => COLUMNS[field].split(' ')[0]!;

/** For SELECT: columns of `event e`, called as the fields are. */
export const selected = (fields: readonly Field[]): string =>
  fields.map((field) => `e.${columnOf(field)} as "${field}"`).join(', ');

/** For INSERT: names of columns, of a table where one is given. */
export const columnNames = (fields: readonly Field[], table?: string): string =>
  fields.map((field) => (table === undefined ? '' : `${table}.`) + columnOf(field)).join(', ');

/** For `jsonb_to_recordset`: columns with their types. */
export const typedColumns = (fields: readonly Field[]): string =>
  fields.map((field) => COLUMNS[field]).join(', ');

/** For UPDATE: columns that are set to those of `x`. */
export const assignments = (fields: readonly Field[]): string =>
  fields.map((field) => `${columnOf(field)} = x.${columnOf(field)}`).join(', ');

/** An entry of what `jsonb_to_recordset` reads. */
export const columnValues = <F extends Field>(
  event: Pick<EventRecord, F>,
  fields: readonly F[],
): Record<string, unknown> =>
  Object.fromEntries(fields.map((field) => [columnOf(field), event[field]]));
