import { Migration } from '@mikro-orm/migrations';

export class Migration20261122212747_quota_use extends Migration {
  override name = 'Migration20261122212747_quota_use';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "quota_use" ("id" uuid not null, "quota" text not null, "per" text not null, "owner_id" uuid not null, "day" date not null, "used" int not null default 0, "alerted_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(`create index "quota_use_day" on "quota_use" ("day");`);
    this.addSql(
      `alter table "quota_use" add constraint "quota_use_once" unique ("owner_id", "quota", "day");`,
    );

    this.addSql(`alter table "reminder" add "charged_at" timestamptz null;`);

    this.addSql(
      `alter table "quota_use" add constraint "quota_use_quota_check" check ("quota" in ('sms', 'reminders', 'meetings'));`,
    );
    this.addSql(
      `alter table "quota_use" add constraint "quota_use_per_check" check ("per" in ('account', 'application'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "quota_use" cascade;`);

    this.addSql(`alter table "reminder" drop column "charged_at";`);
  }
}
