import { Migration } from '@mikro-orm/migrations';

/** Changes of one type are found without reading those of others (ADR 0036). */
export class Migration20261128193000_changes_by_type extends Migration {
  override name = 'Migration20261128193000_changes_by_type';

  override up(): void | Promise<void> {
    this.addSql(`create index "change_object" on "change" ("account_id", "object", "seq");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "change_object";`);
  }
}
