import { Migration } from '@mikro-orm/migrations';

const PARTITIONS = Array.from({ length: 32 }, (_, number) => `search_document_${number}`);

/**
 * A table of search documents in partitions, which replaces `message_search` (ADR 0167). Workers move
 * the rows once an operator has started the move; in a database that no process has used, there are
 * none.
 */
export class Migration20261128190500_search_documents extends Migration {
  override name = 'Migration20261128190500_search_documents';

  override up(): void | Promise<void> {
    // Lexemes contain neither quotes nor spaces, so the text of a tsvector can be edited. The cost
    // makes the planner use the index and not all documents of the account.
    this.addSql(
      `create function search_lexemes(account uuid, document tsvector) returns tsvector
       language plpgsql immutable parallel safe cost 10000 as $$
       begin
         return replace(' ' || strip(document)::text, ' ''',
           ' ''' || left(encode(substring(uuid_send(account) from 14), 'base64'), 3))::tsvector;
       end $$;`,
    );
    this.addSql(
      `create table "search_document" ("account_id" uuid not null, "message_id" uuid not null,
       "date" timestamptz not null, "document" tsvector not null, primary key ("account_id", "message_id"))
       partition by hash ("account_id");`,
    );
    this.addSql(`alter table "search_document" alter column "document" set storage external;`);
    for (const [number, name] of PARTITIONS.entries())
      this.addSql(
        `create table ${name} partition of "search_document"
         for values with (modulus ${PARTITIONS.length}, remainder ${number});`,
      );
    this.addSql(
      `alter table "search_document" add constraint "search_document_account_id_foreign"
       foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `create index "search_document_lexemes" on "search_document"
       using gin (search_lexemes(account_id, document)) with (fastupdate = on, gin_pending_list_limit = 1024);`,
    );
    // No plan needs to know how frequent words are, and counting them would read every document.
    this.addSql(`alter table "search_document" alter column "document" set statistics 0;`);
    for (const name of PARTITIONS)
      this.addSql(`alter index ${name}_search_lexemes_idx alter column 1 set statistics 0;`);
    this.addSql(
      `insert into "table_move" ("name", "old_table", "began_at", "finished_at")
       select 'search_document', 'message_search', x.at, x.at
       from (select case when exists (select 1 from "message_search") or exists (select 1 from "running_process")
                      then null else now() end as at) x;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`delete from "table_move" where "name" = 'search_document';`);
    this.addSql(`drop table "search_document";`);
    this.addSql(`drop function search_lexemes;`);
  }
}
