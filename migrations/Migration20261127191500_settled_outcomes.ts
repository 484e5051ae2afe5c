import { Migration } from '@mikro-orm/migrations';

/** An operator may find out that a message was sent that failed with an unknown outcome. */
export class Migration20261127191500_settled_outcomes extends Migration {
  override name = 'Migration20261127191500_settled_outcomes';

  override up(): void | Promise<void> {
    this.addSql(
      `create or replace function "job_status_job_status_moves_fn"() returns trigger as $$ begin if not (old.status = 'failed' and new.status = 'delayed' and old.reason like 'quarantined:%') and not (old.status = 'failed' and new.status = 'successful' and old.reason ~ '^(quarantined:|the outcome is unknown)|whether an earlier attempt succeeded is unknown') and ((old.status = 'pending' and new.status not in ('pending', 'delayed', 'successful', 'failed', 'cancelled')) or (old.status = 'delayed' and new.status not in ('delayed', 'pending', 'successful', 'failed', 'cancelled')) or (old.status = 'successful' and new.status not in ('successful')) or (old.status = 'failed' and new.status not in ('failed')) or (old.status = 'cancelled' and new.status not in ('cancelled'))) then raise exception 'job % cannot move from % to %', old.id, old.status, new.status using errcode = 'check_violation'; end if; return new; end; $$ language plpgsql;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `create or replace function "job_status_job_status_moves_fn"() returns trigger as $$ begin if not (old.status = 'failed' and new.status = 'delayed' and old.reason like 'quarantined:%') and ((old.status = 'pending' and new.status not in ('pending', 'delayed', 'successful', 'failed', 'cancelled')) or (old.status = 'delayed' and new.status not in ('delayed', 'pending', 'successful', 'failed', 'cancelled')) or (old.status = 'successful' and new.status not in ('successful')) or (old.status = 'failed' and new.status not in ('failed')) or (old.status = 'cancelled' and new.status not in ('cancelled'))) then raise exception 'job % cannot move from % to %', old.id, old.status, new.status using errcode = 'check_violation'; end if; return new; end; $$ language plpgsql;`,
    );
  }
}
