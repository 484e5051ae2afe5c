import { Migration } from '@mikro-orm/migrations';

/**
 * Calendars and contacts of accounts that had a mirror before these audits existed became due at
 * the same moment. Their first audits are spread over a week.
 */
export class Migration20261124000500_spread_audits extends Migration {
  override name = 'Migration20261124000500_spread_audits';

  override up(): void | Promise<void> {
    this.addSql(
      `update "mirror_audit" set "collections_at" = now() + random() * interval '7 days' where "collections_at" <= now() and "collections" is null and "events_checked" = 0 and "contacts_checked" = 0;`,
    );
  }

  override down(): void | Promise<void> {
    // The times stay valid.
  }
}
