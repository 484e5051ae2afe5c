import { Migration } from '@mikro-orm/migrations';

/**
 * Numbers of webhook events, and how far the events of each application are published.
 *
 * Events that are stored already get no number: giving one to each would rewrite the table.
 */
export class Migration20261128125000_numbered_events extends Migration {
  override name = 'Migration20261128125000_numbered_events';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "webhook_feed" ("application_id" uuid not null, "published_seq" bigint not null,
       primary key ("application_id"));`,
    );
    this.addSql(
      `alter table "webhook_feed" add constraint "webhook_feed_application_id_foreign" foreign key ("application_id")
       references "application" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(`alter table "webhook_event" add "seq" bigint null, add "account_id" uuid null;`);
    this.addSql(`create sequence "webhook_event_seq_seq" owned by "webhook_event"."seq";`);
    this.addSql(
      `alter table "webhook_event" alter "seq" set default nextval('webhook_event_seq_seq');`,
    );
    this.addSql(`create index "webhook_event_feed" on "webhook_event" ("application_id", "seq");`);
    this.addSql(`create index "webhook_event_account" on "webhook_event" ("account_id", "seq");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table "webhook_feed";`);
    this.addSql(`alter table "webhook_event" drop column "seq", drop column "account_id";`);
  }
}
