import { Migration } from '@mikro-orm/migrations';

export class Migration20261121233858_mailed_invitations extends Migration {
  override name = 'Migration20261121233858_mailed_invitations';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "meeting_state" ("account_id" uuid not null, "key" text not null, "instance" text not null, "event_id" uuid null, "sender" text null, "trusted" boolean not null, "sequence" int not null, "stamp" double precision null, "cancelled" boolean not null, "replies" jsonb not null, "reply_job_id" uuid null, primary key ("account_id", "key", "instance"));`,
    );
    this.addSql(`create index "meeting_state_event" on "meeting_state" ("event_id");`);

    this.addSql(`alter table "calendar" add "is_emailed" boolean not null default false;`);
    this.addSql(`create unique index calendar_emailed on calendar (account_id) where is_emailed;`);

    this.addSql(`alter table "event" add "message_id" uuid null;`);
    this.addSql(`create index "event_ical_uid" on "event" using hash ("ical_uid");`);

    this.addSql(
      `alter table "meeting_state" add constraint "meeting_state_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "meeting_state" add constraint "meeting_state_event_id_foreign" foreign key ("event_id") references "event" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "meeting_state" cascade;`);

    this.addSql(`drop index "calendar_emailed";`);
    this.addSql(`alter table "calendar" drop column "is_emailed";`);

    this.addSql(`drop index "event_ical_uid";`);
    this.addSql(`alter table "event" drop column "message_id";`);
  }
}
