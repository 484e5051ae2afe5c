import { Migration } from '@mikro-orm/migrations';

export class Migration20261122221547_address_loops extends Migration {
  override name = 'Migration20261122221547_address_loops';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "address_loop" ("id" uuid not null, "account_id" uuid not null, "application_id" uuid not null, "address" text not null, "code_hash" bytea not null, "sent_at" timestamptz not null, "failed" boolean not null default false, primary key ("id"));`,
    );
    this.addSql(`create index "address_loop_address" on "address_loop" ("address", "sent_at");`);
    this.addSql(
      `create index "address_loop_application" on "address_loop" ("application_id", "sent_at");`,
    );
    this.addSql(`create index "address_loop_account" on "address_loop" ("account_id", "sent_at");`);
    this.addSql(`create index "address_loop_sent" on "address_loop" ("sent_at");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "address_loop" cascade;`);
  }
}
