import { columnsOf, idsOf, type SqlConnection } from '../../database/sql.ts';
import { lowestWriter } from '../../database/writer-keys.ts';
import { signals } from '../../work/signals.ts';

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
const ADVANCE = `
  insert into webhook_feed as f (application_id, published_seq)
  select x.id, x.till from unnest($1::uuid[], $3::bigint[]) x(id, till) order by x.id
  on conflict (application_id) do update set published_seq = excluded.published_seq
  where f.published_seq = ($2::bigint[])[array_position($1::uuid[], f.application_id)]
  returning application_id as id`;

interface Ready {
  applicationId: string;
  from: number;
  newest: number;
  /** Number that all open transactions leave final; `null` if there are none. */
  writing: number | null;
}

/**
 * Publishes the events that are final now, of all applications. Any process may call it at any
 * time. Events of transactions that are still open follow at a later call. Readers of the feeds are
 * woken, also those of other processes.
 * @returns the applications whose feeds have grown
 */
export async function publishEvents(sql: SqlConnection): Promise<string[]> {
  const ready = await sql.query<Ready>(READY);
  const rows = ready.flatMap(({ applicationId, from, newest, writing }) => {
    const to = Math.min(newest, writing ?? Infinity);
    return to > from ? { applicationId, from, to } : [];
  });
  if (rows.length === 0) return [];
  const applications = idsOf(
    await sql.query<{ id: string }>(ADVANCE, columnsOf(rows, 'applicationId', 'from', 'to')),
  );
  if (applications.length > 0) signals.send({ kind: 'published', applications, elsewhere: false });
  return applications;
}
