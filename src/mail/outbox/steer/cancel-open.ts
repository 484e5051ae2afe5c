import { type Database, idsOf } from '../../../platform/database/sql.ts';
import { transitionJobs } from '../../../job-statuses/jobs.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

// A row claimed by a live worker is left alone, because its effect cannot be undone. All other
// claims belong to workers of the installation this database was copied from.
const TAKE = `
  with picked as (
    select j.id from send_job j
    where j.id > $1 and ($2::timestamptz is null or j.due_at <= $2)
      and (j.state = ${ROW_WAITING} or not exists (
        select 1 from worker w where w.id = j.worker_id and w.seen_at > now() - interval '10 s'))
    order by j.id limit $3 for update skip locked)
  delete from send_job j using picked where j.id = picked.id returning j.id`;

const BATCH = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Cancels open messages of all accounts and notifies their subscribers, one transaction per batch.
 * For operators. Messages claimed by a live worker are left alone.
 * @param reason shown to users
 * @param dueBefore cancels only messages that were due by then; `null` for all
 * @returns number of cancelled messages
 */
export async function cancelOpenMessages(
  database: Database,
  reason: string,
  dueBefore: Date | null,
  at: Date,
): Promise<number> {
  let cancelled = 0;
  for (let last = FIRST_ID; ;) {
    const ids = await database.transaction(async (sql) => {
      const rows = await sql.query<{ id: string }>(TAKE, [last, dueBefore, BATCH]);
      const taken = idsOf(rows).sort();
      const moved = await transitionJobs(
        sql,
        taken.map((id) => ({ id, to: 'cancelled', reason })),
        at,
      );
      cancelled += moved.length;
      return taken;
    });
    if (ids.length < BATCH) return cancelled;
    last = ids.at(-1) ?? last;
  }
}
