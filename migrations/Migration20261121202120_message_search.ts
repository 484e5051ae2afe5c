import { Migration } from '@mikro-orm/migrations';

export class Migration20261121202120_message_search extends Migration {
  override name = 'Migration20261121202120_message_search';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "search_backlog" ("account_id" uuid not null, "done_date" timestamptz null, "done_id" uuid null, primary key ("account_id"));`,
    );

    this.addSql(
      `create table "message_search" ("message_id" uuid not null, "account_id" uuid not null, "date" timestamptz not null, "document" tsvector not null, primary key ("message_id"));`,
    );
    this.addSql(
      `create index "message_search_document" on "message_search" using gin ("document") with (fastupdate = on, gin_pending_list_limit = 1024);`,
    );

    this.addSql(
      `alter table "search_backlog" add constraint "search_backlog_account_id_foreign" foreign key ("account_id") references "grant" ("id") on update cascade on delete cascade;`,
    );

    // Made findable in the background: reading every body here would take hours in a large installation.
    this.addSql(`insert into "search_backlog" ("account_id") select "id" from "grant";`);

    this.addSql(
      `alter table "message_search" add constraint "message_search_message_id_foreign" foreign key ("message_id") references "message" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "search_backlog" cascade;`);
    this.addSql(`drop table if exists "message_search" cascade;`);
  }
}
