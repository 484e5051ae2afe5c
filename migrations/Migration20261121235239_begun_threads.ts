import { Migration } from '@mikro-orm/migrations';

export class Migration20261121235239_begun_threads extends Migration {
  override name = 'Migration20261121235239_begun_threads';

  override up(): void | Promise<void> {
    this.addSql(`drop index "thread_account_first";`);
    this.addSql(`drop index "thread_account_last";`);
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at", "id", "first_message_at") where message_count > 0;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "thread_account_last";`);
    this.addSql(
      `create index "thread_account_first" on "thread" ("account_id", "first_message_at");`,
    );
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at", "id") where message_count > 0;`,
    );
  }
}
