import { Migration } from '@mikro-orm/migrations';

/* Every job is moved at least once: with a fifth of each page free only half of the moves found room beside the row. */
export class Migration20261122082500_room_for_moves extends Migration {
  override name = 'Migration20261122082500_room_for_moves';

  override up(): void | Promise<void> {
    this.addSql(`alter table "job_status" set (fillfactor = 50);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "job_status" set (fillfactor = 80);`);
  }
}
