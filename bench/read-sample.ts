import type pg from 'pg';
import type { Sql } from '../src/platform/database/sql.ts';
import { seedCalendars } from './calendars-sample.ts';
import { seedLists } from './lists-sample.ts';
import { type BenchAccount, seedMessages } from './seed.ts';

/** About 900 events for each account. */
const CALENDARS = { singles: 93, monthsBefore: 6, monthsAfter: 3, series: 9, ended: 30 } as const;
const JOBS = 200;
const HOUR_MS = 3_600_000;

/**
 * Writes what the row `read` lists: for each account a mailbox of `messages` messages in 20
 * folders, a calendar, and 200 messages that wait to be sent.
 */
export async function seedReading(
  client: pg.Client,
  accounts: readonly BenchAccount[],
  messages: number,
): Promise<void> {
  const sql: Sql = {
    query: async <R extends object>(text: string, values: readonly unknown[] = []) =>
      (await client.query<R>(text, [...values])).rows,
  };
  for (const { id } of accounts) await seedLists(sql, id, messages, false);
  await seedCalendars(
    client,
    accounts.map(({ id }) => id),
    CALENDARS,
  );
  const dueMs = Array.from(
    { length: accounts.length * JOBS },
    (_, number) => Date.now() + HOUR_MS + number,
  );
  await seedMessages(client, { tag: 'read', accounts, dueMs });
}
