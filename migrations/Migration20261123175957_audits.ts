import { Migration } from '@mikro-orm/migrations';

export class Migration20261123175957_audits extends Migration {
  override name = 'Migration20261123175957_audits';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "listed_message" ("account_id" uuid not null, "provider_id" text not null, primary key ("account_id", "provider_id"));`,
    );

    this.addSql(
      `create table "mirror_audit" ("account_id" uuid not null, "recent_at" timestamptz not null, "full_at" timestamptz not null, "not_before" timestamptz null, "round" jsonb null, "counted" jsonb not null, "checked_at" timestamptz null, "messages_checked" int not null default 0, "differences_found" int not null default 0, "repaired" int not null default 0, "unrepaired" int not null default 0, "failed" int not null default 0, primary key ("account_id"));`,
    );

    this.addSql(
      `create table "candidate_message" ("account_id" uuid not null, "provider_id" text not null, "looks" smallint not null default 0, primary key ("account_id", "provider_id"));`,
    );

    this.addSql(
      `alter table "listed_message" add constraint "listed_message_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "mirror_audit" add constraint "mirror_audit_account_id_foreign" foreign key ("account_id") references "grant" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "candidate_message" add constraint "candidate_message_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "listed_message" cascade;`);
    this.addSql(`drop table if exists "mirror_audit" cascade;`);
    this.addSql(`drop table if exists "candidate_message" cascade;`);
  }
}
