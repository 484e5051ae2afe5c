import { Migration } from '@mikro-orm/migrations';

export class Migration20261124040713_operator_holds extends Migration {
  override name = 'Migration20261124040713_operator_holds';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "application_deletion" ("application_id" uuid not null, "client_id" text not null, "name" text not null, "requested_at" timestamptz not null, "requested_by" text not null, "accounts" int not null, "accounts_deleted" int not null default 0, "step" text not null, "leaving" text[] not null, "lease_until" timestamptz null, "finished_at" timestamptz null, "last_error" text null, primary key ("application_id"));`,
    );

    this.addSql(
      `create table "table_sample" ("day" date not null, "table_name" text not null, "taken_at" timestamptz not null, "bytes" bigint not null, "estimated_rows" bigint null, primary key ("day", "table_name"));`,
    );

    this.addSql(
      `alter table "application" add "sending_paused_at" timestamptz null, add "sending_pause_reason" text null, add "suspended_at" timestamptz null, add "suspension_reason" text null;`,
    );

    this.addSql(
      `alter table "grant" add "sending_paused_at" timestamptz null, add "sending_pause_reason" text null;`,
    );
    this.addSql(
      `create index "grant_troubled" on "grant" ("id") where status = 'invalid' or sync_state = 'sync-error' or billing_state = 'cancelled' or sending_paused_at is not null;`,
    );

    this.addSql(`alter table "send_job" add "paused" boolean not null default false;`);
    this.addSql(`create index "send_job_paused" on "send_job" ("account_id", "id") where paused;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "application_deletion" cascade;`);
    this.addSql(`drop table if exists "table_sample" cascade;`);

    this.addSql(
      `alter table "application" drop column "sending_paused_at", drop column "sending_pause_reason", drop column "suspended_at", drop column "suspension_reason";`,
    );

    this.addSql(`drop index "grant_troubled";`);
    this.addSql(
      `alter table "grant" drop column "sending_paused_at", drop column "sending_pause_reason";`,
    );

    this.addSql(`drop index "send_job_paused";`);
    this.addSql(`alter table "send_job" drop column "paused";`);
  }
}
