import { newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import type { CalendarContent } from '../../providers/port/connector.ts';

const ADD = `
  insert into calendar (id, account_id, provider_id, name, description, location, timezone, is_primary, read_only,
    metadata, created_at, updated_at)
  values ($1::uuid, $2, $1::uuid::text, $3, $4, $5, $6, true, false, '{}', $7, $7)`;

/**
 * Gives a new account its primary calendar, in the transaction that connects it. As what a first look at a provider finds, it
 * is logged, but subscribers are not told.
 */
export async function addFirstCalendar(
  sql: Sql,
  { applicationId, accountId }: { applicationId: string; accountId: string },
  { name, description, location, timezone }: CalendarContent,
  at: Date,
): Promise<void> {
  const id = newId();
  await sql.query(ADD, [id, accountId, name, description, location, timezone, at]);
  await recordChanges(sql, [
    { applicationId, accountId, object: 'calendar', objectId: id, event: 'create', at },
  ]);
}
