import { Migration } from '@mikro-orm/migrations';

export class Migration20261121203332_contacts extends Migration {
  override name = 'Migration20261121203332_contacts';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "contact_group" ("id" uuid not null, "account_id" uuid not null, "path" text not null, "created_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "contact_group" add constraint "contact_group_path" unique ("account_id", "path");`,
    );

    this.addSql(
      `create table "contact" ("id" uuid not null, "account_id" uuid not null, "source" text not null, "provider_id" text null, "content" jsonb not null, "picture" text null, "name_rank" smallint not null default 0, "provider_content" jsonb null, "provider_seen_at" timestamptz null, "deleting" boolean not null default false, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "contact_list" on "contact" ("account_id", "id") where not deleting;`,
    );
    this.addSql(
      `create index "contact_source" on "contact" ("account_id", "source", "id") where not deleting;`,
    );
    this.addSql(
      `alter table "contact" add constraint "contact_account_provider_id" unique ("account_id", "source", "provider_id");`,
    );

    this.addSql(
      `create table "contact_key" ("account_id" uuid not null, "field" text not null, "value" text not null, "contact_id" uuid not null, primary key ("account_id", "field", "value", "contact_id"));`,
    );
    this.addSql(`create index "contact_key_contact" on "contact_key" ("contact_id");`);

    this.addSql(
      `create table "sandbox_address_book" ("application_id" uuid not null, "address" text not null, "modseq" bigint not null, primary key ("application_id", "address"));`,
    );

    this.addSql(
      `create table "sandbox_contact" ("id" uuid not null, "application_id" uuid not null, "address" text not null, "key" text not null, "data" jsonb not null, "picture" bytea null, "deleted" boolean not null default false, "modseq" bigint not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "sandbox_contact_book" on "sandbox_contact" ("application_id", "address", "modseq");`,
    );

    this.addSql(
      `alter table "sync_job" add "contacts_at" timestamptz null, add "contacts_cursor" text null, add "contacts_since" timestamptz null;`,
    );

    this.addSql(
      `alter table "contact_group" add constraint "contact_group_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "contact" add constraint "contact_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "contact" add constraint "contact_source_check" check ("source" in ('address_book', 'inbox'));`,
    );

    this.addSql(
      `alter table "contact_key" add constraint "contact_key_contact_id_foreign" foreign key ("contact_id") references "contact" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "contact_key" drop constraint "contact_key_contact_id_foreign";`);

    this.addSql(`drop table if exists "contact_group" cascade;`);
    this.addSql(`drop table if exists "contact" cascade;`);
    this.addSql(`drop table if exists "contact_key" cascade;`);
    this.addSql(`drop table if exists "sandbox_address_book" cascade;`);
    this.addSql(`drop table if exists "sandbox_contact" cascade;`);

    this.addSql(
      `alter table "sync_job" drop column "contacts_at", drop column "contacts_cursor", drop column "contacts_since";`,
    );
  }
}
