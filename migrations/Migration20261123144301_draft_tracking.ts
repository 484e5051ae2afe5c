import { Migration } from '@mikro-orm/migrations';

export class Migration20261123144301_draft_tracking extends Migration {
  override name = 'Migration20261123144301_draft_tracking';

  override up(): void | Promise<void> {
    this.addSql(`alter table "message" add "tracking" jsonb null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "message" drop column "tracking";`);
  }
}
