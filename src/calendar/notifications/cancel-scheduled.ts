import type { Database } from '../../platform/database/sql.ts';
import { moveReminders } from './reminder-moves.ts';

const PICK = `
  select id from reminder
  where id > $1 and status = 'scheduled' and ($2::timestamptz is null or due_at <= $2)
  order by id limit $3`;

const BATCH = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Cancels reminders of all accounts that are still to be sent, a transaction per batch; for operators.
 * @param dueBefore only those whose time had come by then; null: all
 * @returns how many
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
      moveReminders(
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
