import { Migration } from '@mikro-orm/migrations';

export class Migration20261123080236_resend_attempt extends Migration {
  override name = 'Migration20261123080236_resend_attempt';

  override up(): void | Promise<void> {
    this.addSql(`alter table "send_job" add "resend_attempt" smallint null;`);
    // The number of that attempt was kept as a negative number of look-ups.
    this.addSql(
      `update "send_job" set resend_attempt = -look_ups, look_ups = 0 where look_ups < 0;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `update "send_job" set look_ups = -resend_attempt where resend_attempt is not null;`,
    );
    this.addSql(`alter table "send_job" drop column "resend_attempt";`);
  }
}
