import { Migration } from '@mikro-orm/migrations';

/** Contact addresses of applications, and mails about webhooks whose state has changed (ADR 0158). */
export class Migration20261128160000_webhook_mails extends Migration {
  override name = 'Migration20261128160000_webhook_mails';

  override up(): void | Promise<void> {
    this.addSql(`alter table "application" add "contact_email" text null;`);
    this.addSql(`alter table "webhook" add "mailed_state" text null;`);
    this.addSql(
      `alter table "webhook" add constraint "webhook_mailed_state_check" check (mailed_state in ('failing', 'failed'));`,
    );
    this.addSql(
      `create table "webhook_mail" ("application_id" uuid not null, "mail_id" uuid not null, "changes" int not null default 0, "due_at" timestamptz null, "attempts" smallint not null default 0, "sent_at" timestamptz null, primary key ("application_id"));`,
    );
    this.addSql(`create index "webhook_mail_due" on "webhook_mail" ("due_at");`);
    this.addSql(
      `alter table "webhook_mail" add constraint "webhook_mail_application_id_foreign" foreign key ("application_id") references "application" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "webhook_mail" cascade;`);
    this.addSql(`alter table "webhook" drop column "mailed_state";`);
    this.addSql(`alter table "application" drop column "contact_email";`);
  }
}
