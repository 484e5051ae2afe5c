import { Migration } from '@mikro-orm/migrations';

/** Webhooks that exist get the pace of new ones (`createDeliveryRateGate`). */
export class Migration20261126154000_pace_of_webhooks extends Migration {
  override name = 'Migration20261126154000_pace_of_webhooks';

  override up(): void | Promise<void> {
    this.addSql(
      `update "account_gate" set "slot_ms" = 2, "max_in_flight" = 16 where "slot_ms" = 5 and "max_in_flight" = 8 and "account_id" in (select "id" from "webhook");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `update "account_gate" set "slot_ms" = 5, "max_in_flight" = 8 where "slot_ms" = 2 and "max_in_flight" = 16 and "account_id" in (select "id" from "webhook");`,
    );
  }
}
