import { Migration } from '@mikro-orm/migrations';

export class Migration20261121212134_long_file_names extends Migration {
  override name = 'Migration20261121212134_long_file_names';

  override up(): void | Promise<void> {
    this.addSql(`drop index "file_account_filename";`);
    this.addSql(`create index "file_account_filename" on "file" (account_id, md5(filename), id);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "file_account_filename";`);
    this.addSql(`create index "file_account_filename" on "file" ("account_id", "filename", "id");`);
  }
}
