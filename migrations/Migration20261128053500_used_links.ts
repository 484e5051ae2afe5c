import { Migration } from '@mikro-orm/migrations';

export class Migration20261128053500_used_links extends Migration {
  override name = 'Migration20261128053500_used_links';

  override up(): void | Promise<void> {
    this.addSql(`alter table "operator_link" add "used_by" bytea null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "operator_link" drop column "used_by";`);
  }
}
