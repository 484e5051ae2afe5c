import { Migration } from '@mikro-orm/migrations';

export class Migration20261122212902_sign_in_rules extends Migration {
  override name = 'Migration20261122212902_sign_in_rules';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "application" add "allows_token_response" boolean not null default false, add "allowed_scopes" text[] null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "application" drop column "allows_token_response", drop column "allowed_scopes";`,
    );
  }
}
