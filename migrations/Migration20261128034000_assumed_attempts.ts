import { Migration } from '@mikro-orm/migrations';

export class Migration20261128034000_assumed_attempts extends Migration {
  override name = 'Migration20261128034000_assumed_attempts';

  override up(): void | Promise<void> {
    this.addSql(`alter table "send_job" add "attempt_assumed" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "send_job" drop column "attempt_assumed";`);
  }
}
