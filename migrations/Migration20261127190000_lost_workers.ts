import { Migration } from '@mikro-orm/migrations';

/** Workers that were declared dead. The console names them for an hour. */
export class Migration20261127190000_lost_workers extends Migration {
  override name = 'Migration20261127190000_lost_workers';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "lost_worker" ("id" int not null, "host" text not null, "pid" int not null, "started_at" timestamptz not null, "seen_at" timestamptz not null, "lost_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "lost_worker_lost_at_index" on "lost_worker" ("lost_at");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table "lost_worker";`);
  }
}
