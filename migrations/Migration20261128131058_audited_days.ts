import { Migration } from '@mikro-orm/migrations';

/** What audits have seen at the provider, by the day of the messages (docs/adr/0152). */
export class Migration20261128131058_audited_days extends Migration {
  override name = 'Migration20261128131058_audited_days';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_seen" ("account_id" uuid not null, "provider_id" text not null, primary key ("account_id", "provider_id"));`,
    );

    this.addSql(
      `create table "audited_day" ("account_id" uuid not null, "day" date not null, "message_ids" uuid[] not null, "audited_at" timestamptz not null, "skipped" int not null, "unrepaired" int not null, primary key ("account_id", "day"));`,
    );

    this.addSql(
      `alter table "audit_seen" add constraint "audit_seen_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "audited_day" add constraint "audited_day_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "audit_seen" cascade;`);
    this.addSql(`drop table if exists "audited_day" cascade;`);
  }
}
