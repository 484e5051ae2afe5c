import { Migration } from '@mikro-orm/migrations';

export class Migration20261121174803_events_of_providers extends Migration {
  override name = 'Migration20261121174803_events_of_providers';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "calendar" add "event_cursor" text null, add "events_since" timestamptz null;`,
    );

    this.addSql(
      `alter table "event" add "master_provider_id" text null, add "master_event_id" uuid null, add "original_start" timestamptz null, add "provider_content" jsonb null, add "provider_version" int null, add "provider_seen_at" timestamptz null;`,
    );

    this.addSql(`alter table "sync_job" add "calendars_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "calendar" drop column "event_cursor", drop column "events_since";`);

    this.addSql(
      `alter table "event" drop column "master_provider_id", drop column "master_event_id", drop column "original_start", drop column "provider_content", drop column "provider_version", drop column "provider_seen_at";`,
    );

    this.addSql(`alter table "sync_job" drop column "calendars_at";`);
  }
}
