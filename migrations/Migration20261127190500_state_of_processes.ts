import { Migration } from '@mikro-orm/migrations';

/**
 * What each running process reports of itself, for the overview of operators. Processes of the
 * release before write neither column.
 */
export class Migration20261127190500_state_of_processes extends Migration {
  override name = 'Migration20261127190500_state_of_processes';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "running_process" add "problems" jsonb not null default '[]', add "clock_ahead_seconds" double precision null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "running_process" drop column "problems", drop column "clock_ahead_seconds";`,
    );
  }
}
