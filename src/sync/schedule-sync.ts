import type { Sql } from '../database/sql.ts';

const SCHEDULE = `
  insert into sync_job (id, account_id, run_at, due_at) values ($1, $1, now(), now())
  on conflict (account_id) do update set run_at = least(sync_job.run_at, now()), again = true, failures = 0`;

/**
 * Has the mailbox of an account mirrored from now on, or looked at again at once when it already is (after a new
 * authentication). In the caller's transaction; wake `sync` after the commit. The row goes with its grant.
 */
export async function scheduleSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(SCHEDULE, [accountId]);
}
