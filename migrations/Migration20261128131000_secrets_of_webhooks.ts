import { Migration } from '@mikro-orm/migrations';

/**
 * Signing secrets of single webhooks, and client secrets that stay valid for a time after a rotation
 * (docs/adr/0151).
 */
export class Migration20261128131000_secrets_of_webhooks extends Migration {
  override name = 'Migration20261128131000_secrets_of_webhooks';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "webhook_secret" ("id" uuid not null, "webhook_id" uuid not null, "secret_sealed" text not null, "created_at" timestamptz not null, "expires_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(`create index "webhook_secret_webhook" on "webhook_secret" ("webhook_id");`);

    this.addSql(
      `alter table "application" add "previous_secret_hash" bytea null, add "previous_secret_sealed" text null, add "previous_secret_until" timestamptz null;`,
    );

    this.addSql(`alter table "webhook" add "client_secret_until" timestamptz null;`);

    this.addSql(
      `alter table "webhook_secret" add constraint "webhook_secret_webhook_id_foreign" foreign key ("webhook_id") references "webhook" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "webhook_secret" cascade;`);

    this.addSql(
      `alter table "application" drop column "previous_secret_hash", drop column "previous_secret_sealed", drop column "previous_secret_until";`,
    );

    this.addSql(`alter table "webhook" drop column "client_secret_until";`);
  }
}
