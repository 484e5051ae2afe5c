import { Migration } from '@mikro-orm/migrations';

export class Migration20261122215619_sealing_keys extends Migration {
  override name = 'Migration20261122215619_sealing_keys';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "running_process" ("id" uuid not null, "host" text not null, "pid" int not null, "roles" text[] not null, "sealing_key" text not null, "keys" jsonb not null, "started_at" timestamptz not null, "seen_at" timestamptz not null, primary key ("id"));`,
    );

    this.addSql(
      `create table "sealing_key" ("id" text not null, "check_value" text not null, "created_at" timestamptz not null, "forgotten_at" timestamptz null, primary key ("id"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "running_process" cascade;`);
    this.addSql(`drop table if exists "sealing_key" cascade;`);
  }
}
