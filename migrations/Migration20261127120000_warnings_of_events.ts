import { Migration } from '@mikro-orm/migrations';

/** What could not be read of an event's file. Processes of the release before leave it empty. */
export class Migration20261127120000_warnings_of_events extends Migration {
  override name = 'Migration20261127120000_warnings_of_events';

  override up(): void | Promise<void> {
    this.addSql(`alter table "event" add "warnings" text[] not null default '{}';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "event" drop column "warnings";`);
  }
}
