import { Migration } from '@mikro-orm/migrations';

/**
 * The release of each worker. Workers of the release before write none. While one of them is alive,
 * no sent message is added to the mirror at once (ADR 0119): such a worker would end a change of the
 * message as if the message had been removed, and would give the message's id to the copy in the
 * inbox of somebody who writes to themselves. Stop the old workers soon, and before the API processes
 * (docs/upgrading.md).
 */
export class Migration20261127170000_releases_of_workers extends Migration {
  override name = 'Migration20261127170000_releases_of_workers';

  override up(): void | Promise<void> {
    this.addSql(`alter table "worker" add "release" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "worker" drop column "release";`);
  }
}
