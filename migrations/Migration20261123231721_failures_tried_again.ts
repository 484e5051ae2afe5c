import { Migration } from '@mikro-orm/migrations';

export class Migration20261123231721_failures_tried_again extends Migration {
  override name = 'Migration20261123231721_failures_tried_again';

  override up(): void | Promise<void> {
    this.addSql(`alter table "sync_failure" add "retry_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "sync_failure" drop column "retry_at";`);
  }
}
