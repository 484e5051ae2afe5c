import { Migration } from '@mikro-orm/migrations';

/**
 * The trigger becomes part of the index of an account's events, which serves the statements of the
 * release before as well. Why it is not created concurrently is in docs/adr/0126.
 */
export class Migration20261128160500_triggers_in_index extends Migration {
  override name = 'Migration20261128160500_triggers_in_index';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "webhook_event_of_account" on "webhook_event" ("account_id", "seq", "type");`,
    );
    this.addSql(`drop index "webhook_event_account";`);
  }

  override down(): void | Promise<void> {
    this.addSql(`create index "webhook_event_account" on "webhook_event" ("account_id", "seq");`);
    this.addSql(`drop index "webhook_event_of_account";`);
  }
}
