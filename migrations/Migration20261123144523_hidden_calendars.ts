import { Migration } from '@mikro-orm/migrations';

export class Migration20261123144523_hidden_calendars extends Migration {
  override name = 'Migration20261123144523_hidden_calendars';

  override up(): void | Promise<void> {
    this.addSql(`alter table "calendar" add "deleting" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "calendar" drop column "deleting";`);
  }
}
