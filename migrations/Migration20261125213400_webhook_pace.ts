import { Migration } from '@mikro-orm/migrations';

export class Migration20261125213400_webhook_pace extends Migration {
  override name = 'Migration20261125213400_webhook_pace';

  override up(): void | Promise<void> {
    this.addSql(
      `update "account_gate" set "slot_ms" = 3 where "slot_ms" = 5 and "account_id" in (select "id" from "webhook");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `update "account_gate" set "slot_ms" = 5 where "slot_ms" = 3 and "account_id" in (select "id" from "webhook");`,
    );
  }
}
