import { Migration } from '@mikro-orm/migrations';

/*
 * Whoever searches opens hundreds of documents, and opening a compressed one takes three times as long as reading it. Those
 * that are there stay as they are until they are stored anew.
 */
export class Migration20261122111500_documents_as_they_are extends Migration {
  override name = 'Migration20261122111500_documents_as_they_are';

  override up(): void | Promise<void> {
    this.addSql(`alter table "message_search" alter column "document" set storage external;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "message_search" alter column "document" set storage extended;`);
  }
}
