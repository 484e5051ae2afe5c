import { Migration } from '@mikro-orm/migrations';

export class Migration20261121202638_tracked_messages extends Migration {
  override name = 'Migration20261121202638_tracked_messages';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "tracked_message" ("message_id" uuid not null, "account_id" uuid not null, "message_id_header" text not null, "opens" boolean not null, "links" boolean not null, "thread_replies" boolean not null, "payload" text null, "urls" text[] not null, "open_count" int not null default 0, "click_counts" int[] not null default '{}', "recent_opens" jsonb not null default '[]', "recent_clicks" jsonb not null default '[]', "counted_from" timestamptz not null, "counted_until" timestamptz not null, primary key ("message_id"));`,
    );
    this.addSql(`create index "tracked_message_until" on "tracked_message" ("counted_until");`);
    this.addSql(
      `alter table "tracked_message" add constraint "tracked_message_account_header" unique ("account_id", "message_id_header");`,
    );

    this.addSql(
      `alter table "tracked_message" add constraint "tracked_message_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "tracked_message" cascade;`);
  }
}
