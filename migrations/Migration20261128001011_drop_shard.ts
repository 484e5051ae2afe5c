import { Migration } from '@mikro-orm/migrations';

/** No statement has ever read the column. */
export class Migration20261128001011_drop_shard extends Migration {
  override name = 'Migration20261128001011_drop_shard';

  override up(): void | Promise<void> {
    this.addSql(`alter table "hook_job" drop column "shard";`);
    this.addSql(`alter table "provider_job" drop column "shard";`);
    this.addSql(`alter table "reminder_job" drop column "shard";`);
    this.addSql(`alter table "send_job" drop column "shard";`);
    this.addSql(`alter table "sync_job" drop column "shard";`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "hook_job" add "shard" smallint not null default 0;`);
    this.addSql(`alter table "provider_job" add "shard" smallint not null default 0;`);
    this.addSql(`alter table "reminder_job" add "shard" smallint not null default 0;`);
    this.addSql(`alter table "send_job" add "shard" smallint not null default 0;`);
    this.addSql(`alter table "sync_job" add "shard" smallint not null default 0;`);
  }
}
