import { Migration } from '@mikro-orm/migrations';

/** Filters and content of webhooks, and what filters compare of an event. */
export class Migration20261128133000_webhook_filters extends Migration {
  override name = 'Migration20261128133000_webhook_filters';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "webhook" add "filter_accounts" uuid[] null, add "filter_folders" uuid[] null,
       add "filter_domains" text[] null, add "content" text not null default 'ids';`,
    );
    this.addSql(
      `alter table "webhook" add constraint "webhook_content_check" check (content in ('ids', 'summary', 'full'));`,
    );
    this.addSql(
      `alter table "webhook_event" add "folders" uuid[] null, add "from_domains" text[] null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "webhook_event" drop column "folders", drop column "from_domains";`);
    this.addSql(
      `alter table "webhook" drop column "filter_accounts", drop column "filter_folders",
       drop column "filter_domains", drop column "content";`,
    );
  }
}
