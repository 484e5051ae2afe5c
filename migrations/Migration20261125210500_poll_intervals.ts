import { Migration } from '@mikro-orm/migrations';

export class Migration20261125210500_poll_intervals extends Migration {
  override name = 'Migration20261125210500_poll_intervals';

  override up(): void | Promise<void> {
    this.addSql(`alter table "sync_job" add "active_at" timestamptz not null default now();`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "sync_job" drop column "active_at";`);
  }
}
