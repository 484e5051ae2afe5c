import { Migration } from '@mikro-orm/migrations';

/*
 * Room for the next versions of a row in its own page, so that claims and moves need not write every index (HOT); and
 * queues, whose rows come and go by the million, are cleaned by what has died and not by a share of what waits.
 */

const QUEUES = ['send_job', 'provider_job', 'hook_job', 'reminder_job', 'sync_job'];
const QUEUE_SETTINGS = {
  fillfactor: '50',
  autovacuum_vacuum_scale_factor: '0',
  autovacuum_vacuum_threshold: '5000',
  autovacuum_vacuum_cost_delay: '0',
  autovacuum_analyze_scale_factor: '0',
  autovacuum_analyze_threshold: '50000',
};
/** A few rows that are written all the time. */
const SMALL = ['worker', 'account_gate'];
const SMALL_SETTINGS = { fillfactor: '50' };
const MOVED_SETTINGS = { fillfactor: '80' };

const TABLES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ...QUEUES.map((table) => [table, QUEUE_SETTINGS] as const),
  ...SMALL.map((table) => [table, SMALL_SETTINGS] as const),
  ['job_status', MOVED_SETTINGS],
];

export class Migration20261121143500_storage_parameters extends Migration {
  override name = 'Migration20261121143500_storage_parameters';

  override up(): void | Promise<void> {
    for (const [table, settings] of TABLES) {
      const list = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
      this.addSql(`alter table "${table}" set (${list.join(', ')});`);
    }
  }

  override down(): void | Promise<void> {
    for (const [table, settings] of TABLES) {
      this.addSql(`alter table "${table}" reset (${Object.keys(settings).join(', ')});`);
    }
  }
}
