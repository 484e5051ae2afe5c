import { Migration } from '@mikro-orm/migrations';

/** What applications use of companies' APIs in a day. Processes of the release before count none. */
export class Migration20261127153000_use_of_company_apis extends Migration {
  override name = 'Migration20261127153000_use_of_company_apis';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "api_use" ("application_id" uuid not null, "api" text not null, "day" date not null, "units" bigint not null, primary key ("application_id", "api", "day"));`,
    );
    this.addSql(`create index "api_use_day" on "api_use" ("day");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "api_use" cascade;`);
  }
}
