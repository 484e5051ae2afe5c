import { columnList } from '../../platform/database/statements/column-list.ts';
import type { EventFields, EventRecord } from './event-record.ts';

/*
 * The one list of an event's fields. Statements that read, write and compare events are built from
 * it. A new field needs a line here, in `EventFields`, in the entity, and where requests and
 * responses are converted (schema, mapper, `applyInput`).
 */

/** Fields that callers set, each with its column and the column's type. */
const DECIDED = {
  title: 'title text',
  description: 'description text',
  location: 'location text',
  when: 'when_value jsonb',
  startsAt: 'starts_at timestamptz',
  endsAt: 'ends_at timestamptz',
  busy: 'busy boolean',
  readOnly: 'read_only boolean',
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

/** All fields of a record, each with its column and the column's type. */
const COLUMNS = {
  id: 'id uuid',
  accountId: 'account_id uuid',
  calendarId: 'calendar_id uuid',
  icalUid: 'ical_uid text',
  messageId: 'message_id uuid',
  status: 'status text',
  masterEventId: 'master_event_id uuid',
  originalStart: 'original_start timestamptz',
  organizerEmail: 'organizer_email text',
  organizerName: 'organizer_name text',
  updatedAt: 'updated_at timestamptz',
  warnings: 'warnings text[]',
  ...DECIDED,
} as const satisfies Record<keyof EventRecord, string>;

type Field = keyof EventRecord;

const sql = columnList<Field>(COLUMNS);

export const DECIDED_FIELDS = Object.keys(DECIDED) as (keyof EventFields)[];
export const RECORD_FIELDS = Object.keys(COLUMNS) as Field[];

/** Fields that calendar files and invitations show to other people. */
export const SHOWN_FIELDS = [
  'title',
  'description',
  'location',
  'when',
  'busy',
  'status',
  'visibility',
  'recurrence',
  'conferencing',
] as const satisfies readonly Field[];

/** Fields that providers store, named as in `EventContent`. */
export const CONTENT_FIELDS = [...SHOWN_FIELDS, 'participants', 'reminders'] as const;

/** Fields that a sync pass writes. */
export const PROVIDER_FIELDS = [...CONTENT_FIELDS, 'startsAt', 'endsAt'] as const;

/**
 * Fields that a refused change sets back to their values from before. Providers store only the
 * participants, and those without phone numbers and comments. Metadata is not among them: it is the
 * application's own note.
 */
export const OWN_FIELDS = [
  'participants',
  'hideParticipants',
  'autocreate',
  'notifications',
  'customerEventId',
  'eventCollectionId',
  'capacity',
  'roundRobinOrder',
] as const satisfies readonly (keyof EventFields)[];

/** The part of an event that providers store, with its bounds in time. */
export type ProviderFields = Pick<EventRecord, (typeof PROVIDER_FIELDS)[number]>;

/** Some fields of an event; a field without a value is `null`. */
export function pickFields<F extends Field>(
  event: { [K in F]?: EventRecord[K] | null | undefined },
  fields: readonly F[],
): Pick<EventRecord, F> {
  return Object.fromEntries(fields.map((field) => [field, event[field] ?? null])) as Pick<
    EventRecord,
    F
  >;
}

export const { columnNames, typedColumns, assignments, columnValues } = sql;

/** Column list for SELECT from `event e`, with fields as column aliases. */
export const selected = (fields: readonly Field[]): string =>
  fields.map((field) => `e.${sql.columnOf(field)} as "${field}"`).join(', ');
