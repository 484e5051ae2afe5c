import { Migration } from '@mikro-orm/migrations';

export class Migration20261123180806_stored_copies extends Migration {
  override name = 'Migration20261123180806_stored_copies';

  override up(): void | Promise<void> {
    this.addSql(`alter table "outbox_message" add "stored_provider_id" text null;`);
    this.addSql(
      `create index "outbox_message_stored_copy" on "outbox_message" ("account_id", "stored_provider_id") where stored_provider_id is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "outbox_message_stored_copy";`);
    this.addSql(`alter table "outbox_message" drop column "stored_provider_id";`);
  }
}
