import { Migration } from '@mikro-orm/migrations';

/** Bodies of messages in an object store (ADR 0168). */
export class Migration20261128193000_body_objects extends Migration {
  override name = 'Migration20261128193000_body_objects';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "object_upload" ("account_id" uuid not null, "message_id" uuid not null, "due_at" timestamptz not null, primary key ("account_id", "message_id"));`,
    );
    this.addSql(`create index "object_upload_due" on "object_upload" ("due_at");`);
    this.addSql(
      `alter table "object_upload" add constraint "object_upload_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `create table "object_deletion" ("account_id" uuid not null, "due_at" timestamptz not null, primary key ("account_id"));`,
    );
    this.addSql(`create index "object_deletion_due" on "object_deletion" ("due_at");`);
    this.addSql(
      `create table "object_orphan" ("key" text collate "C" not null, "seen_at" timestamptz not null, primary key ("key"));`,
    );
    this.addSql(
      `create table "object_sweep" ("name" text not null, "after_key" text not null, "due_at" timestamptz not null, primary key ("name"));`,
    );
    this.addSql(
      `insert into "object_sweep" ("name", "after_key", "due_at") values ('objects', '', now());`,
    );
  }

  override down(): void | Promise<void> {
    for (const table of ['object_upload', 'object_deletion', 'object_orphan', 'object_sweep'])
      this.addSql(`drop table if exists "${table}" cascade;`);
  }
}
