import { Migration } from '@mikro-orm/migrations';

export class Migration20261121173500_mirror_that_keeps_up extends Migration {
  override name = 'Migration20261121173500_mirror_that_keeps_up';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "mailbox_watch" ("account_id" uuid not null, "worker_id" int null, "up_since" timestamptz null, "retry_at" timestamptz not null default now(), "failures" smallint not null default 0, primary key ("account_id"));`,
    );
    this.addSql(`create index "mailbox_watch_worker" on "mailbox_watch" ("worker_id");`);
    this.addSql(
      `create index "mailbox_watch_free" on "mailbox_watch" ("retry_at") where worker_id is null;`,
    );

    this.addSql(
      `create table "sync_failure" ("account_id" uuid not null, "provider_id" text not null, "reason" text not null, "first_at" timestamptz not null, "last_at" timestamptz not null, "times" int not null default 1, primary key ("account_id", "provider_id"));`,
    );

    this.addSql(
      `create table "thread_reference" ("account_id" uuid not null, "message_id_header" text not null, "thread_id" uuid not null, primary key ("account_id", "message_id_header"));`,
    );
    this.addSql(`create index "thread_reference_thread" on "thread_reference" ("thread_id");`);
    // What is mirrored already: else the next answer would begin a conversation of its own.
    this.addSql(
      `insert into thread_reference (account_id, message_id_header, thread_id)
       select distinct on (account_id, message_id_header) account_id, message_id_header, thread_id
       from message where message_id_header is not null order by account_id, message_id_header, date;`,
    );

    this.addSql(
      `create table "vanished_message" ("message_id" uuid not null, "account_id" uuid not null, "vanished_at" timestamptz not null, primary key ("message_id"));`,
    );
    this.addSql(`create index "vanished_message_account" on "vanished_message" ("account_id");`);

    this.addSql(`create index "provider_job_account" on "provider_job" ("account_id");`);

    this.addSql(
      `alter table "sync_job" add "well_since" timestamptz null, add "reading" text null;`,
    );

    this.addSql(`alter table "thread" add "subject_key" text null;`);
    this.addSql(
      `create index "thread_account_subject" on "thread" ("account_id", "subject_key") where subject_key is not null;`,
    );

    this.addSql(
      `alter table "mailbox_watch" add constraint "mailbox_watch_account_id_foreign" foreign key ("account_id") references "grant" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "sync_failure" add constraint "sync_failure_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "thread_reference" add constraint "thread_reference_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "thread_reference" add constraint "thread_reference_thread_id_foreign" foreign key ("thread_id") references "thread" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "vanished_message" add constraint "vanished_message_message_id_foreign" foreign key ("message_id") references "message" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "vanished_message" add constraint "vanished_message_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "mailbox_watch" cascade;`);
    this.addSql(`drop table if exists "sync_failure" cascade;`);
    this.addSql(`drop table if exists "thread_reference" cascade;`);
    this.addSql(`drop table if exists "vanished_message" cascade;`);

    this.addSql(`drop index "provider_job_account";`);

    this.addSql(`alter table "sync_job" drop column "well_since", drop column "reading";`);

    this.addSql(`drop index "thread_account_subject";`);
    this.addSql(`alter table "thread" drop column "subject_key";`);
  }
}
