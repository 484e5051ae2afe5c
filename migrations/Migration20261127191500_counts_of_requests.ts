import { Migration } from '@mikro-orm/migrations';

export class Migration20261127191500_counts_of_requests extends Migration {
  override name = 'Migration20261127191500_counts_of_requests';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "request_count" ("minute" timestamptz not null, "key" text not null, "method" text null, "route" text null, "status" int null, "error" text null, "requests" bigint not null, "request_id" text null, primary key ("minute", "key"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "request_count" cascade;`);
  }
}
