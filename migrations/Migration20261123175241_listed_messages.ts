import { Migration } from '@mikro-orm/migrations';

export class Migration20261123175241_listed_messages extends Migration {
  override name = 'Migration20261123175241_listed_messages';

  override up(): void | Promise<void> {
    this.addSql(`alter table "message" add "listed" boolean not null default false;`);
    this.addSql(
      `create index "message_account_listed" on "message" ("account_id", "date", "id") where listed;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "message_account_listed";`);
    this.addSql(`alter table "message" drop column "listed";`);
  }
}
