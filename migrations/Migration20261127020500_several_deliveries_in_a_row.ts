import { Migration } from '@mikro-orm/migrations';

/**
 * Rows of `hook_job` with several deliveries.
 *
 * A process of the release before knows only the first event of a row. When it deletes the row, the
 * trigger queues the other events, each with a row of its own. Processes that deliver all events of
 * a row set `carillon.hook_job` first. The release after this one can drop the trigger.
 */
export class Migration20261127020500_several_deliveries_in_a_row extends Migration {
  override name = 'Migration20261127020500_several_deliveries_in_a_row';

  override up(): void | Promise<void> {
    this.addSql(`alter table "hook_job" add "more_events" uuid[] null;`);
    this.addSql(
      `create index "hook_job_several" on "hook_job" ("webhook_id", "event_id") where more_events is not null;`,
    );
    this.addSql(
      `create function hook_job_keeps_events() returns trigger language plpgsql as $$
      begin
        insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at, traceparent)
        select gen_random_uuid(), event_id, old.webhook_id, now(), old.due_at, old.give_up_at, old.traceparent
        from unnest(old.more_events) event_id
        on conflict (webhook_id, event_id) do nothing;
        return null;
      end; $$;`,
    );
    this.addSql(
      `create trigger hook_job_keeps_events after delete on hook_job for each row
       when (old.more_events is not null and current_setting('carillon.hook_job', true) is distinct from 'whole')
       execute function hook_job_keeps_events();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at, traceparent)
       select gen_random_uuid(), e.id, j.webhook_id, j.run_at, j.due_at, j.give_up_at, j.traceparent
       from hook_job j cross join unnest(j.more_events) e(id)
       on conflict (webhook_id, event_id) do nothing;`,
    );
    this.addSql(`drop trigger hook_job_keeps_events on hook_job;`);
    this.addSql(`drop function hook_job_keeps_events();`);
    this.addSql(`drop index "hook_job_several";`);
    this.addSql(`alter table "hook_job" drop column "more_events";`);
  }
}
