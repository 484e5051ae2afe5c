import { Migration } from '@mikro-orm/migrations';

/** An audit may be under way: its listing moves to the new name with the table. */
export class Migration20261123232900_audit_listing extends Migration {
  override name = 'Migration20261123232900_audit_listing';

  override up(): void | Promise<void> {
    this.addSql(`alter table "listed_message" rename to "audit_listing";`);
    this.addSql(
      `alter table "audit_listing" rename constraint "listed_message_pkey" to "audit_listing_pkey";`,
    );
    this.addSql(
      `alter table "audit_listing" rename constraint "listed_message_account_id_foreign" to "audit_listing_account_id_foreign";`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "audit_listing" rename to "listed_message";`);
    this.addSql(
      `alter table "listed_message" rename constraint "audit_listing_pkey" to "listed_message_pkey";`,
    );
    this.addSql(
      `alter table "listed_message" rename constraint "audit_listing_account_id_foreign" to "listed_message_account_id_foreign";`,
    );
  }
}
