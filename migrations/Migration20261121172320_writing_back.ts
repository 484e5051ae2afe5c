import { Migration } from '@mikro-orm/migrations';

export class Migration20261121172320_writing_back extends Migration {
  override name = 'Migration20261121172320_writing_back';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "sandbox_folder" ("id" uuid not null, "application_id" uuid not null, "address" text not null, "display_name" text not null, primary key ("id"));`,
    );
    this.addSql(
      `create unique index "sandbox_folder_name" on "sandbox_folder" (application_id, address, lower(display_name));`,
    );

    this.addSql(`alter table "sandbox_mailbox" add "folders_modseq" bigint not null default '0';`);

    this.addSql(
      `alter table "message" add "version" int not null default 0, add "reply_to_message_id" uuid null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "sandbox_folder" cascade;`);

    this.addSql(`alter table "message" drop column "version", drop column "reply_to_message_id";`);

    this.addSql(`alter table "sandbox_mailbox" drop column "folders_modseq";`);
  }
}
