import { Migration } from '@mikro-orm/migrations';

export class Migration20261121201709_uploads extends Migration {
  override name = 'Migration20261121201709_uploads';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "file_data" ("id" uuid not null, "account_id" uuid not null, primary key ("id"));`,
    );
    this.addSql(`create index "file_data_account" on "file_data" ("account_id");`);

    this.addSql(
      `create table "file_chunk" ("data_id" uuid not null, "no" int not null, "bytes" bytea not null, primary key ("data_id", "no"));`,
    );

    // Compressing what is compressed already would cost time for nothing.
    this.addSql(`alter table "file_chunk" alter column "bytes" set storage external;`);

    this.addSql(
      `create table "draft_file" ("message_id" uuid not null, "position" int not null, "file_id" uuid not null, "filename" text not null, "content_type" text not null, "content_disposition" text not null, "content_id" text null, "size" int not null, "data_id" uuid null, primary key ("message_id", "position"));`,
    );
    this.addSql(`create index "draft_file_file" on "draft_file" ("file_id");`);
    this.addSql(
      `create index "draft_file_data" on "draft_file" ("data_id") where data_id is not null;`,
    );

    this.addSql(`alter table "file" add "data_id" uuid null;`);
    this.addSql(
      `alter table "file" add constraint "file_data_id_foreign" foreign key ("data_id") references "file_data" ("id") on delete set null;`,
    );
    this.addSql(`alter table "file" alter column "message_id" drop not null;`);
    this.addSql(`create index "file_account_filename" on "file" ("account_id", "filename", "id");`);
    this.addSql(`create index "file_data_of" on "file" ("data_id") where data_id is not null;`);
    this.addSql(`create index "file_upload" on "file" ("id") where message_id is null;`);

    this.addSql(
      `alter table "file_data" add constraint "file_data_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "file_chunk" add constraint "file_chunk_data_id_foreign" foreign key ("data_id") references "file_data" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "draft_file" add constraint "draft_file_message_id_foreign" foreign key ("message_id") references "message" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "draft_file" add constraint "draft_file_data_id_foreign" foreign key ("data_id") references "file_data" ("id") on delete set null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "file_chunk" drop constraint "file_chunk_data_id_foreign";`);
    this.addSql(`alter table "file" drop constraint "file_data_id_foreign";`);
    this.addSql(`alter table "draft_file" drop constraint "draft_file_data_id_foreign";`);

    this.addSql(`drop table if exists "file_data" cascade;`);
    this.addSql(`drop table if exists "file_chunk" cascade;`);
    this.addSql(`drop table if exists "draft_file" cascade;`);

    this.addSql(`drop index "file_account_filename";`);
    this.addSql(`drop index "file_data_of";`);
    this.addSql(`drop index "file_upload";`);
    this.addSql(`alter table "file" drop column "data_id";`);
    // Uploads have no place in the schema before.
    this.addSql(`delete from "file" where "message_id" is null;`);
    this.addSql(`alter table "file" alter column "message_id" set not null;`);
  }
}
