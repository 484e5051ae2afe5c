import { Migration } from '@mikro-orm/migrations';

export class Migration20261122214825_failed_attempts extends Migration {
  override name = 'Migration20261122214825_failed_attempts';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "failed_attempt" ("key" bytea not null, "failures" int not null, "ends_at" timestamptz not null, primary key ("key"));`,
    );
    this.addSql(`create index "failed_attempt_ends" on "failed_attempt" ("ends_at");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "failed_attempt" cascade;`);
  }
}
