import { Migration } from '@mikro-orm/migrations';

/** Ceilings for single applications. Processes of the release before know the setting only. */
export class Migration20261127193000_ceilings_of_applications extends Migration {
  override name = 'Migration20261127193000_ceilings_of_applications';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "api_ceiling" ("application_id" uuid not null, "api" text not null, "units" bigint not null, primary key ("application_id", "api"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "api_ceiling" cascade;`);
  }
}
