import { Migration } from '@mikro-orm/migrations';

export class Migration20261123180541_subject extends Migration {
  override name = 'Migration20261123180541_subject';

  override up(): void | Promise<void> {
    this.addSql(`alter table "grant" add "subject" text null;`);
    this.addSql(
      `create index "grant_provider_subject" on "grant" ("provider", "subject") where subject is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "grant_provider_subject";`);
    this.addSql(`alter table "grant" drop column "subject";`);
  }
}
