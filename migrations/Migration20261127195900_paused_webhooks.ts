import { Migration } from '@mikro-orm/migrations';

/** Whether an operator stopped a webhook: such a webhook is no failure that an alert reports. */
export class Migration20261127195900_paused_webhooks extends Migration {
  override name = 'Migration20261127195900_paused_webhooks';

  override up(): void | Promise<void> {
    this.addSql(`alter table "webhook" add "paused" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "webhook" drop column "paused";`);
  }
}
