import { Migration } from '@mikro-orm/migrations';

export class Migration20261121203133_delta_log extends Migration {
  override name = 'Migration20261121203133_delta_log';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "change_pruned" ("account_id" uuid not null, "object" text not null, "seq" bigint not null, primary key ("account_id", "object"));`,
    );

    this.addSql(`drop index "change_account";`);
    this.addSql(`alter table "change" drop constraint "change_pkey";`);
    this.addSql(`alter table "change" drop column "xid";`);
    this.addSql(`alter table "change" add primary key ("account_id", "seq");`);

    this.addSql(
      `alter table "change_pruned" add constraint "change_pruned_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "change_pruned" cascade;`);

    this.addSql(`alter table "change" drop constraint "change_pkey";`);
    this.addSql(`alter table "change" add "xid" xid8 not null default pg_current_xact_id();`);
    this.addSql(`create index "change_account" on "change" ("account_id", "seq");`);
    this.addSql(`alter table "change" add primary key ("seq");`);
  }
}
