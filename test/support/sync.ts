import type { INestApplicationContext } from '@nestjs/common';
import type { Lease, Outcome } from '../../src/platform/work/dispatcher.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { type MailboxSyncDispatcher, type SyncResult } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';

/** A lease that holds until it is told otherwise. */
export function fakeLease(overrides: Partial<Lease> = {}): Lease {
  return {
    handOff: () => Promise.resolve(true),
    trusted: () => true,
    stopping: () => false,
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** Does by hand what the engine does with one row of `sync_job`: claim, run, settle. @returns null: not ours any more */
export async function syncAccount(
  app: INestApplicationContext,
  dispatcher: MailboxSyncDispatcher,
  accountId: string,
  lease: Lease = fakeLease(),
): Promise<Outcome<SyncResult> | null> {
  const database = app.get(Database);
  const scheduled = await database.query(`select 1 from sync_job where account_id = $1`, [accountId]);
  if (scheduled.length === 0) await scheduleSync(database, accountId);
  const [claimed] = await database.query<{ id: string; fence: number; dueAt: Date }>(
    `update sync_job set state = 1, fence = fence + 1 where account_id = $1 returning id, fence, due_at as "dueAt"`,
    [accountId],
  );
  if (!claimed) throw new Error('no row to claim');
  const job = { ...claimed, attempt: 1, ambiguous: false, gateId: accountId, gateFailures: 0 };
  const outcome = await dispatcher.run(job, lease);
  if (!outcome) return null;
  const { next } = outcome;
  await database.transaction(async (sql) => {
    const rows = await sql.query(
      `update sync_job set state = 0, run_at = $3 where id = $1 and fence = $2 and state = 1 returning 1`,
      [job.id, job.fence, next.kind === 'again' ? next.at : new Date()],
    );
    return rows.length > 0 ? dispatcher.record(sql, [{ job, ...outcome }]) : [];
  });
  return outcome;
}
