import { Migration } from '@mikro-orm/migrations';

export class Migration20261123143000_text_backlog extends Migration {
  override name = 'Migration20261123143000_text_backlog';

  override up(): void | Promise<void> {
    // Under its old name, processes of the previous version would take the accounts for done and
    // remove them before the new processes run.
    this.addSql(`alter table "search_backlog" rename to "text_backlog";`);
    this.addSql(
      `alter table "text_backlog" rename constraint "search_backlog_pkey" to "text_backlog_pkey";`,
    );
    this.addSql(
      `alter table "text_backlog" rename constraint "search_backlog_account_id_foreign" to "text_backlog_account_id_foreign";`,
    );
    // Rebuilt in the background: reading every body here would take hours in a large installation.
    this.addSql(
      `insert into "text_backlog" ("account_id") select "id" from "grant" on conflict ("account_id") do update set "done_date" = null, "done_id" = null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "text_backlog" rename constraint "text_backlog_account_id_foreign" to "search_backlog_account_id_foreign";`,
    );
    this.addSql(
      `alter table "text_backlog" rename constraint "text_backlog_pkey" to "search_backlog_pkey";`,
    );
    this.addSql(`alter table "text_backlog" rename to "search_backlog";`);
  }
}
