import { Migration } from '@mikro-orm/migrations';

/** What of a message could not be read. Processes of the release before write none. */
export class Migration20261127121000_warnings_of_messages extends Migration {
  override name = 'Migration20261127121000_warnings_of_messages';

  override up(): void | Promise<void> {
    this.addSql(`alter table "message_body" add "warnings" jsonb not null default '[]';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "message_body" drop column "warnings";`);
  }
}
