import {
  type ListedWatch,
  listSubscriptions,
  WATCH_STATES,
} from '../../accounts/push/list-subscriptions.ts';
import type { Sql } from '../../platform/database/sql.ts';

const LIST = `
  select * from (
    select case when w.up_since is not null then 'live' when w.failures > 0 then 'failing' else 'pending' end as state,
      'watch' as kind, g.provider, w.account_id as "accountId", g.email as name, 'mail' as resource,
      null::timestamptz as "expiresAt", null::timestamptz as "notifiedAt", w.failures, null as error
    from mailbox_watch w join "grant" g on g.id = w.account_id where $3::uuid is null or w.account_id = $3) w
  order by array_position($2::text[], w.state), w.name limit $1`;

/**
 * Everything that reports changes: watches of mailboxes, subscriptions and pulls. Those that fail
 * come first, then those that end next.
 * @param accountId only those of this account
 */
export async function listWatches(
  sql: Sql,
  now: Date,
  limit: number,
  accountId?: string,
): Promise<ListedWatch[]> {
  const [subscriptions, watches] = await Promise.all([
    listSubscriptions(sql, now, limit, accountId),
    sql.query<ListedWatch>(LIST, [limit, WATCH_STATES, accountId ?? null]),
  ]);
  const rank = ({ state }: ListedWatch) => WATCH_STATES.indexOf(state);
  // The sort is stable: within one state, the order of the lists remains.
  return [...subscriptions, ...watches].toSorted((a, b) => rank(a) - rank(b)).slice(0, limit);
}
