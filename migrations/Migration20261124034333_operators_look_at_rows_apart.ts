import { Migration } from '@mikro-orm/migrations';

export class Migration20261124034333_operators_look_at_rows_apart extends Migration {
  override name = 'Migration20261124034333_operators_look_at_rows_apart';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "send_job_apart" on "send_job" ("account_id") where held or crashes > 0;`,
    );

    this.addSql(
      `create index "sync_job_failing" on "sync_job" ("account_id") where failures > 0 and well_since is null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "send_job_apart";`);

    this.addSql(`drop index "sync_job_failing";`);
  }
}
