import { columnsOf, idsOf, type SqlConnection } from '../../database/sql.ts';
import { lowestWriter } from '../../database/writer-keys.ts';
import { signals } from '../../work/signals.ts';
import { wants } from './matching.ts';
import type { WebhookEvent } from './webhook-event.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/*
 * An event gets its number when it is stored and becomes visible when its transaction commits, so a
 * later number may become visible first. Publishing puts the events of an application in order:
 * it goes up to the last number that no open transaction can undercut (docs/adr/0154).
 */

/**
 * SQL condition: the application `a.id` has events that are not published. `max` reads one entry of
 * the index; `exists (… seq > …)` may read the whole table.
 */
const UNPUBLISHED = `
  coalesce((select max(e.seq) from webhook_event e where e.application_id = a.id), 0) > coalesce(f.published_seq, 0)`;
const APPLICATIONS = `
  (select distinct application_id as id from webhook) a left join webhook_feed f on f.application_id = a.id`;

/** SQL condition: events of some application are not published. */
export const EVENTS_UNPUBLISHED = `exists (select from ${APPLICATIONS} where ${UNPUBLISHED})`;

// The snapshot of this statement is older than its list of writers. A writer that the list misses
// has either committed, and then the next statement sees its events, or it will draw numbers above
// `newest`.
const READY = `
  select a.id as "applicationId", coalesce(f.published_seq, 0) as "from",
    (select max(e.seq) from webhook_event e where e.application_id = a.id) as newest,
    ${lowestWriter('a.id')} as writing
  from ${APPLICATIONS} where ${UNPUBLISHED}`;

// Of processes that publish at the same time, the first one advances an application; the others
// find another number than they have read, and do nothing.
//
// Events of a release that knew no accounts of events (`account_id`) were queued by that release.
// Lanes are locked in the order of their ids (docs/adr/0004). A lane that ends at this moment is
// gone when its lock is granted, and then the events get a new one. New lanes become due at the
// pace of their webhook: if all were due at once, the claim would have to defer most of them.
const ADVANCE = `
  with ready as (select * from unnest($1::uuid[], $2::bigint[], $3::bigint[]) x(id, below, till)),
  advanced as (
    insert into webhook_feed as f (application_id, published_seq)
    select id, till from ready order by id
    on conflict (application_id) do update set published_seq = excluded.published_seq
    where f.published_seq = ($2::bigint[])[array_position($1::uuid[], f.application_id)]
    returning application_id as id),
  wanted as materialized (
    select w.id as webhook_id, e.account_id, min(e.seq) - 1 as from_seq, max(e.seq) as wanted_seq,
      (array_agg(e.traceparent order by e.seq))[1] as traceparent
    from advanced join ready r using (id)
    join webhook_event e on e.application_id = r.id and e.seq > r.below and e.seq <= r.till and e.account_id is not null
    join webhook w on w.delivery = 'push' and w.state <> 'inactive' and ${wants('w', 'e')}
    group by w.id, e.account_id),
  known as materialized (
    select f.*, (select j.id from hook_job j where j.webhook_id = f.webhook_id and j.event_id = f.account_id) as lane
    from wanted f),
  locked as materialized (
    select id from hook_job where id = any(array(select lane from known where lane is not null)) order by id for update),
  extended as (
    update hook_job j set wanted_seq = k.wanted_seq
    from known k join locked l on l.id = k.lane where j.id = k.lane),
  added as (
    insert into hook_job as j (id, event_id, webhook_id, run_at, due_at, give_up_at, from_seq, wanted_seq, traceparent)
    select gen_random_uuid(), k.account_id, k.webhook_id,
      now() + interval '1 ms' * coalesce(g.slot_ms, 50) * (row_number() over (partition by k.webhook_id order by k.from_seq) - 1),
      now(), now(), k.from_seq, k.wanted_seq, k.traceparent
    from known k left join account_gate g on g.account_id = k.webhook_id
    where (k.lane in (select id from locked)) is not true)
  select id from advanced`;

/** After this many tries the next claim or heartbeat goes on. */
const MOST_TRIES = 3;

interface Ready extends RowOf<WebhookEvent, 'applicationId'> {
  from: number;
  newest: number;
  /** Number that all open transactions leave final; `null` if there are none. */
  writing: number | null;
}

/**
 * Publishes the events that are final now, of all applications, and queues their deliveries: it
 * extends the lane of each webhook and account that has one, and begins one for the others. Any
 * process may call it at any time. Events of transactions that are still open follow at a later
 * call. Readers of the feeds are woken, also those of other processes.
 * @returns the applications whose feeds have grown
 */
export async function publishEvents(sql: SqlConnection): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    const { applications, overtaken } = await publishOnce(sql);
    if (applications.length > 0)
      signals.send({ kind: 'published', applications, elsewhere: false });
    if (!overtaken || tries === MOST_TRIES) return applications;
  }
}

/** @returns also whether another process was faster, which may have read fewer events */
async function publishOnce(
  sql: SqlConnection,
): Promise<{ applications: string[]; overtaken: boolean }> {
  const ready = await sql.query<Ready>(READY);
  const rows = ready.flatMap(({ applicationId, from, newest, writing }) => {
    const to = Math.min(newest, writing ?? Infinity);
    return to > from ? { applicationId, from, to } : [];
  });
  if (rows.length === 0) return { applications: [], overtaken: false };
  const applications = idsOf(
    await sql.query<{ id: string }>(ADVANCE, columnsOf(rows, 'applicationId', 'from', 'to')),
  );
  return { applications, overtaken: applications.length < rows.length };
}
