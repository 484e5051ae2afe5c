import { Migration } from '@mikro-orm/migrations';

export class Migration20261122114047_sender_fields extends Migration {
  override name = 'Migration20261122114047_sender_fields';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "outbox_message" add "bcc" jsonb generated always as (content -> 'bcc') stored null, add "draft" jsonb generated always as (content -> 'draft') stored null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "outbox_message" drop column "bcc", drop column "draft";`);
  }
}
