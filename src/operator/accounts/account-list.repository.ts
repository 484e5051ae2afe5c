import { Conditions } from '../../platform/database/conditions.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { lastPassFailed } from '../../accounts/sync-schedule/last-pass-failed.ts';
import {
  ACCOUNT_HEALTHS,
  type AccountFilter,
  type AccountHealth,
  type AccountItem,
  SYNC_LATE_SECONDS,
} from './account-health.ts';
import { countOf } from '../search/search-limit.ts';
import { SYNC_FAILING } from './sync-failing.ts';
import { ROW_WAITING } from '../../platform/work/queue/row-state.ts';

/** A row whose workers died this often is in quarantine: it runs apart from all others. */
const QUARANTINE_CRASHES = 2;

const rank = (health: AccountHealth): number => ACCOUNT_HEALTHS.indexOf(health);

const GATE_OPEN = 'closed_until > now()';
const SYNC_LATE = `state = ${ROW_WAITING} and run_at < now() - interval '${SYNC_LATE_SECONDS} s'`;
const QUARANTINED = `crashes >= ${QUARANTINE_CRASHES}`;
const AUDIT_FAILING = '(unrepaired > 0 or failed > 0)';
const OVER_QUOTA = `day = (now() at time zone 'UTC')::date and per = 'account' and alerted_at is not null`;
const WATCH_FAILING = 'wanted and not unsupported and (failures > 0 or expires_at <= now())';

/*
 * The list begins with the accounts that have a problem. Each kind of problem is looked for where
 * it is stored, so that the few troubled accounts of 100,000 are found without joining anything to
 * the healthy ones. What the page shows is then read for the accounts of the page only.
 *
 * The first part has the condition of the index grant_troubled.
 */
const PROBLEMS = `
  select id as account_id, p.rank
    from "grant", lateral (values
      (status = 'invalid', ${rank('invalid-credentials')}),
      (sending_paused_at is not null, ${rank('sending-paused')}),
      (billing_state = 'cancelled', ${rank('cancelled')})) p(holds, rank)
    where (status = 'invalid' or sync_state = 'sync-error' or billing_state = 'cancelled' or sending_paused_at is not null)
      and p.holds
  union all select account_id, ${rank('sync-failing')} from (${SYNC_FAILING}) f
  union all select account_id, ${rank('circuit-open')} from account_gate where ${GATE_OPEN}
  union all select account_id, ${rank('quarantined')} from send_job where (held or crashes > 0) and ${QUARANTINED}
  union all select account_id, p.rank
    from sync_job, lateral (values
      (${QUARANTINED}, ${rank('quarantined')}),
      (${SYNC_LATE}, ${rank('sync-late')}),
      (current_since is null, ${rank('reading-history')})) p(holds, rank)
    where (${QUARANTINED} or ${SYNC_LATE} or current_since is null) and p.holds
  union all select account_id, ${rank('audit-failing')} from mirror_audit where ${AUDIT_FAILING}
  union all select owner_id, ${rank('over-quota')} from quota_use where ${OVER_QUOTA}
  union all select account_id, ${rank('watch-failing')} from push_subscription where ${WATCH_FAILING}
  union all select h.id, case
      when a.suspended_at is null then ${rank('sending-paused')} else ${rank('suspended')} end
    from application a join "grant" h on h.application_id = a.id
    where a.sending_paused_at is not null or a.suspended_at is not null`;

/** Why an account of the page, `g`, has the health of its rank `p.rank`. */
const REASON = `case p.rank
  when ${rank('invalid-credentials')} then g.status_reason
  when ${rank('circuit-open')} then t.close_reason
  when ${rank('quarantined')} then 'workers died while they ran its work'
  when ${rank('sync-failing')} then case when ${lastPassFailed('s')} and s.failed_reason is not null
    then concat_ws(': ', s.failed_server, s.failed_reason) else g.sync_reason end
  when ${rank('sync-late')} then 'its sync pass is due since ' || to_char(s.run_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'
  when ${rank('audit-failing')} then
    (select format('%s differences between mailbox and mirror could not be repaired', m.unrepaired) from mirror_audit m where m.account_id = g.id)
  when ${rank('over-quota')} then
    (select string_agg(format('%s: %s used today', q.quota, q.used), ', ' order by q.quota) from quota_use q where q.owner_id = g.id and ${OVER_QUOTA})
  when ${rank('watch-failing')} then
    (select coalesce(w.error, 'the subscription of ' || w.resource || ' has expired') from push_subscription w where w.account_id = g.id and ${WATCH_FAILING} order by w.resource limit 1)
  when ${rank('sending-paused')} then coalesce(g.sending_pause_reason, a.sending_pause_reason)
  when ${rank('suspended')} then a.suspension_reason
  when ${rank('cancelled')} then 'cancelled by its application'
  when ${rank('reading-history')} then g.sync_reason
  end`;

const hold = (at: string, reason: string) =>
  `case when ${at} is not null then jsonb_build_object('since', ${at}, 'reason', ${reason}) end`;

/** Columns of an `AccountItem`, for `ITEM_JOINS`. */
export const ITEM_COLUMNS = `
  g.id, g.email, g.provider, g.application_id as "applicationId", a.name as "applicationName",
  a.client_id as "clientId", g.sync_state as "syncState", s.current_since as "currentSince",
  case when s.state = ${ROW_WAITING} and s.run_at < now() then floor(extract(epoch from now() - s.run_at))::float8 else 0 end as "syncLagSeconds",
  ${hold('g.sending_paused_at', 'g.sending_pause_reason')} as "sendingPaused", g.created_at as "connectedAt"`;
