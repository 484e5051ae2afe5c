import { Migration } from '@mikro-orm/migrations';

/**
 * Which deliveries are replays. A process of the release before queues replays without the mark, and
 * delivers marked ones without the header.
 */
export class Migration20261128154500_replayed_events extends Migration {
  override name = 'Migration20261128154500_replayed_events';

  override up(): void | Promise<void> {
    this.addSql(`alter table "hook_job" add "replay" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "hook_job" drop column "replay";`);
  }
}
