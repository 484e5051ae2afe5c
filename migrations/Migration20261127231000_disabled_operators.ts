import { Migration } from '@mikro-orm/migrations';

/** Since when an operator is disabled. */
export class Migration20261127231000_disabled_operators extends Migration {
  override name = 'Migration20261127231000_disabled_operators';

  override up(): void | Promise<void> {
    this.addSql(`alter table "operator" add "disabled_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "operator" drop column "disabled_at";`);
  }
}
