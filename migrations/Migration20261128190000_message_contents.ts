import { Migration } from '@mikro-orm/migrations';

const PARTITIONS = 32;

/**
 * Bodies of messages in partitions. Workers move those of `message_body` once an operator has said
 * that no process of the release before runs; in a database that no process has used, there are none
 * (ADR 0166).
 */
export class Migration20261128190000_message_contents extends Migration {
  override name = 'Migration20261128190000_message_contents';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "message_content" ("account_id" uuid not null, "message_id" uuid not null, "body" bytea null, "bytes" int not null, "headers" bytea null, "warnings" jsonb not null default '[]', "object_key" text null, "object_digest" bytea null, primary key ("account_id", "message_id")) partition by hash (account_id);`,
    );
    // What is compressed already is stored as it is.
    this.addSql(
      `alter table "message_content" alter column "body" set storage external, alter column "headers" set storage external;`,
    );
    for (let number = 0; number < PARTITIONS; number += 1)
      this.addSql(
        `create table "message_content_${number}" partition of "message_content" for values with (modulus ${PARTITIONS}, remainder ${number});`,
      );
    this.addSql(
      `alter table "message_content" add constraint "message_content_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `insert into table_move (name, old_table, began_at, finished_at)
       select 'message_content', 'message_body', at, at
       from (select case when exists (select 1 from message_body) or exists (select 1 from running_process)
                      then null else now() end as at) x;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`delete from table_move where name = 'message_content';`);
    this.addSql(`drop table if exists "message_content" cascade;`);
  }
}
