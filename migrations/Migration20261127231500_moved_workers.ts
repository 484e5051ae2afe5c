import { Migration } from '@mikro-orm/migrations';

/** When the process of a worker registered again after a failover of the database. */
export class Migration20261127231500_moved_workers extends Migration {
  override name = 'Migration20261127231500_moved_workers';

  override up(): void | Promise<void> {
    this.addSql(`alter table "worker" add "moved_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "worker" drop column "moved_at";`);
  }
}
