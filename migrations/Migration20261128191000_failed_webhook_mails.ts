import { Migration } from '@mikro-orm/migrations';

/** Why the last mail about webhooks could not be sent (ADR 0158). */
export class Migration20261128191000_failed_webhook_mails extends Migration {
  override name = 'Migration20261128191000_failed_webhook_mails';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "webhook_mail" add "failed_at" timestamptz null, add "failure" text null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "webhook_mail" drop column "failed_at", drop column "failure";`);
  }
}
