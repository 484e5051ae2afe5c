import { Migration } from '@mikro-orm/migrations';

/** What any worker goes on with after a failover, and whether one is possible. */
export class Migration20261128090000_failed_over extends Migration {
  override name = 'Migration20261128090000_failed_over';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "instance" add "stragglers_marked_at" timestamptz null, add "standby_seen_at" timestamptz null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "instance" drop column "stragglers_marked_at", drop column "standby_seen_at";`,
    );
  }
}
