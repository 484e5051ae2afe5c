import { Migration } from '@mikro-orm/migrations';

/** Look-ups of a reminder, which shared the counter of its attempts. */
export class Migration20261127223000_look_ups_of_reminders extends Migration {
  override name = 'Migration20261127223000_look_ups_of_reminders';

  override up(): void | Promise<void> {
    this.addSql(`alter table "reminder_job" add "look_ups" smallint not null default 0;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "reminder_job" drop column "look_ups";`);
  }
}
