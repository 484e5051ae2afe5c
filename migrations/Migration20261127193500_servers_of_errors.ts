import { Migration } from '@mikro-orm/migrations';

/**
 * The server that an attempt or a sync pass has asked, for operators. Processes of the release before
 * write none of these columns.
 */
export class Migration20261127193500_servers_of_errors extends Migration {
  override name = 'Migration20261127193500_servers_of_errors';

  override up(): void | Promise<void> {
    this.addSql(`alter table "job_attempt" add "server" text null;`);
    this.addSql(
      `alter table "sync_job" add "failed_server" text null, add "failed_reason" text null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "job_attempt" drop column "server";`);
    this.addSql(`alter table "sync_job" drop column "failed_server", drop column "failed_reason";`);
  }
}
