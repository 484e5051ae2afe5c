import type { Sql } from '../../platform/database/sql.ts';
import type { PushSubscription } from './push-subscription.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** States of subscriptions and watches. An operator should look at the first ones first. */
export const WATCH_STATES = [
  'failing',
  'expired',
  'expiring',
  'pending',
  'ending',
  'live',
  'unsupported',
] as const;

/** A subscription, a pull or a watch as operators see it. */
export interface ListedWatch extends RowOf<
  PushSubscription,
  'provider' | 'expiresAt' | 'notifiedAt' | 'failures' | 'error'
> {
  /**
   * - `failing`: the last attempt failed
   * - `expired`: the provider has ended it, and it is not renewed yet
   * - `expiring`: its renewal is overdue by more than an hour
   * - `pending`: not made yet
   * - `ending`: no longer needed, not ended yet
   * - `unsupported`: the provider cannot report changes of it
   */
  state: (typeof WATCH_STATES)[number];
  kind: 'subscription' | 'pull' | 'watch';
  /** `null` for a pull, which serves all accounts of an integration. */
  accountId: string | null;
  /** Address of the account, or name of the integration. */
  name: string;
  /** `mail`, `calendars`, `calendar:<id>`, `contacts`; `*` for a pull. */
  resource: string;
}

const LIST = `
  select * from (
    select case
        when p.failures > 0 and not p.unsupported then 'failing'
        when p.unsupported then 'unsupported'
        when not p.wanted then 'ending'
        when p.expires_at is null then 'pending'
        when p.expires_at <= $1 then 'expired'
        when p.renew_at < $1::timestamptz - interval '1 hour' then 'expiring'
        else 'live' end as state,
      'subscription' as kind, p.provider, p.account_id as "accountId", g.email as name, p.resource,
      p.expires_at as "expiresAt", p.notified_at as "notifiedAt", p.failures, p.error
    from push_subscription p join "grant" g on g.id = p.account_id
    union all
    select case when u.failures > 0 then 'failing' when u.pulled_at is null then 'pending'
        when u.due_at < $1::timestamptz - interval '1 minute' then 'expired' else 'live' end,
      'pull', i.provider, null, i.name, '*', null, u.pulled_at, u.failures, u.error
    from push_pull u join integration i on i.id = u.integration_id) w
  where $4::uuid is null or w."accountId" = $4
  order by array_position($3::text[], w.state), w."expiresAt" nulls last, w.name, w.resource limit $2`;

/**
 * Subscriptions and pulls: those that fail first, then those that end next.
 * @param accountId only subscriptions of this account
 */
export function listSubscriptions(
  sql: Sql,
  now: Date,
  limit: number,
  accountId?: string,
): Promise<ListedWatch[]> {
  return sql.query<ListedWatch>(LIST, [now, limit, WATCH_STATES, accountId ?? null]);
}
