import { Migration } from '@mikro-orm/migrations';

/** Since when a provider answers as if a collection were gone or empty. Old processes write none. */
export class Migration20261127153000_doubts_of_collections extends Migration {
  override name = 'Migration20261127153000_doubts_of_collections';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "calendar" add "missing_since" timestamptz null, add "emptied_since" timestamptz null;`,
    );
    this.addSql(`alter table "sync_job" add "contacts_emptied_since" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "calendar" drop column "missing_since", drop column "emptied_since";`);
    this.addSql(`alter table "sync_job" drop column "contacts_emptied_since";`);
  }
}
