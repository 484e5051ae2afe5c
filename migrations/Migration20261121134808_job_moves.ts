import { Migration } from '@mikro-orm/migrations';

export class Migration20261121134808_job_moves extends Migration {
  override name = 'Migration20261121134808_job_moves';

  override up(): void | Promise<void> {
    this.addSql(
      `create or replace function "job_status_job_status_moves_fn"() returns trigger as $$ begin if (old.status = 'pending' and new.status not in ('pending', 'delayed', 'successful', 'failed', 'cancelled')) or (old.status = 'delayed' and new.status not in ('delayed', 'pending', 'successful', 'failed', 'cancelled')) or (old.status = 'successful' and new.status not in ('successful')) or (old.status = 'failed' and new.status not in ('failed')) or (old.status = 'cancelled' and new.status not in ('cancelled')) then raise exception 'job % cannot move from % to %', old.id, old.status, new.status using errcode = 'check_violation'; end if; return new; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "job_status_moves" BEFORE UPDATE on "job_status" for each ROW execute function "job_status_job_status_moves_fn"();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop trigger if exists "job_status_moves" on "job_status";`);
    this.addSql(`drop function if exists "job_status_job_status_moves_fn"();`);
  }
}
