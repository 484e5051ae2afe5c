import { newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';

const NAME = 'Emailed events';
const CALENDAR = `select id from calendar where account_id = $1 and is_emailed`;
const ADD_CALENDAR = `
  insert into calendar (id, account_id, name, is_primary, read_only, is_emailed, metadata, created_at, updated_at)
  values ($2, $1, '${NAME}', false, true, true, '{}', $3, $3)
  on conflict (account_id) where is_emailed do nothing returning id`;

/** Returns the account's calendar of emailed events, and creates it on first use. */
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
  if (!other) throw new Error('The calendar of emailed events exists but could not be read');
  return { id: other.id, created: false };
}
