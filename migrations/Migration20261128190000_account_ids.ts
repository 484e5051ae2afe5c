import { Migration } from '@mikro-orm/migrations';

/** Tables whose rows belong to an account, each with the table and column that lead to it. */
const TABLES = [
  ['message_folder', 'message', 'message_id'],
  ['thread_summary', 'thread', 'thread_id'],
  ['draft_file', 'message', 'message_id'],
  ['file_chunk', 'file_data', 'data_id'],
  ['job_attempt', 'job_status', 'job_id'],
] as const;

/**
 * The account of every row (docs/adr/0170). Processes of the release before insert rows without it;
 * the trigger adds it. `account_fill` says how far the older rows have it.
 */
export class Migration20261128190000_account_ids extends Migration {
  override name = 'Migration20261128190000_account_ids';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "account_fill" ("table_name" text not null, "position" text[] null, "skipped" boolean not null default false, "finished_at" timestamptz null, primary key ("table_name"));`,
    );
    this.addSql(
      `create function account_of_old_insert() returns trigger language plpgsql as $$
       begin
         execute format('select account_id from %I where id = ($1).%I', tg_argv[0], tg_argv[1])
           into new.account_id using new;
         return new;
       end; $$;`,
    );
    for (const [table, parent, reference] of TABLES) {
      this.addSql(`alter table "${table}" add "account_id" uuid null;`);
      this.addSql(
        `create trigger ${table}_account before insert on "${table}" for each row
         when (new.account_id is null)
         execute function account_of_old_insert('${parent}', '${reference}');`,
      );
      this.addSql(
        `insert into account_fill (table_name, finished_at)
         select '${table}', case when not exists (select from "${table}") then now() end;`,
      );
    }
  }

  override down(): void | Promise<void> {
    for (const [table] of TABLES) {
      this.addSql(`drop trigger ${table}_account on "${table}";`);
      this.addSql(`alter table "${table}" drop column "account_id";`);
    }
    this.addSql(`drop function account_of_old_insert();`);
    this.addSql(`drop table "account_fill";`);
  }
}
