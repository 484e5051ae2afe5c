import { Migration } from '@mikro-orm/migrations';

export class Migration20261124040208_log_level extends Migration {
  override name = 'Migration20261124040208_log_level';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "log_level" ("id" smallint primary key, "level" text not null, "until" timestamptz not null);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "log_level" cascade;`);
  }
}
