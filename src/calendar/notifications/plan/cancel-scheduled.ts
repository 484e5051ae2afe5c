import type { Database } from '../../../platform/database/sql.ts';
import { transitionReminders } from '../send/reminder-transitions.ts';

const PICK = `
  select id from reminder
  where id > $1 and status = 'scheduled' and ($2::timestamptz is null or due_at <= $2)
  order by id limit $3`;

const BATCH = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Cancels scheduled reminders of all accounts, in one transaction per batch. For operators.
 * @param dueBefore cancels only reminders due at or before this time; `null` cancels all
 * @returns number of cancelled reminders
 */
export async function cancelScheduledReminders(
  database: Database,
  reason: string,
  dueBefore: Date | null,
  at: Date,
): Promise<number> {
  let cancelled = 0;
  for (let last = FIRST_ID; ;) {
    const rows = await database.query<{ id: string }>(PICK, [last, dueBefore, BATCH]);
    const moved = await database.transaction((sql) =>
      transitionReminders(
        sql,
        rows.map(({ id }) => ({ id, to: 'cancelled', reason })),
        at,
      ),
    );
    cancelled += moved.length;
    const end = rows.at(-1);
    if (!end || rows.length < BATCH) return cancelled;
    last = end.id;
  }
}
