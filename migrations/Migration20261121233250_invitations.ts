import { Migration } from '@mikro-orm/migrations';

export class Migration20261121233250_invitations extends Migration {
  override name = 'Migration20261121233250_invitations';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "calendar_feed" ("id" uuid not null, "account_id" uuid not null, "calendar_id" uuid not null, "hash" bytea not null, "created_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "calendar_feed_account" on "calendar_feed" ("account_id");`);
    this.addSql(
      `alter table "calendar_feed" add constraint "calendar_feed_calendar" unique ("calendar_id");`,
    );
    this.addSql(`alter table "calendar_feed" add constraint "calendar_feed_hash" unique ("hash");`);

    this.addSql(
      `create table "invitation" ("id" uuid not null, "account_id" uuid not null, "event_id" uuid not null, "write_id" uuid not null, "kind" text not null, "sequence" int not null, "recipients" jsonb not null, "content" jsonb null, "released_at" timestamptz null, "created_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "invitation_event" on "invitation" ("event_id", "id");`);
    this.addSql(`create index "invitation_account" on "invitation" ("account_id");`);

    this.addSql(`alter table "event" add "sequence" int not null default 0;`);

    this.addSql(
      `alter table "calendar_feed" add constraint "calendar_feed_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "calendar_feed" add constraint "calendar_feed_calendar_id_foreign" foreign key ("calendar_id") references "calendar" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "invitation" add constraint "invitation_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_event_id_foreign" foreign key ("event_id") references "event" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_kind_check" check ("kind" in ('invite', 'update', 'cancel'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "calendar_feed" cascade;`);
    this.addSql(`drop table if exists "invitation" cascade;`);

    this.addSql(`alter table "event" drop column "sequence";`);
  }
}
