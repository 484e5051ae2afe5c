import { Migration } from '@mikro-orm/migrations';

export class Migration20261121212346_source_of_contact_keys extends Migration {
  override name = 'Migration20261121212346_source_of_contact_keys';

  override up(): void | Promise<void> {
    this.addSql(`alter table "contact_key" drop constraint "contact_key_pkey";`);
    this.addSql(`alter table "contact_key" add "source" text null;`);
    this.addSql(
      `update "contact_key" k set "source" = c."source" from "contact" c where c."id" = k."contact_id";`,
    );
    this.addSql(`alter table "contact_key" alter column "source" set not null;`);
    this.addSql(
      `alter table "contact_key" add primary key ("account_id", "field", "value", "contact_id", "source");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "contact_key" drop constraint "contact_key_pkey";`);
    this.addSql(`alter table "contact_key" drop column "source";`);
    this.addSql(
      `alter table "contact_key" add primary key ("account_id", "field", "value", "contact_id");`,
    );
  }
}
