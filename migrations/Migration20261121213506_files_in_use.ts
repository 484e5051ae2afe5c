import { Migration } from '@mikro-orm/migrations';

export class Migration20261121213506_files_in_use extends Migration {
  override name = 'Migration20261121213506_files_in_use';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "outbox_message_files" on "outbox_message" using gin ((content -> 'file_ids') jsonb_path_ops) where content -> 'file_ids' is not null;`,
    );

    this.addSql(
      `create index "file_account_type" on "file" (account_id, md5(lower(content_type)), id);`,
    );
    this.addSql(
      `create index "file_account_upload" on "file" ("account_id") where message_id is null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "file_account_type";`);
    this.addSql(`drop index "file_account_upload";`);

    this.addSql(`drop index "outbox_message_files";`);
  }
}
