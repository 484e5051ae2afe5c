import { Migration } from '@mikro-orm/migrations';

export class Migration20261121203435_foreign_message_ids extends Migration {
  override name = 'Migration20261121203435_foreign_message_ids';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "outbox_message" add "foreign_header" boolean not null default false;`,
    );
    this.addSql(
      `create index "outbox_message_foreign_header" on "outbox_message" ("account_id", "message_id_header") where foreign_header;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "outbox_message_foreign_header";`);
    this.addSql(`alter table "outbox_message" drop column "foreign_header";`);
  }
}
