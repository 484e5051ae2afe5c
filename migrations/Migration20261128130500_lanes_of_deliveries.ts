import { Migration } from '@mikro-orm/migrations';

/**
 * Lanes: rows of `hook_job` that deliver the events of one account to one webhook in order.
 *
 * A process of the release before takes a lane for the delivery of an event that is no longer
 * stored, and deletes it. The trigger then queues the events of the lane, each with a row of its
 * own, as that process knows them. Processes that know lanes set `carillon.hook_job` first. The
 * release after this one can drop the trigger.
 *
 * No release has written rows with several events (`more_events`), so nothing of them has to stay.
 */
export class Migration20261128130500_lanes_of_deliveries extends Migration {
  override name = 'Migration20261128130500_lanes_of_deliveries';

  override up(): void | Promise<void> {
    this.addSql(
      `insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at, traceparent)
       select gen_random_uuid(), e.id, j.webhook_id, j.run_at, j.due_at, j.give_up_at, j.traceparent
       from hook_job j cross join unnest(j.more_events) e(id)
       on conflict (webhook_id, event_id) do nothing;`,
    );
    this.addSql(`drop trigger hook_job_keeps_events on hook_job;`);
    this.addSql(`drop function hook_job_keeps_events();`);
    this.addSql(`drop index "hook_job_several";`);
    this.addSql(
      `alter table "hook_job" drop column "more_events",
       add "from_seq" bigint null, add "batch_seq" bigint null, add "wanted_seq" bigint null;`,
    );
    this.addSql(
      `create function hook_job_keeps_lane() returns trigger language plpgsql as $$
      begin
        insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at)
        select gen_random_uuid(), e.id, w.id, now(), now(), now() + interval '76 hours'
        from webhook w join webhook_event e on e.application_id = w.application_id and e.type = any(w.triggers)
        where w.id = old.webhook_id and e.account_id = old.event_id
          and e.seq > old.from_seq and e.seq <= old.wanted_seq
        on conflict (webhook_id, event_id) do nothing;
        return null;
      end; $$;`,
    );
    this.addSql(
      `create trigger hook_job_keeps_lane after delete on hook_job for each row
       when (old.wanted_seq is not null and current_setting('carillon.hook_job', true) is distinct from 'lanes')
       execute function hook_job_keeps_lane();`,
    );
    this.addSql(`alter table "webhook_event" add "traceparent" text null;`);
    this.addSql(
      `alter table "webhook_attempt" add "account_id" uuid null, add "deltas" smallint not null default 1,
       add "first_seq" bigint null, add "last_seq" bigint null;`,
    );
    this.addSql(
      `create index "webhook_attempt_batch" on "webhook_attempt" ("account_id", "last_seq") where deltas > 1;`,
    );
  }

  override down(): void | Promise<void> {
    // The trigger queues the events of the lanes.
    this.addSql(`delete from hook_job where wanted_seq is not null;`);
    this.addSql(`drop trigger hook_job_keeps_lane on hook_job;`);
    this.addSql(`drop function hook_job_keeps_lane();`);
    this.addSql(
      `alter table "hook_job" drop column "from_seq", drop column "batch_seq", drop column "wanted_seq",
       add "more_events" uuid[] null;`,
    );
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
    this.addSql(`alter table "webhook_event" drop column "traceparent";`);
    this.addSql(
      `alter table "webhook_attempt" drop column "account_id", drop column "deltas", drop column "first_seq",
       drop column "last_seq";`,
    );
  }
}