export const ITEM_JOINS = `
  join application a on a.id = g.application_id
  left join sync_job s on s.account_id = g.id
  left join account_gate t on t.account_id = g.id`;

interface Row extends Omit<AccountItem, 'health' | 'sendingPaused'> {
  rank: number;
  sendingPaused: { since: string; reason: string | null } | null;
}

/** Where a page begins: after this account. */
export interface AccountPosition {
  rank: number;
  id: string;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Text with the characters that have a meaning in `like` taken literally. */
const literally = (text: string) => text.replace(/[\\%_]/g, '\\$&');

/**
 * Accounts by health, worst first, then by id. With a health, every account that has this problem
 * is listed once, whatever else is wrong with it; `health` and `reason` are about this problem.
 * @param after `null` for the first page
 * @param most maximum number of accounts
 */
export async function listAccounts(
  sql: Sql,
  filter: AccountFilter,
  after: AccountPosition | null,
  most: number,
): Promise<AccountItem[]> {
  const where = conditionsOf(filter);
  const { rank: afterRank, id: afterId } = after ?? { rank: -1, id: FIRST_ID };
  const [from, id, limit] = [afterRank, afterId, most].map((value) => where.value(value));
  const wanted = filter.health === undefined ? null : rank(filter.health);
  const healthy = wanted === null || wanted === rank('healthy');
  const only = healthy ? 'true' : `rank = ${wanted}`;
  const rows = await sql.query<Row>(
    `with found as (${PROBLEMS}),
     worst as materialized (select account_id, min(rank) as rank from found where ${only} group by account_id),
     page as (
       (select g.id, w.rank from worst w join "grant" g on g.id = w.account_id
        where (w.rank, g.id) > (${from}::int, ${id}::uuid) and ${where.text}
        order by w.rank, g.id limit ${limit})
       union all
       (select g.id, ${rank('healthy')} from "grant" g
        where ${healthy} and not exists (select from worst w where w.account_id = g.id)
          and g.id > case when ${from}::int = ${rank('healthy')} then ${id}::uuid else '${FIRST_ID}' end and ${where.text}
        order by g.id limit ${limit})
       order by 2, 1 limit ${limit})
     select p.rank, ${REASON} as reason, ${ITEM_COLUMNS}
     from page p join "grant" g on g.id = p.id ${ITEM_JOINS}
     order by p.rank, g.id`,
    where.values,
    { prepared: false },
  );
  return rows.map(toItem);
}

function conditionsOf(filter: AccountFilter): Conditions {
  const where = new Conditions();
  if (filter.application !== undefined)
    where.add(
      `g.application_id in (select id from application where client_id = ${where.value(filter.application)} or id::text = ${where.value(filter.application)})`,
    );
  if (filter.provider !== undefined) where.add(`g.provider = ${where.value(filter.provider)}`);
  if (filter.address !== undefined)
    where.add(`g.email like ${where.value(`%${literally(filter.address.toLowerCase())}%`)}`);
  if (filter.server !== undefined)
    where.add(
      `g.id in (select j.account_id from sync_job j where ${lastPassFailed('j')} and j.failed_server = ${where.value(filter.server)})`,
    );
  return where;
}

/**
 * Counts the accounts of a list. Without a health, each account that matches is listed once.
 * @param most counts no further
 */
export function countAccounts(sql: Sql, filter: AccountFilter, most: number): Promise<number> {
  const where = conditionsOf(filter);
  const { health } = filter;
  if (health === 'healthy') where.add(`not exists (select from found f where f.account_id = g.id)`);
  else if (health !== undefined)
    where.add(`g.id in (select f.account_id from found f where f.rank = ${rank(health)})`);
  const found = health === undefined ? '' : `with found as materialized (${PROBLEMS})`;
  const text = `${found} select count(*)::int as n from (
    select from "grant" g where ${where.text} limit ${where.value(most)}) c`;
  return countOf(sql, text, where.values);
}

function toItem({ rank: at, sendingPaused, ...row }: Row): AccountItem {
  return {
    ...row,
    health: ACCOUNT_HEALTHS[at] as AccountHealth,
    sendingPaused: sendingPaused && { ...sendingPaused, since: new Date(sendingPaused.since) },
  };
}

/** Where the page after this account begins. */
export function positionAfter({ health, id }: AccountItem): AccountPosition {
  return { rank: rank(health), id };
}

const PROBLEMS_OF = `
  with found as (${PROBLEMS}), p as (select distinct rank from found where account_id = $1)
  select p.rank, ${REASON} as reason, ${ITEM_COLUMNS}
  from p join "grant" g on g.id = $1 ${ITEM_JOINS} order by p.rank`;
const ITEM_OF = `
  select ${rank('healthy')} as rank, null as reason, ${ITEM_COLUMNS}
  from "grant" g ${ITEM_JOINS} where g.id = $1`;

/**
 * One account for each of its problems, worst first; once as `healthy` if it has none.
 * @returns an empty list if there is no such account
 */
export async function itemsOfAccount(sql: Sql, accountId: string): Promise<AccountItem[]> {
  const problems = await sql.query<Row>(PROBLEMS_OF, [accountId]);
  const rows = problems.length > 0 ? problems : await sql.query<Row>(ITEM_OF, [accountId]);
  return rows.map(toItem);
}
