import { Migration } from '@mikro-orm/migrations';

export class Migration20261121151612_put_off_recipients extends Migration {
  override name = 'Migration20261121151612_put_off_recipients';

  override up(): void | Promise<void> {
    this.addSql(`alter table "send_job" add "put_off" jsonb null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "send_job" drop column "put_off";`);
  }
}
