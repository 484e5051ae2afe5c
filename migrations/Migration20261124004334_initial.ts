import { Migration } from '@mikro-orm/migrations';
import { accounts } from './initial/accounts.ts';
import { app } from './initial/app.ts';
import { calendar } from './initial/calendar.ts';
import { contacts } from './initial/contacts.ts';
import { jobStatuses } from './initial/job-statuses.ts';
import { mail } from './initial/mail.ts';
import { platform } from './initial/platform.ts';
import { providers } from './initial/providers.ts';
import { sync } from './initial/sync.ts';

/** Tables of other groups refer to those of accounts, which come first. */
const TABLES = [accounts, platform, jobStatuses, mail, calendar, contacts, sync, providers, app];

/** Jobs only move forwards, whoever writes the table. */
const JOB_MOVES = `
  create function job_status_job_status_moves_fn() returns trigger language plpgsql as $$
  begin
    if (old.status = 'pending'
        and new.status not in ('pending', 'delayed', 'successful', 'failed', 'cancelled'))
      or (old.status = 'delayed'
        and new.status not in ('delayed', 'pending', 'successful', 'failed', 'cancelled'))
      or (old.status = 'successful' and new.status not in ('successful'))
      or (old.status = 'failed' and new.status not in ('failed'))
      or (old.status = 'cancelled' and new.status not in ('cancelled'))
    then
      raise exception 'job % cannot move from % to %', old.id, old.status, new.status
        using errcode = 'check_violation';
    end if;
    return new;
  end; $$;
  create trigger job_status_moves before update on job_status
    for each row execute function job_status_job_status_moves_fn();`;

/**
 * The schema of the release before, in place of the 61 migrations that led to it. For a database that
 * has run those, `src/app/migrate.ts` only records this one.
 */
export class Migration20261124004334_initial extends Migration {
  override name = 'Migration20261124004334_initial';

  override up(): void {
    for (const tables of TABLES) this.addSql(tables);
    this.addSql(JOB_MOVES);
  }

  override down(): void {
    const names = TABLES.flatMap((tables) =>
      [...tables.matchAll(/create table ("?\w+"?)/g)].map(([, name]) => name),
    );
    this.addSql(`drop table ${names.join(', ')};`);
    this.addSql('drop function job_status_job_status_moves_fn;');
  }
}
