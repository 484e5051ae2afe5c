import { Migration } from '@mikro-orm/migrations';

export class Migration20261121133645_outbox_reliability extends Migration {
  override name = 'Migration20261121133645_outbox_reliability';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "instance" ("id" smallint primary key, "place" jsonb not null, "confirmed_at" timestamptz not null);`,
    );

    this.addSql(
      `create table "idempotency_key" ("account_id" uuid not null, "key" text not null, "fingerprint" bytea not null, "status" smallint null, "response" jsonb null, "created_at" timestamptz not null, primary key ("account_id", "key"));`,
    );
    this.addSql(`create index "idempotency_key_created" on "idempotency_key" ("created_at");`);

    this.addSql(
      `create table "relay" ("application_id" uuid not null, "kind" text not null, "settings_sealed" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("application_id"));`,
    );

    this.addSql(
      `create table "relay_sender" ("account_id" uuid not null, "domain_verified" boolean not null, "sender_verified" boolean not null, "detail" text null, "checked_at" timestamptz not null, primary key ("account_id"));`,
    );

    this.addSql(`alter table "job_status" add "route" text null;`);

    this.addSql(`alter table "job_attempt" add "route" text null;`);

    this.addSql(
      `alter table "outbox_message" add "accepted" text[] not null default '{}', add "refused" jsonb not null default '[]', add "on_missed" text not null default 'send', add "max_lateness_seconds" int null, add "on_unknown" text null;`,
    );
    this.addSql(
      `alter table "outbox_message" add constraint "outbox_message_on_missed_check" check ("on_missed" in ('send', 'skip'));`,
    );
    this.addSql(
      `alter table "outbox_message" add constraint "outbox_message_on_unknown_check" check ("on_unknown" in ('resend', 'fail'));`,
    );

    this.addSql(
      `alter table "send_job" add "route" text not null default 'account', add "failures" smallint not null default 0, add "look_ups" smallint not null default 0;`,
    );

    this.addSql(`alter table "instance" add constraint "instance_one" check (id = 1);`);

    this.addSql(
      `alter table "idempotency_key" add constraint "idempotency_key_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "relay" add constraint "relay_application_id_foreign" foreign key ("application_id") references "application" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "relay_sender" add constraint "relay_sender_account_id_foreign" foreign key ("account_id") references "grant" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "instance" cascade;`);
    this.addSql(`drop table if exists "idempotency_key" cascade;`);
    this.addSql(`drop table if exists "relay" cascade;`);
    this.addSql(`drop table if exists "relay_sender" cascade;`);

    this.addSql(`alter table "job_attempt" drop column "route";`);

    this.addSql(`alter table "job_status" drop column "route";`);

    this.addSql(`alter table "outbox_message" drop constraint "outbox_message_on_missed_check";`);
    this.addSql(`alter table "outbox_message" drop constraint "outbox_message_on_unknown_check";`);
    this.addSql(
      `alter table "outbox_message" drop column "accepted", drop column "refused", drop column "on_missed", drop column "max_lateness_seconds", drop column "on_unknown";`,
    );

    this.addSql(
      `alter table "send_job" drop column "route", drop column "failures", drop column "look_ups";`,
    );
  }
}
