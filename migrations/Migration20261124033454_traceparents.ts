import { Migration } from '@mikro-orm/migrations';

export class Migration20261124033454_traceparents extends Migration {
  override name = 'Migration20261124033454_traceparents';

  override up(): void | Promise<void> {
    this.addSql(`alter table "provider_job" add "traceparent" text null;`);

    this.addSql(`alter table "send_job" add "traceparent" text null;`);

    this.addSql(`alter table "hook_job" add "traceparent" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "hook_job" drop column "traceparent";`);

    this.addSql(`alter table "provider_job" drop column "traceparent";`);

    this.addSql(`alter table "send_job" drop column "traceparent";`);
  }
}
