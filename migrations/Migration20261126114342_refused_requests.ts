import { Migration } from '@mikro-orm/migrations';

export class Migration20261126114342_refused_requests extends Migration {
  override name = 'Migration20261126114342_refused_requests';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "refusal" ("key" text not null, "kind" text not null, "application_id" uuid null, "account_id" uuid null, "client" text null, "refused" bigint not null, "began_at" timestamptz not null, "seen_at" timestamptz not null, primary key ("key"));`,
    );
    this.addSql(`create index "refusal_seen" on "refusal" ("seen_at");`);
    this.addSql(`alter table "running_process" add "console_url" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "refusal" cascade;`);
    this.addSql(`alter table "running_process" drop column "console_url";`);
  }
}
