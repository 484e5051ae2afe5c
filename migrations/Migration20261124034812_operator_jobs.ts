import { Migration } from '@mikro-orm/migrations';

export class Migration20261124034812_operator_jobs extends Migration {
  override name = 'Migration20261124034812_operator_jobs';

  override up(): void | Promise<void> {
    this.addSql(`drop trigger if exists "job_status_moves" on "job_status";`);
    this.addSql(`drop function if exists "job_status_job_status_moves_fn"();`);
    this.addSql(`alter table "job_status" add "edited_at" timestamptz null;`);
    this.addSql(
      `create or replace function "job_status_job_status_moves_fn"() returns trigger as $$ begin if not (old.status = 'failed' and new.status = 'delayed' and old.reason like 'quarantined:%') and ((old.status = 'pending' and new.status not in ('pending', 'delayed', 'successful', 'failed', 'cancelled')) or (old.status = 'delayed' and new.status not in ('delayed', 'pending', 'successful', 'failed', 'cancelled')) or (old.status = 'successful' and new.status not in ('successful')) or (old.status = 'failed' and new.status not in ('failed')) or (old.status = 'cancelled' and new.status not in ('cancelled'))) then raise exception 'job % cannot move from % to %', old.id, old.status, new.status using errcode = 'check_violation'; end if; return new; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "job_status_moves" BEFORE UPDATE on "job_status" for each ROW execute function "job_status_job_status_moves_fn"();`,
    );

    this.addSql(
      `create index "job_attempt_failed" on "job_attempt" ("job_id") where next_at is null and outcome <> 'sent';`,
    );

    this.addSql(`drop index "outbox_message_foreign_header";`);
    this.addSql(
      `create index "outbox_message_recipients" on "outbox_message" using gin ((lower(envelope ->> 'recipients')::jsonb) jsonb_path_ops) with (gin_pending_list_limit = 256);`,
    );
    this.addSql(
      `create index "outbox_message_subject" on "outbox_message" using gin (to_tsvector('simple'::regconfig, left(content ->> 'subject', 500))) with (gin_pending_list_limit = 256);`,
    );
    this.addSql(
      `create index "outbox_message_foreign_header" on "outbox_message" ("message_id_header", "account_id") where foreign_header;`,
    );

    this.addSql(`create index "reminder_recipient" on "reminder" (lower(recipient), id);`);

    this.addSql(`alter table "webhook_attempt" add "response" text null;`);
    this.addSql(`create index "webhook_attempt_event" on "webhook_attempt" ("event_id");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "job_attempt_failed";`);

    this.addSql(`drop trigger if exists "job_status_moves" on "job_status";`);
    this.addSql(`drop function if exists "job_status_job_status_moves_fn"();`);
    this.addSql(`alter table "job_status" drop column "edited_at";`);
    this.addSql(
      `create or replace function "job_status_job_status_moves_fn"() returns trigger as $$ begin if (old.status = 'pending' and new.status not in ('pending', 'delayed', 'successful', 'failed', 'cancelled')) or (old.status = 'delayed' and new.status not in ('delayed', 'pending', 'successful', 'failed', 'cancelled')) or (old.status = 'successful' and new.status not in ('successful')) or (old.status = 'failed' and new.status not in ('failed')) or (old.status = 'cancelled' and new.status not in ('cancelled')) then raise exception 'job % cannot move from % to %', old.id, old.status, new.status using errcode = 'check_violation'; end if; return new; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "job_status_moves" BEFORE UPDATE on "job_status" for each ROW execute function "job_status_job_status_moves_fn"();`,
    );

    this.addSql(`drop index "outbox_message_recipients";`);
    this.addSql(`drop index "outbox_message_subject";`);
    this.addSql(`drop index "outbox_message_foreign_header";`);
    this.addSql(
      `create index "outbox_message_foreign_header" on "outbox_message" ("account_id", "message_id_header") where foreign_header;`,
    );

    this.addSql(`drop index "reminder_recipient";`);

    this.addSql(`drop index "webhook_attempt_event";`);
    this.addSql(`alter table "webhook_attempt" drop column "response";`);
  }
}
