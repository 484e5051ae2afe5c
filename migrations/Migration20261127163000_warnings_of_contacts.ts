import { Migration } from '@mikro-orm/migrations';

/** What could not be read of a contact's card. Processes of the release before leave it empty. */
export class Migration20261127163000_warnings_of_contacts extends Migration {
  override name = 'Migration20261127163000_warnings_of_contacts';

  override up(): void | Promise<void> {
    this.addSql(`alter table "contact" add "warnings" text[] not null default '{}';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "contact" drop column "warnings";`);
  }
}
