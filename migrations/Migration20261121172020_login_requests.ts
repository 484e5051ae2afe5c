import { Migration } from '@mikro-orm/migrations';

export class Migration20261121172020_login_requests extends Migration {
  override name = 'Migration20261121172020_login_requests';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "login_request" ("id" uuid not null, "application_id" uuid not null, "hash" bytea not null, "flow" text not null, "state" text not null, "reason" text null, "provider" text null, "redirect_uri" text not null, "response_type" text not null, "redirect_on_error" boolean not null, "client_state" text null, "scope" text[] null, "metadata" jsonb null, "login_hint" text null, "grant_id" uuid null, "settings_sealed" text null, "pending_sealed" text null, "browser_hash" bytea null, "oauth_state_hash" bytea null, "refusals" smallint not null default 0, "expires_at" timestamptz not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "login_request" add constraint "login_request_hash_unique" unique ("hash");`,
    );
    this.addSql(
      `alter table "login_request" add constraint "login_request_oauth_state_hash_unique" unique ("oauth_state_hash");`,
    );
    this.addSql(`create index "login_request_application" on "login_request" ("application_id");`);
    this.addSql(`create index "login_request_expiry" on "login_request" ("expires_at");`);

    this.addSql(
      `alter table "login_request" add constraint "login_request_application_id_foreign" foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "login_request" add constraint "login_request_flow_check" check ("flow" in ('connect', 'oauth'));`,
    );
    this.addSql(
      `alter table "login_request" add constraint "login_request_state_check" check ("state" in ('open', 'authenticated', 'finished', 'failed', 'cancelled'));`,
    );
    this.addSql(
      `alter table "login_request" add constraint "login_request_response_type_check" check ("response_type" in ('code', 'token'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "login_request" cascade;`);
  }
}
