import type { INestApplicationContext } from '@nestjs/common';
import type { Lease, Outcome } from '../../src/platform/work/queue/dispatcher.ts';
import { Database } from '../../src/platform/database/sql.ts';
import type { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import type { SyncResult } from '../../src/sync/sync-results.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { EngineSteps } from './engine-steps.ts';

/**
 * Processes one row of `sync_job` as the engine does: claims, runs and settles it.
 * @returns `null` if another worker owns the row
 */
export async function syncAccount(
  app: INestApplicationContext,
  dispatcher: MailboxSyncDispatcher,
  accountId: string,
  lease: Partial<Lease> = {},
): Promise<Outcome<SyncResult> | null> {
  const database = app.get(Database);
  const scheduled = await database.query(`select 1 from sync_job where account_id = $1`, [
    accountId,
  ]);
  if (scheduled.length === 0) await scheduleSync(database, accountId);
  const steps = new EngineSteps(database, () => dispatcher);
  const [row] = await database.query<{ id: string }>(
    'select id from sync_job where account_id = $1',
    [accountId],
  );
  const job = await steps.claim(row?.id ?? '');
  const outcome = await steps.run(job, lease).catch(async (error: unknown) => {
    await steps.settle(job, null);
    throw error;
  });
  await steps.settle(job, outcome);
  return outcome;
}
