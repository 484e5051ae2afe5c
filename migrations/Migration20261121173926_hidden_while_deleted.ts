import { Migration } from '@mikro-orm/migrations';

export class Migration20261121173926_hidden_while_deleted extends Migration {
  override name = 'Migration20261121173926_hidden_while_deleted';

  override up(): void | Promise<void> {
    this.addSql(`alter table "folder" add "deleting" boolean not null default false;`);

    this.addSql(`alter table "message" add "deleting" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "folder" drop column "deleting";`);

    this.addSql(`alter table "message" drop column "deleting";`);
  }
}
