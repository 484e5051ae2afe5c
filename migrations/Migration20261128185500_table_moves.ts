import { Migration } from '@mikro-orm/migrations';

/** Which large tables get their rows moved to new tables while the server runs (ADR 0166). */
export class Migration20261128185500_table_moves extends Migration {
  override name = 'Migration20261128185500_table_moves';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "table_move" ("name" text not null, "old_table" text not null, "added_at" timestamptz not null default now(), "began_at" timestamptz null, "finished_at" timestamptz null, "moved" bigint not null default '0', primary key ("name"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "table_move" cascade;`);
  }
}
