import { Migration } from '@mikro-orm/migrations';

export class Migration20261121234151_instances extends Migration {
  override name = 'Migration20261121234151_instances';

  override up(): void | Promise<void> {
    this.addSql(`drop index "event_instance";`);
    this.addSql(`alter table "event" add "released" boolean not null default false;`);
    this.addSql(
      `create index "event_instances" on "event" ("master_event_id") where master_event_id is not null;`,
    );
    this.addSql(
      `create unique index "event_instance" on "event" ("master_event_id", "original_start") where master_event_id is not null and not released;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "event_instances";`);
    this.addSql(`drop index "event_instance";`);
    this.addSql(`alter table "event" drop column "released";`);
    this.addSql(
      `create index "event_instance" on "event" ("master_event_id", "original_start") where master_event_id IS NOT NULL;`,
    );
  }
}
