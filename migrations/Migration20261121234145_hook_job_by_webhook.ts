import { Migration } from '@mikro-orm/migrations';

export class Migration20261121234145_hook_job_by_webhook extends Migration {
  override name = 'Migration20261121234145_hook_job_by_webhook';

  override up(): void | Promise<void> {
    this.addSql(`alter table "hook_job" drop constraint "hook_job_webhook_id_foreign";`);

    this.addSql(`alter table "hook_job" drop constraint "hook_job_event_webhook";`);
    this.addSql(`drop index "hook_job_webhook";`);
    this.addSql(
      `alter table "hook_job" add constraint "hook_job_webhook_event" unique ("webhook_id", "event_id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "hook_job" drop constraint "hook_job_webhook_event";`);
    this.addSql(
      `delete from "hook_job" j where not exists (select 1 from "webhook" w where w."id" = j."webhook_id");`,
    );
    this.addSql(
      `alter table "hook_job" add constraint "hook_job_webhook_id_foreign" foreign key ("webhook_id") references "webhook" ("id") on update no action on delete cascade;`,
    );
    this.addSql(
      `alter table "hook_job" add constraint "hook_job_event_webhook" unique ("event_id", "webhook_id");`,
    );
    this.addSql(`create index "hook_job_webhook" on "hook_job" ("webhook_id");`);
  }
}
