import { Migration } from '@mikro-orm/migrations';

/** The event of each change, and the calendars and contacts that audits have seen (docs/adr/0160). */
export class Migration20261128160000_proof_of_changes extends Migration {
  override name = 'Migration20261128160000_proof_of_changes';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "change" add "event_id" uuid null, add "folders" uuid[] null, add "from_domains" text[] null;`,
    );

    this.addSql(
      `create table "audited_collection" ("account_id" uuid not null, "collection" text not null, "listed" text[] null, "object_ids" uuid[] not null default '{}', "unstored" int not null default 0, "audited_at" timestamptz null, primary key ("account_id", "collection"));`,
    );

    this.addSql(
      `alter table "audited_collection" add constraint "audited_collection_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "audited_collection" cascade;`);
    this.addSql(
      `alter table "change" drop column "event_id", drop column "folders", drop column "from_domains";`,
    );
  }
}
