import { Migration } from '@mikro-orm/migrations';

/** The timeline of the database server, and its last failover (docs/adr/0127). */
export class Migration20261127190000_failovers extends Migration {
  override name = 'Migration20261127190000_failovers';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "instance" add "timeline" int null, add "synchronous" boolean not null default false, add "failover" jsonb null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "instance" drop column "timeline", drop column "synchronous", drop column "failover";`,
    );
  }
}
