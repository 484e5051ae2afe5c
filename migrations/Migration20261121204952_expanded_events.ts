import { Migration } from '@mikro-orm/migrations';

export class Migration20261121204952_expanded_events extends Migration {
  override name = 'Migration20261121204952_expanded_events';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "event_series" on "event" ("account_id", "starts_at") where recurrence is not null;`,
    );
    this.addSql(
      `create index "event_instance" on "event" ("master_event_id", "original_start") where master_event_id is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "event_series";`);
    this.addSql(`drop index "event_instance";`);
  }
}
