import { Migration } from '@mikro-orm/migrations';

/** The identity that a worker has which refuses the database, for the console. */
export class Migration20261127231500_refused_instances extends Migration {
  override name = 'Migration20261127231500_refused_instances';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "instance" add "refused_place" jsonb null, add "refused_at" timestamptz null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "instance" drop column "refused_place", drop column "refused_at";`);
  }
}
