import { Migration } from '@mikro-orm/migrations';

export class Migration20261122221617_access_token_uses extends Migration {
  override name = 'Migration20261122221617_access_token_uses';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "application" add "token_lifetime" int null, add "revokes_older_tokens" boolean not null default false;`,
    );

    this.addSql(
      `alter table "access_token" add "scope" text[] null, add "last_used_at" timestamptz null;`,
    );
    this.addSql(
      `create index "access_token_revoked" on "access_token" ("revoked_at") where revoked_at is not null;`,
    );
    this.addSql(
      `create index "access_token_expires" on "access_token" ("expires_at") where expires_at is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "access_token_revoked";`);
    this.addSql(`drop index "access_token_expires";`);
    this.addSql(`alter table "access_token" drop column "scope", drop column "last_used_at";`);

    this.addSql(
      `alter table "application" drop column "token_lifetime", drop column "revokes_older_tokens";`,
    );
  }
}
