import { Migration } from '@mikro-orm/migrations';

/** Events are dated when they are stored, not when their transaction began (ADR 0156). */
export class Migration20261128190000_times_of_events extends Migration {
  override name = 'Migration20261128190000_times_of_events';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "webhook_event" alter column "created_at" set default clock_timestamp();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "webhook_event" alter column "created_at" set default now();`);
  }
}
