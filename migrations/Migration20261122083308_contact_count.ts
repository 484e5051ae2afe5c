import { Migration } from '@mikro-orm/migrations';

export class Migration20261122083308_contact_count extends Migration {
  override name = 'Migration20261122083308_contact_count';

  override up(): void | Promise<void> {
    this.addSql(`create index "contact_count" on "contact" ("account_id") where not deleting;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "contact_count";`);
  }
}
