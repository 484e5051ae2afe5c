import type { Sql } from '../../platform/database/sql.ts';
import { dayOf } from '../../platform/quotas/quota.ts';
import type { QuotaUse } from '../../platform/quotas/quota-use.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** Use of a quota on one day. */
export interface ListedUse extends RowOf<
  QuotaUse,
  'quota' | 'per' | 'ownerId' | 'used' | 'alertedAt'
> {
  day: string;
  /** Address of the account, or name of the application; `null` if it has been deleted. */
  owner: string | null;
}

const LIST = `
  select to_char(q.day, 'YYYY-MM-DD') as day, q.quota, q.per, q.owner_id as "ownerId", coalesce(g.email, a.name) as owner,
    q.used, q.alerted_at as "alertedAt"
  from quota_use q
  left join "grant" g on q.per = 'account' and g.id = q.owner_id
  left join application a on q.per = 'application' and a.id = q.owner_id
  where q.day = $1::date and (not $2::boolean or q.alerted_at is not null)
  order by q.alerted_at is null, q.quota, q.per, q.used desc, q.owner_id limit $3`;

/**
 * Use on the day of `at` (UTC), at most `limit` entries: quotas that were reached first, then by
 * use.
 * @param reached only quotas that were reached
 */
export function listQuotaUse(
  sql: Sql,
  at: Date,
  reached: boolean,
  limit: number,
): Promise<ListedUse[]> {
  return sql.query<ListedUse>(LIST, [dayOf(at), reached, limit]);
}
