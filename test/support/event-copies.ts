import { randomUUID } from 'node:crypto';
import type { SqlPool } from '../../src/platform/database/sql.ts';

/** The values in which a copy of an event differs from the original. */
export interface EventCopy {
  id: string;
  accountId: string;
  calendarId: string;
  /** Start of the event, and due time of all its reminders, in milliseconds since 1970. */
  startsAt: number;
  dueAt: number;
  /**
   * Pairs of a text in the original and its replacement, anywhere in the event, its reminders and
   * their content.
   */
  texts: readonly (readonly [string, string])[];
}

const TABLES = ['event', 'reminder_content', 'reminder', 'reminder_job'] as const;
type Table = (typeof TABLES)[number];
type Row = Record<string, unknown>;

const BATCH = 200;

/**
 * Copies an event that the API has stored, with its reminders, row by row. Thousands of requests
 * would take longer than the test. The copies have never been at the provider.
 */
export async function copyEvent(
  sql: SqlPool,
  eventId: string,
  copies: readonly EventCopy[],
): Promise<void> {
  const rowsOf = async (table: Table, where: string) =>
    (
      await sql.query<{ row: Row }>(`select to_jsonb(t) as row from ${table} t where ${where}`, [
        eventId,
      ])
    ).map(({ row }) => row);
  const original: Record<Table, Row[]> = {
    event: await rowsOf('event', 'id = $1'),
    reminder_content: await rowsOf('reminder_content', 'event_id = $1'),
    reminder: await rowsOf('reminder', 'event_id = $1'),
    reminder_job: await rowsOf(
      'reminder_job',
      'id in (select id from reminder where event_id = $1)',
    ),
  };
  for (let from = 0; from < copies.length; from += BATCH) {
    const batch = copies.slice(from, from + BATCH).map((copy) => rowsOfCopy(original, copy));
    await sql.transaction(async (transaction) => {
      for (const table of TABLES) {
        await transaction.query(
          `insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
          [JSON.stringify(batch.flatMap((rows) => rows[table]))],
        );
      }
    });
  }
}

function rowsOfCopy(original: Record<Table, Row[]>, copy: EventCopy): Record<Table, Row[]> {
  const [event = {}] = original.event;
  const replaced: (readonly [string, string])[] = [
    ...copy.texts,
    [String(event['id']), copy.id],
    [String(event['account_id']), copy.accountId],
    [String(event['calendar_id']), copy.calendarId],
    ...original.reminder.map(({ id }) => [String(id), randomUUID()] as const),
  ];
  const startsAt = new Date(copy.startsAt).toISOString();
  const dueAt = new Date(copy.dueAt).toISOString();
  const own: Record<Table, Row> = {
    event: {
      when_value: { object: 'time', time: copy.startsAt / 1000 },
      starts_at: startsAt,
      ends_at: startsAt,
      provider_id: null,
      ical_uid: null,
      provider_content: null,
    },
    reminder_content: {},
    reminder: { due_at: dueAt, expires_at: startsAt },
    reminder_job: { run_at: dueAt, due_at: dueAt },
  };
  const copied = (table: Table) =>
    (
      JSON.parse(
        replaced.reduce(
          (text, [ours, theirs]) => text.replaceAll(ours, theirs),
          JSON.stringify(original[table]),
        ),
      ) as Row[]
    ).map((row) => ({ ...row, ...own[table] }));
  return {
    event: copied('event'),
    reminder_content: copied('reminder_content'),
    reminder: copied('reminder'),
    reminder_job: copied('reminder_job'),
  };
}
