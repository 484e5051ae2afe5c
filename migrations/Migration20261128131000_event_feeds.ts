import { Migration } from '@mikro-orm/migrations';

/** Webhooks without an address, whose owner reads their events, and how far it has read. */
export class Migration20261128131000_event_feeds extends Migration {
  override name = 'Migration20261128131000_event_feeds';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "webhook" add "delivery" text not null default 'push', alter "callback_url" drop not null;`,
    );
    this.addSql(
      `alter table "webhook" add constraint "webhook_delivery_check" check ("delivery" in ('push', 'pull'));`,
    );
    this.addSql(
      `create table "webhook_position" ("webhook_id" uuid not null, "seq" bigint not null,
       "event_at" timestamptz not null, "acknowledged_at" timestamptz not null, primary key ("webhook_id"));`,
    );
    this.addSql(
      `alter table "webhook_position" add constraint "webhook_position_webhook_id_foreign" foreign key ("webhook_id")
       references "webhook" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `create table "webhook_event_pruned" ("application_id" uuid not null, "type" text not null,
       "seq" bigint not null, primary key ("application_id", "type"));`,
    );
    this.addSql(
      `alter table "webhook_event_pruned" add constraint "webhook_event_pruned_application_id_foreign"
       foreign key ("application_id") references "application" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table "webhook_event_pruned";`);
    this.addSql(`drop table "webhook_position";`);
    this.addSql(`delete from "webhook" where "callback_url" is null;`);
    this.addSql(`alter table "webhook" drop column "delivery", alter "callback_url" set not null;`);
  }
}
