import { Migration } from '@mikro-orm/migrations';

export class Migration20261123175001_push_subscriptions extends Migration {
  override name = 'Migration20261123175001_push_subscriptions';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "push_pull" ("integration_id" uuid not null, "due_at" timestamptz not null, "fence" int not null default 0, "failures" smallint not null default 0, "error" text null, "pulled_at" timestamptz null, primary key ("integration_id"));`,
    );
    this.addSql(`create index "push_pull_due" on "push_pull" ("due_at");`);

    this.addSql(
      `create table "push_subscription" ("id" uuid not null, "account_id" uuid not null, "provider" text not null, "resource" text not null, "wanted" boolean not null default true, "provider_id" text null, "secret_hash" bytea null, "details" jsonb null, "previous" jsonb null, "expires_at" timestamptz null, "renew_at" timestamptz null, "credentials" text null, "address" text null, "due_at" timestamptz not null, "lease_until" timestamptz null, "fence" int not null default 0, "failures" smallint not null default 0, "error" text null, "unsupported" boolean not null default false, "notified_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(`create index "push_subscription_due" on "push_subscription" ("due_at");`);
    this.addSql(
      `create index "push_subscription_provider" on "push_subscription" ("provider", "provider_id");`,
    );
    this.addSql(
      `alter table "push_subscription" add constraint "push_subscription_account_resource" unique ("account_id", "resource");`,
    );

    this.addSql(
      `alter table "push_pull" add constraint "push_pull_integration_id_foreign" foreign key ("integration_id") references "integration" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "push_subscription" add constraint "push_subscription_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "push_pull" cascade;`);
    this.addSql(`drop table if exists "push_subscription" cascade;`);
  }
}
