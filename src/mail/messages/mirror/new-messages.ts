import type { Sql } from '../../../platform/database/sql.ts';

/** The messages of one day that need an event `message.created`. */
export interface NewMessages {
  day: string;
  /** How many. */
  count: number;
  /** Ids of those for which the change log names no event, or a lost one. */
  unproven: string[];
}

const NEWS = `
  with news as materialized (
    select m.id, (m.date at time zone 'UTC')::date as day
    from message m join "grant" g on g.id = m.account_id
    where m.account_id = $1 and not m.draft
      and m.date >= $2::date::timestamp at time zone 'UTC' and m.date < ($3::date + 1)::timestamp at time zone 'UTC'
      and m.date >= date_trunc('second', g.created_at) and m.created_at >= $4
      and m.created_at < m.date + $5 * interval '1 day'),
  told as (
    select distinct c.object_id as id from change c
    where c.account_id = $1 and c.object = 'message' and c.event = 'create' and c.event_id is not null
      and c.seq <> all($6::bigint[]))
  select n.day::text as day, count(*)::int as count,
    coalesce(array_agg(n.id order by n.id) filter (where t.id is null), '{}') as unproven
  from news n left join told t using (id) group by n.day`;

/**
 * Messages of the days that need an event, because a webhook wants it. Left out are drafts, mail
 * from before the account was connected, and mail that was found more than `recentDays` after it
 * had arrived. Days without such messages are left out.
 * @param since only messages that the mirror has got since then
 * @param lost numbers of the entries of the change log whose event is not stored
 */
export function newMessages(
  sql: Sql,
  accountId: string,
  {
    from,
    to,
    since,
    recentDays,
    lost,
  }: { from: string; to: string; since: Date; recentDays: number; lost: readonly number[] },
): Promise<NewMessages[]> {
  return sql.query(NEWS, [accountId, from, to, since, recentDays, lost]);
}
