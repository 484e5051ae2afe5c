import { Migration } from '@mikro-orm/migrations';

/** The index of an account's events has their triggers (ADR 0159). */
export class Migration20261128192000_triggers_in_index extends Migration {
  override name = 'Migration20261128192000_triggers_in_index';

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
