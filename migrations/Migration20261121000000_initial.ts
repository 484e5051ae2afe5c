import { Migration } from '@mikro-orm/migrations';

export class Migration20261121000000_initial extends Migration {
  override name = 'Migration20261121000000_initial';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "account_gate" ("account_id" uuid not null, "next_slot" timestamptz not null default '-infinity', "slot_ms" int not null default 50, "max_in_flight" smallint not null default 8, "closed_until" timestamptz null, "failures" smallint not null default 0, "close_reason" text null, primary key ("account_id"));`,
    );

    this.addSql(
      `create table "application" ("id" uuid not null, "client_id" text not null, "name" text not null, "secret_hash" bytea not null, "secret_sealed" text not null, "plan" text not null, "features" text[] not null, "region" text not null, "icon_url" text null, "redirect_uris" text[] not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "application" add constraint "application_client_id_unique" unique ("client_id");`,
    );
    this.addSql(
      `alter table "application" add constraint "application_secret_hash_unique" unique ("secret_hash");`,
    );

    this.addSql(
      `create table "authorization_code" ("id" uuid not null, "application_id" uuid not null, "hash" bytea not null, "request_sealed" text not null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "authorization_code" add constraint "authorization_code_hash_unique" unique ("hash");`,
    );
    this.addSql(
      `create index "authorization_code_application" on "authorization_code" ("application_id");`,
    );
    this.addSql(`create index "authorization_code_expiry" on "authorization_code" ("expires_at");`);

    this.addSql(
      `create table "change" ("seq" bigserial primary key, "account_id" uuid not null, "object" text not null, "object_id" uuid not null, "event" text not null, "xid" xid8 not null default pg_current_xact_id(), "at" timestamptz not null default now());`,
    );
    this.addSql(`create index "change_account" on "change" ("account_id", "seq");`);
    this.addSql(`create index "change_at" on "change" ("at");`);

    this.addSql(
      `create table "integration" ("id" uuid not null, "application_id" uuid not null, "provider" text not null, "name" text not null, "settings" jsonb not null, "secret_settings_sealed" text null, "redirect_uris" text[] not null, "expires_in" int not null, "scope" text[] null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "integration" add constraint "integration_application_provider" unique ("application_id", "provider");`,
    );

    this.addSql(
      `create table "grant" ("id" uuid not null, "application_id" uuid not null, "integration_id" uuid null, "provider" text not null, "email" text not null, "name" text not null, "status" text not null, "status_reason" text null, "sync_state" text not null, "organization_unit" text not null, "billing_state" text not null, "metadata" jsonb not null, "scope" text[] null, "granted_scope" text[] null, "settings_sealed" text not null, "state" text null, "user_agent" text null, "ip" text null, "linked_at" timestamptz not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "grant_integration" on "grant" ("integration_id");`);
    this.addSql(
      `alter table "grant" add constraint "grant_application_provider_email" unique ("application_id", "provider", "email");`,
    );

    this.addSql(
      `create table "folder" ("id" uuid not null, "account_id" uuid not null, "provider_id" text not null, "name" text null, "display_name" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "folder" add constraint "folder_account_provider_id" unique ("account_id", "provider_id");`,
    );

    this.addSql(
      `create table "calendar" ("id" uuid not null, "account_id" uuid not null, "provider_id" text null, "name" text not null, "description" text null, "location" text null, "timezone" text null, "hex_color" text null, "is_primary" boolean not null, "read_only" boolean not null, "metadata" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "calendar" add constraint "calendar_account_provider_id" unique ("account_id", "provider_id");`,
    );

    this.addSql(
      `create table "event" ("id" uuid not null, "account_id" uuid not null, "calendar_id" uuid not null, "provider_id" text null, "ical_uid" text null, "title" text not null, "description" text not null, "location" text not null, "when_value" jsonb not null, "starts_at" timestamptz not null, "ends_at" timestamptz not null, "busy" boolean not null, "read_only" boolean not null, "status" text not null, "visibility" text null, "hide_participants" boolean not null, "participants" jsonb not null, "organizer_email" text null, "organizer_name" text null, "recurrence" jsonb null, "conferencing" jsonb null, "reminders" jsonb null, "notifications" jsonb not null, "metadata" jsonb not null, "customer_event_id" text null, "event_collection_id" text null, "capacity" int null, "round_robin_order" text[] not null, "version" int not null default 1, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "event_account_start" on "event" ("account_id", "starts_at", "id");`);
    this.addSql(`create index "event_calendar_start" on "event" ("calendar_id", "starts_at");`);
    this.addSql(
      `alter table "event" add constraint "event_account_provider_id" unique ("account_id", "provider_id");`,
    );

    this.addSql(
      `create table "access_token" ("id" uuid not null, "grant_id" uuid not null, "hash" bytea not null, "created_at" timestamptz not null, "revoked_at" timestamptz null, "expires_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "access_token" add constraint "access_token_hash_unique" unique ("hash");`,
    );
    this.addSql(`create index "access_token_grant" on "access_token" ("grant_id");`);

    this.addSql(
      `create table "job_status" ("id" uuid not null, "account_id" uuid not null, "action" text not null, "object" text not null, "object_id" uuid null, "status" text not null, "reason" text null, "send_at" timestamptz null, "original_send_at" timestamptz null, "retry_limit_at" timestamptz null, "message_id" uuid null, "thread_id" uuid null, "version" int not null default 1, "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "job_status_list" on "job_status" ("account_id", "id");`);

    this.addSql(
      `create table "job_attempt" ("id" uuid not null, "job_id" uuid not null, "attempt" smallint not null, "started_at" timestamptz not null, "ended_at" timestamptz not null, "outcome" text not null, "phase" text null, "code" text null, "detail" text null, "next_at" timestamptz null, "rule" text null, primary key ("id"));`,
    );
    this.addSql(`create index "job_attempt_job" on "job_attempt" ("job_id", "id");`);

    this.addSql(
      `create table "outbox_message" ("id" uuid not null, "account_id" uuid not null, "content" jsonb not null, "envelope" jsonb not null, "mime" bytea not null, "message_id_header" text not null, primary key ("id"));`,
    );
    this.addSql(`create index "outbox_message_account" on "outbox_message" ("account_id", "id");`);

    this.addSql(
      `create table "provider_job" ("id" uuid not null, "run_at" timestamptz not null, "due_at" timestamptz not null, "handoff_at" timestamptz null, "fence" int not null default 0, "worker_id" int null, "shard" smallint not null default 0, "state" smallint not null default 0, "attempt" smallint not null default 0, "ambiguous" boolean not null default false, "crashes" smallint not null default 0, "account_id" uuid not null, "action" text not null, "object_id" uuid not null, "payload" jsonb not null, primary key ("id"));`,
    );
    this.addSql(`create index "provider_job_due" on "provider_job" ("run_at") where state = 0;`);
    this.addSql(
      `create index "provider_job_busy" on "provider_job" ("account_id") where state = 1;`,
    );
    this.addSql(`create index "provider_job_object" on "provider_job" ("object_id");`);

    this.addSql(
      `create table "reminder" ("id" uuid not null, "account_id" uuid not null, "event_id" uuid not null, "notification_id" uuid not null, "participant" text not null, "type" text not null, "recipient" text not null, "name" text not null, "due_at" timestamptz not null, "expires_at" timestamptz not null, "status" text not null, "reason" text null, "attempts" smallint not null default 0, "message_id_header" text null, "sent_at" timestamptz null, "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "reminder_account" on "reminder" ("account_id");`);
    this.addSql(
      `alter table "reminder" add constraint "reminder_once" unique ("event_id", "notification_id", "participant", "due_at");`,
    );

    this.addSql(
      `create table "reminder_content" ("event_id" uuid not null, "notification_id" uuid not null, "account_id" uuid not null, "content" jsonb not null, primary key ("event_id", "notification_id"));`,
    );
    this.addSql(`create index "reminder_content_account" on "reminder_content" ("account_id");`);

    this.addSql(
      `create table "reminder_job" ("id" uuid not null, "run_at" timestamptz not null, "due_at" timestamptz not null, "handoff_at" timestamptz null, "fence" int not null default 0, "worker_id" int null, "shard" smallint not null default 0, "state" smallint not null default 0, "attempt" smallint not null default 0, "ambiguous" boolean not null default false, "crashes" smallint not null default 0, "account_id" uuid not null, primary key ("id"));`,
    );
    this.addSql(`create index "reminder_job_due" on "reminder_job" ("run_at") where state = 0;`);
    this.addSql(
      `create index "reminder_job_busy" on "reminder_job" ("account_id") where state = 1;`,
    );

    this.addSql(
      `create table "sandbox_calendar" ("id" uuid not null, "application_id" uuid not null, "address" text not null, "is_primary" boolean not null, "data" jsonb not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "sandbox_calendar_mailbox" on "sandbox_calendar" ("application_id", "address");`,
    );

    this.addSql(
      `create table "sandbox_event" ("id" uuid not null, "application_id" uuid not null, "address" text not null, "calendar_id" uuid not null, "data" jsonb not null, primary key ("id"));`,
    );
    this.addSql(`create index "sandbox_event_calendar" on "sandbox_event" ("calendar_id");`);

    this.addSql(
      `create table "sandbox_fault" ("key" text not null, "count" int not null, "at" timestamptz not null default now(), primary key ("key"));`,
    );

    this.addSql(
      `create table "sandbox_mailbox" ("application_id" uuid not null, "address" text not null, "modseq" bigint not null, primary key ("application_id", "address"));`,
    );

    this.addSql(
      `create table "sandbox_message" ("id" uuid not null, "application_id" uuid not null, "address" text not null, "folders" text[] not null, "mime" bytea not null, "received_at" timestamptz not null, "unread" boolean not null, "starred" boolean not null, "deleted" boolean not null default false, "added_modseq" bigint not null, "modseq" bigint not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "sandbox_message_mailbox" on "sandbox_message" ("application_id", "address", "modseq");`,
    );

    this.addSql(
      `create table "send_job" ("id" uuid not null, "run_at" timestamptz not null, "due_at" timestamptz not null, "handoff_at" timestamptz null, "fence" int not null default 0, "worker_id" int null, "shard" smallint not null default 0, "state" smallint not null default 0, "attempt" smallint not null default 0, "ambiguous" boolean not null default false, "crashes" smallint not null default 0, "account_id" uuid not null, "retry_limit_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "send_job_due" on "send_job" ("run_at") where state = 0;`);
    this.addSql(`create index "send_job_busy" on "send_job" ("account_id") where state = 1;`);

    this.addSql(
      `create table "sms_message" ("id" uuid not null, "account_id" uuid not null, "phone_number" text not null, "text" text not null, "dedupe" text not null, "created_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(
      `alter table "sms_message" add constraint "sms_message_dedupe_unique" unique ("dedupe");`,
    );

    this.addSql(
      `create table "sync_job" ("id" uuid not null, "run_at" timestamptz not null, "due_at" timestamptz not null, "handoff_at" timestamptz null, "fence" int not null default 0, "worker_id" int null, "shard" smallint not null default 0, "state" smallint not null default 0, "attempt" smallint not null default 0, "ambiguous" boolean not null default false, "crashes" smallint not null default 0, "account_id" uuid not null, "cursor" text null, "current_since" timestamptz null, "again" boolean not null default false, "failures" smallint not null default 0, primary key ("id"));`,
    );
    this.addSql(
      `alter table "sync_job" add constraint "sync_job_account_id_unique" unique ("account_id");`,
    );
    this.addSql(`create index "sync_job_due" on "sync_job" ("run_at") where state = 0;`);
    this.addSql(`create index "sync_job_busy" on "sync_job" ("account_id") where state = 1;`);

    this.addSql(
      `create table "thread" ("id" uuid not null, "account_id" uuid not null, "subject" text not null, "first_message_at" timestamptz not null, "last_message_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at");`,
    );

    this.addSql(
      `create table "message" ("id" uuid not null, "account_id" uuid not null, "provider_id" text not null, "thread_id" uuid not null, "subject" text not null, "snippet" text not null, "date" timestamptz not null, "from_addresses" jsonb not null, "to_addresses" jsonb not null, "cc_addresses" jsonb not null, "bcc_addresses" jsonb not null, "reply_to_addresses" jsonb not null, "participants" text[] not null, "unread" boolean not null, "starred" boolean not null, "has_attachments" boolean not null, "draft" boolean not null, "message_id_header" text null, "in_reply_to" text null, "reference_ids" text[] not null, "metadata" jsonb not null, "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "message_account_date" on "message" ("account_id", "date", "id");`);
    this.addSql(
      `create index "message_account_header" on "message" ("account_id", "message_id_header");`,
    );
    this.addSql(`create index "message_thread" on "message" ("thread_id");`);
    this.addSql(
      `create index "message_account_unread" on "message" ("account_id", "date", "id") where unread;`,
    );
    this.addSql(`create index "message_participants" on "message" using gin ("participants");`);
    this.addSql(
      `alter table "message" add constraint "message_account_provider_id" unique ("account_id", "provider_id");`,
    );

    this.addSql(
      `create table "message_folder" ("message_id" uuid not null, "folder_id" uuid not null, primary key ("message_id", "folder_id"));`,
    );
    this.addSql(`create index "message_folder_folder" on "message_folder" ("folder_id");`);

    this.addSql(
      `create table "message_body" ("message_id" uuid not null, "body" text not null, primary key ("message_id"));`,
    );

    this.addSql(
      `create table "file" ("id" uuid not null, "account_id" uuid not null, "message_id" uuid not null, "part" int not null, "filename" text not null, "content_type" text not null, "content_disposition" text not null, "content_id" text null, "size" int not null, primary key ("id"));`,
    );
    this.addSql(`create index "file_account" on "file" ("account_id", "id");`);
    this.addSql(`create index "file_message" on "file" ("message_id");`);

    this.addSql(
      `create table "webhook" ("id" uuid not null, "application_id" uuid not null, "callback_url" text not null, "state" text not null, "triggers" text[] not null, "subscribed_at" timestamptz not null, "failing_since" timestamptz null, "failures" int not null default 0, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "webhook" add constraint "webhook_application_callback_url" unique ("application_id", "callback_url");`,
    );

    this.addSql(
      `create table "hook_job" ("id" uuid not null, "run_at" timestamptz not null, "due_at" timestamptz not null, "handoff_at" timestamptz null, "fence" int not null default 0, "worker_id" int null, "shard" smallint not null default 0, "state" smallint not null default 0, "attempt" smallint not null default 0, "ambiguous" boolean not null default false, "crashes" smallint not null default 0, "event_id" uuid not null, "webhook_id" uuid not null, "give_up_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "hook_job_due" on "hook_job" ("run_at") where state = 0;`);
    this.addSql(`create index "hook_job_busy" on "hook_job" ("webhook_id") where state = 1;`);
    this.addSql(`create index "hook_job_webhook" on "hook_job" ("webhook_id");`);
    this.addSql(
      `alter table "hook_job" add constraint "hook_job_event_webhook" unique ("event_id", "webhook_id");`,
    );

    this.addSql(
      `create table "webhook_attempt" ("id" uuid not null, "webhook_id" uuid not null, "event_id" uuid not null, "attempt" smallint not null, "started_at" timestamptz not null, "took_ms" int not null, "http_status" smallint null, "outcome" text not null, "detail" text null, "next_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(
      `create index "webhook_attempt_webhook" on "webhook_attempt" ("webhook_id", "id");`,
    );

    this.addSql(
      `create table "webhook_event" ("id" uuid not null, "application_id" uuid not null, "type" text not null, "body" bytea not null, "dedupe" text not null, "created_at" timestamptz not null default now(), primary key ("id"));`,
    );
    this.addSql(
      `alter table "webhook_event" add constraint "webhook_event_dedupe_unique" unique ("dedupe");`,
    );
    this.addSql(
      `create index "webhook_event_application" on "webhook_event" ("application_id", "id");`,
    );

    this.addSql(
      `create table "worker" ("id" serial primary key, "host" text not null, "pid" int not null, "started_at" timestamptz not null default now(), "seen_at" timestamptz not null default now());`,
    );

    this.addSql(
      `alter table "application" add constraint "application_plan_check" check ("plan" in ('quickstart', 'standard'));`,
    );

    this.addSql(
      `alter table "authorization_code" add constraint "authorization_code_application_id_foreign" foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "integration" add constraint "integration_application_id_foreign" foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "grant" add constraint "grant_application_id_foreign" foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_integration_id_foreign" foreign key ("integration_id") references "integration" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_status_check" check ("status" in ('valid', 'invalid'));`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_sync_state_check" check ("sync_state" in ('initializing', 'downloading', 'running', 'partial', 'invalid', 'stopped', 'sync-error'));`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_organization_unit_check" check ("organization_unit" in ('folder', 'label'));`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_billing_state_check" check ("billing_state" in ('paid', 'cancelled'));`,
    );

    this.addSql(
      `alter table "folder" add constraint "folder_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "calendar" add constraint "calendar_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "event" add constraint "event_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "event" add constraint "event_calendar_id_foreign" foreign key ("calendar_id") references "calendar" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "event" add constraint "event_status_check" check ("status" in ('confirmed', 'tentative', 'cancelled'));`,
    );

    this.addSql(
      `alter table "access_token" add constraint "access_token_grant_id_foreign" foreign key ("grant_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "job_status" add constraint "job_status_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "job_status" add constraint "job_status_reason" check ((reason is not null) = (status in ('delayed', 'failed', 'cancelled')));`,
    );
    this.addSql(
      `alter table "job_status" add constraint "job_status_status_check" check ("status" in ('pending', 'delayed', 'successful', 'failed', 'cancelled'));`,
    );

    this.addSql(
      `alter table "job_attempt" add constraint "job_attempt_job_id_foreign" foreign key ("job_id") references "job_status" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "outbox_message" add constraint "outbox_message_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "reminder" add constraint "reminder_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "reminder" add constraint "reminder_reason" check (reason is not null or status in ('scheduled', 'sent'));`,
    );
    this.addSql(
      `alter table "reminder" add constraint "reminder_type_check" check ("type" in ('email', 'sms', 'webhook'));`,
    );
    this.addSql(
      `alter table "reminder" add constraint "reminder_status_check" check ("status" in ('scheduled', 'sent', 'failed', 'skipped', 'cancelled'));`,
    );

    this.addSql(
      `alter table "reminder_content" add constraint "reminder_content_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "sync_job" add constraint "sync_job_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "thread" add constraint "thread_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "message" add constraint "message_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "message" add constraint "message_thread_id_foreign" foreign key ("thread_id") references "thread" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "message_folder" add constraint "message_folder_message_id_foreign" foreign key ("message_id") references "message" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "message_folder" add constraint "message_folder_folder_id_foreign" foreign key ("folder_id") references "folder" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "message_body" add constraint "message_body_message_id_foreign" foreign key ("message_id") references "message" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "file" add constraint "file_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "file" add constraint "file_message_id_foreign" foreign key ("message_id") references "message" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "webhook" add constraint "webhook_application_id_foreign" foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "webhook" add constraint "webhook_state_check" check ("state" in ('active', 'inactive', 'failing', 'failed'));`,
    );

    this.addSql(
      `alter table "hook_job" add constraint "hook_job_webhook_id_foreign" foreign key ("webhook_id") references "webhook" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "authorization_code" drop constraint "authorization_code_application_id_foreign";`,
    );
    this.addSql(`alter table "integration" drop constraint "integration_application_id_foreign";`);
    this.addSql(`alter table "grant" drop constraint "grant_application_id_foreign";`);
    this.addSql(`alter table "webhook" drop constraint "webhook_application_id_foreign";`);
    this.addSql(`alter table "grant" drop constraint "grant_integration_id_foreign";`);
    this.addSql(`alter table "folder" drop constraint "folder_account_id_foreign";`);
    this.addSql(`alter table "calendar" drop constraint "calendar_account_id_foreign";`);
    this.addSql(`alter table "event" drop constraint "event_account_id_foreign";`);
    this.addSql(`alter table "access_token" drop constraint "access_token_grant_id_foreign";`);
    this.addSql(`alter table "job_status" drop constraint "job_status_account_id_foreign";`);
    this.addSql(
      `alter table "outbox_message" drop constraint "outbox_message_account_id_foreign";`,
    );
    this.addSql(`alter table "reminder" drop constraint "reminder_account_id_foreign";`);
    this.addSql(
      `alter table "reminder_content" drop constraint "reminder_content_account_id_foreign";`,
    );
    this.addSql(`alter table "sync_job" drop constraint "sync_job_account_id_foreign";`);
    this.addSql(`alter table "thread" drop constraint "thread_account_id_foreign";`);
    this.addSql(`alter table "message" drop constraint "message_account_id_foreign";`);
    this.addSql(`alter table "file" drop constraint "file_account_id_foreign";`);
    this.addSql(`alter table "message_folder" drop constraint "message_folder_folder_id_foreign";`);
    this.addSql(`alter table "event" drop constraint "event_calendar_id_foreign";`);
    this.addSql(`alter table "job_attempt" drop constraint "job_attempt_job_id_foreign";`);
    this.addSql(`alter table "message" drop constraint "message_thread_id_foreign";`);
    this.addSql(
      `alter table "message_folder" drop constraint "message_folder_message_id_foreign";`,
    );
    this.addSql(`alter table "message_body" drop constraint "message_body_message_id_foreign";`);
    this.addSql(`alter table "file" drop constraint "file_message_id_foreign";`);
    this.addSql(`alter table "hook_job" drop constraint "hook_job_webhook_id_foreign";`);

    this.addSql(`drop table if exists "account_gate" cascade;`);
    this.addSql(`drop table if exists "application" cascade;`);
    this.addSql(`drop table if exists "authorization_code" cascade;`);
    this.addSql(`drop table if exists "change" cascade;`);
    this.addSql(`drop table if exists "integration" cascade;`);
    this.addSql(`drop table if exists "grant" cascade;`);
    this.addSql(`drop table if exists "folder" cascade;`);
    this.addSql(`drop table if exists "calendar" cascade;`);
    this.addSql(`drop table if exists "event" cascade;`);
    this.addSql(`drop table if exists "access_token" cascade;`);
    this.addSql(`drop table if exists "job_status" cascade;`);
    this.addSql(`drop table if exists "job_attempt" cascade;`);
    this.addSql(`drop table if exists "outbox_message" cascade;`);
    this.addSql(`drop table if exists "provider_job" cascade;`);
    this.addSql(`drop table if exists "reminder" cascade;`);
    this.addSql(`drop table if exists "reminder_content" cascade;`);
    this.addSql(`drop table if exists "reminder_job" cascade;`);
    this.addSql(`drop table if exists "sandbox_calendar" cascade;`);
    this.addSql(`drop table if exists "sandbox_event" cascade;`);
    this.addSql(`drop table if exists "sandbox_fault" cascade;`);
    this.addSql(`drop table if exists "sandbox_mailbox" cascade;`);
    this.addSql(`drop table if exists "sandbox_message" cascade;`);
    this.addSql(`drop table if exists "send_job" cascade;`);
    this.addSql(`drop table if exists "sms_message" cascade;`);
    this.addSql(`drop table if exists "sync_job" cascade;`);
    this.addSql(`drop table if exists "thread" cascade;`);
    this.addSql(`drop table if exists "message" cascade;`);
    this.addSql(`drop table if exists "message_folder" cascade;`);
    this.addSql(`drop table if exists "message_body" cascade;`);
    this.addSql(`drop table if exists "file" cascade;`);
    this.addSql(`drop table if exists "webhook" cascade;`);
    this.addSql(`drop table if exists "hook_job" cascade;`);
    this.addSql(`drop table if exists "webhook_attempt" cascade;`);
    this.addSql(`drop table if exists "webhook_event" cascade;`);
    this.addSql(`drop table if exists "worker" cascade;`);
  }
}
