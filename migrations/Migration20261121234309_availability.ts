import { Migration } from '@mikro-orm/migrations';

export class Migration20261121234309_availability extends Migration {
  override name = 'Migration20261121234309_availability';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "event_long" on "event" ("calendar_id", "ends_at") where (ends_at - starts_at) > '7 days'::interval;`,
    );
    this.addSql(
      `create index "event_collection" on "event" ("account_id", "event_collection_id") where event_collection_id is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "event_long";`);
    this.addSql(`drop index "event_collection";`);
  }
}
