import { Migration } from '@mikro-orm/migrations';

export class Migration20261121235354_conferencing extends Migration {
  override name = 'Migration20261121235354_conferencing';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "conferencing_service" ("id" uuid not null, "application_id" uuid not null, "provider" text not null, "kind" text not null, "settings_sealed" text not null, "last_error" text null, "last_error_at" timestamptz null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "conferencing_service" add constraint "conferencing_service_provider" unique ("application_id", "provider");`,
    );

    this.addSql(
      `create table "event_meeting" ("id" uuid not null, "account_id" uuid not null, "event_id" uuid not null, "provider" text not null, "kind" text not null, "key" text not null, "asked_at" timestamptz not null, "remote_id" text null, "details" jsonb null, "written" jsonb null, "event_version" int null, "released" boolean not null default false, "due_at" timestamptz null, "attempts" smallint not null default 0, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "event_meeting_due" on "event_meeting" ("due_at") where due_at is not null;`,
    );
    this.addSql(`create index "event_meeting_account" on "event_meeting" ("account_id");`);
    this.addSql(
      `create unique index "event_meeting_event" on "event_meeting" ("event_id") where not released;`,
    );

    this.addSql(`alter table "event" add "autocreate" jsonb null;`);

    this.addSql(
      `alter table "conferencing_service" add constraint "conferencing_service_application_id_foreign" foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "event_meeting" add constraint "event_meeting_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "conferencing_service" cascade;`);
    this.addSql(`drop table if exists "event_meeting" cascade;`);

    this.addSql(`alter table "event" drop column "autocreate";`);
  }
}
