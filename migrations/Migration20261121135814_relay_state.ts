import { Migration } from '@mikro-orm/migrations';

export class Migration20261121135814_relay_state extends Migration {
  override name = 'Migration20261121135814_relay_state';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "relay" add "last_error" text null, add "last_error_at" timestamptz null;`,
    );

    this.addSql(`alter table "relay_sender" add "removed_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "relay" drop column "last_error", drop column "last_error_at";`);

    this.addSql(`alter table "relay_sender" drop column "removed_at";`);
  }
}
