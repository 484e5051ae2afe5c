import { Migration } from '@mikro-orm/migrations';

export class Migration20261124033155_audit_and_operators extends Migration {
  override name = 'Migration20261124033155_audit_and_operators';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_entry" ("id" uuid not null, "at" timestamptz not null default now(), "actor_kind" text not null, "actor_id" text null, "actor_name" text not null, "actor_address" text null, "action" text not null, "target_type" text not null, "target_id" text not null, "application_id" uuid null, "account_id" uuid null, "details" jsonb not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "audit_entry_application" on "audit_entry" ("application_id", "id");`,
    );
    this.addSql(`create index "audit_entry_account" on "audit_entry" ("account_id", "id");`);
    this.addSql(`create index "audit_entry_target" on "audit_entry" ("target_id", "id");`);
    this.addSql(`create index "audit_entry_actor" on "audit_entry" ("actor_id", "id");`);
    this.addSql(`create index "audit_entry_at" on "audit_entry" ("at");`);

    this.addSql(
      `create table "operator" ("id" uuid not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, "name" text not null, "role" text not null, "password_hash" text null, "issuer" text null, "subject" text null, "last_sign_in_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(`alter table "operator" add constraint "operator_name_unique" unique ("name");`);
    this.addSql(
      `alter table "operator" add constraint "operator_subject" unique ("issuer", "subject");`,
    );

    this.addSql(
      `create table "operator_link" ("hash" bytea not null, "operator_id" uuid not null, "ends_at" timestamptz not null, primary key ("hash"));`,
    );
    this.addSql(`create index "operator_link_operator" on "operator_link" ("operator_id");`);
    this.addSql(`create index "operator_link_ends" on "operator_link" ("ends_at");`);

    this.addSql(
      `create table "operator_session" ("id" uuid not null, "operator_id" uuid not null, "hash" bytea not null, "created_at" timestamptz not null, "last_used_at" timestamptz not null, "ends_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "operator_session" add constraint "operator_session_hash_unique" unique ("hash");`,
    );
    this.addSql(`create index "operator_session_operator" on "operator_session" ("operator_id");`);
    this.addSql(`create index "operator_session_ends" on "operator_session" ("ends_at");`);

    this.addSql(
      `create table "operator_token" ("id" uuid not null, "operator_id" uuid not null, "hash" bytea not null, "note" text not null, "role" text not null, "created_at" timestamptz not null, "expires_at" timestamptz null, "last_used_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "operator_token" add constraint "operator_token_hash_unique" unique ("hash");`,
    );
    this.addSql(`create index "operator_token_operator" on "operator_token" ("operator_id");`);

    this.addSql(
      `alter table "audit_entry" add constraint "audit_entry_actor_kind_check" check ("actor_kind" in ('operator', 'application', 'token', 'system'));`,
    );

    this.addSql(
      `alter table "operator" add constraint "operator_role_check" check ("role" in ('read', 'operate'));`,
    );

    this.addSql(
      `alter table "operator_link" add constraint "operator_link_operator_id_foreign" foreign key ("operator_id") references "operator" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "operator_session" add constraint "operator_session_operator_id_foreign" foreign key ("operator_id") references "operator" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "operator_token" add constraint "operator_token_operator_id_foreign" foreign key ("operator_id") references "operator" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "operator_token" add constraint "operator_token_role_check" check ("role" in ('read', 'operate'));`,
    );

    // Entries are never changed. They are deleted only by the clean-up, which names the age in its
    // own transaction, and never while they are younger than 30 days.
    this.addSql(
      `create function audit_entry_is_append_only() returns trigger language plpgsql as $$
       begin
         if tg_op = 'DELETE' then
           -- An unset setting is null or empty, and least() would ignore null.
           if old.at < now() - interval '30 days' and old.at <
              nullif(current_setting('carillon.audit_kept_since', true), '')::timestamptz then
             return old;
           end if;
         end if;
         raise exception 'the audit log is append-only: % of audit_entry is refused', lower(tg_op)
           using errcode = 'restrict_violation';
       end $$;`,
    );
    this.addSql(
      `create trigger audit_entry_rows before update or delete on audit_entry
       for each row execute function audit_entry_is_append_only();`,
    );
    this.addSql(
      `create trigger audit_entry_whole before truncate on audit_entry
       for each statement execute function audit_entry_is_append_only();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "operator_link" drop constraint "operator_link_operator_id_foreign";`);
    this.addSql(
      `alter table "operator_session" drop constraint "operator_session_operator_id_foreign";`,
    );
    this.addSql(
      `alter table "operator_token" drop constraint "operator_token_operator_id_foreign";`,
    );

    this.addSql(`drop table if exists "audit_entry" cascade;`);
    this.addSql(`drop function if exists audit_entry_is_append_only();`);
    this.addSql(`drop table if exists "operator" cascade;`);
    this.addSql(`drop table if exists "operator_link" cascade;`);
    this.addSql(`drop table if exists "operator_session" cascade;`);
    this.addSql(`drop table if exists "operator_token" cascade;`);
  }
}
