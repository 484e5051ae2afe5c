import { Migration } from '@mikro-orm/migrations';

/* Every request to a provider updates its bucket: with room in the page, the update stays in it. */
export class Migration20261123174427_provider_buckets extends Migration {
  override name = 'Migration20261123174427_provider_buckets';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "provider_bucket" ("key" text not null, "tokens" double precision not null, "refilled_at" timestamptz not null, "blocked_until" timestamptz null, "full_at" timestamptz not null, primary key ("key")) with (fillfactor = 50);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "provider_bucket" cascade;`);
  }
}
