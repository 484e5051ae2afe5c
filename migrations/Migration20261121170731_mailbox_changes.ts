import { Migration } from '@mikro-orm/migrations';

export class Migration20261121170731_mailbox_changes extends Migration {
  override name = 'Migration20261121170731_mailbox_changes';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "grant" add "tokens_sealed" text null, add "token_version" int not null default 0, add "token_lease_until" timestamptz null, add "sync_reason" text null;`,
    );

    this.addSql(`alter table "folder" alter column "provider_id" drop not null;`);

    this.addSql(`alter table "message" alter column "provider_id" drop not null;`);

    this.addSql(`alter table "message_body" add "headers" text null;`);

    this.addSql(`alter table "file" add "section" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "file" drop column "section";`);

    this.addSql(`alter table "folder" alter column "provider_id" set not null;`);

    this.addSql(
      `alter table "grant" drop column "tokens_sealed", drop column "token_version", drop column "token_lease_until", drop column "sync_reason";`,
    );

    this.addSql(`alter table "message" alter column "provider_id" set not null;`);

    this.addSql(`alter table "message_body" drop column "headers";`);
  }
}
