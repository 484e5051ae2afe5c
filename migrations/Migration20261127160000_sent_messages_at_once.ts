import { Migration } from '@mikro-orm/migrations';

/**
 * Finds sent messages that their provider has not reported. Processes of the release before add
 * none and do not know them; `releases_of_workers` keeps both apart. The index has few rows; why it
 * is not created concurrently is in docs/adr/0126.
 */
export class Migration20261127160000_sent_messages_at_once extends Migration {
  override name = 'Migration20261127160000_sent_messages_at_once';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "message_unreported" on "message" ("account_id", "created_at") where provider_id is null and not draft;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "message_unreported";`);
  }
}
