import type { Sql } from '../../../platform/database/sql.ts';

/* What audits have seen at the provider, by the day of the messages (ADR 0152). */

// A message of which the mirror has no date yet is noted too: it may be of one of these days, and
// the mirror has it when the audit ends.
const NOTE_SEEN = `
  insert into audit_seen (account_id, provider_id)
  select l.account_id, l.provider_id
  from audit_listing l
  left join message m on m.account_id = l.account_id and m.provider_id = l.provider_id
  where l.account_id = $1 and (m.id is null or m.date >= $2)
  on conflict do nothing`;

/**
 * Notes the ids of the present listing. Call it in the transaction that compares the listing.
 * @param since the beginning of the first day that is recorded
 */
export async function noteSeen(sql: Sql, accountId: string, since: Date): Promise<void> {
  await sql.query(NOTE_SEEN, [accountId, since]);
}

/** Forgets what `noteSeen` has noted of the account. */
export async function forgetSeen(sql: Sql, accountId: string): Promise<void> {
  await sql.query('delete from audit_seen where account_id = $1', [accountId]);
}

/** Result of an audit, for the days that it has compared completely. */
export interface DaysOfAudit {
  /** The first of these days, as `2026-11-28`. */
  firstDay: string;
  /** When the audit began. Its day is the last of them. */
  beganAt: Date;
  /** Folders that could not be listed. */
  skipped: number;
  /** Differences that could not be repaired. */
  unrepaired: number;
}

// Earlier days are not shown any more. Ids that have not changed keep their stored value, so that
// PostgreSQL does not write it again.
const RECORD = `
  with seen as (
    select m.id, (m.date at time zone 'UTC')::date as day
    from audit_seen s join message m on m.account_id = s.account_id and m.provider_id = s.provider_id
    where s.account_id = $1 and m.date >= $2::date::timestamp at time zone 'UTC'),
  earlier as (delete from audited_day where account_id = $1 and day < $3::date)
  insert into audited_day as a (account_id, day, message_ids, audited_at, skipped, unrepaired)
  select $1, d.day, coalesce((select array_agg(id order by id) from seen where seen.day = d.day), '{}'), $4, $5, $6
  from (select generate_series($2::date, ($4::timestamptz at time zone 'UTC')::date, '1 day')::date as day) d
  on conflict (account_id, day) do update
    set message_ids = case when a.message_ids = excluded.message_ids then a.message_ids else excluded.message_ids end,
      audited_at = excluded.audited_at, skipped = excluded.skipped, unrepaired = excluded.unrepaired`;

/**
 * Records the messages that the provider has listed, by their days, and forgets what was noted.
 * @param firstShown days before this one are deleted
 */
export async function recordDays(
  sql: Sql,
  accountId: string,
  { firstDay, beganAt, skipped, unrepaired }: DaysOfAudit,
  firstShown: string,
): Promise<void> {
  await sql.query(RECORD, [accountId, firstDay, firstShown, beganAt, skipped, unrepaired]);
  await forgetSeen(sql, accountId);
}

/** What the last audit and the mirror say about the messages of one day. */
export interface ComparedDay {
  day: string;
  /** When the last audit that compared the whole day began; `null` if there was none. */
  auditedAt: Date | null;
  /** Of that audit, as in `DaysOfAudit`; 0 without one. */
  skipped: number;
  unrepaired: number;
  /** Messages that it saw at the provider; `null` without an audit. */
  provider: number | null;
  /** Messages that the mirror has now. A sent message counts once the provider has reported it. */
  mirror: number;
  /** Of these, messages that the mirror has got since the audit. */
  sinceAudit: number;
  /**
   * Messages that the audit listed and the mirror does not have any more, although it logged no
   * deletion.
   */
  missing: number;
  missingIds: string[];
  /**
   * Messages that the mirror had before the audit and that the provider did not list, or of which
   * it has said since that they do not exist.
   */
  surplus: number;
  surplusIds: string[];
}

// Deletions are read once, and only if a message is missing. An audit that waits for its second
// proof of a deletion has not recorded its days yet; its candidates are known.
const COMPARE_DAYS = `
  with days as (select generate_series($2::date, $3::date, '1 day')::date as day),
  mirrored as materialized (
    select id, provider_id, (date at time zone 'UTC')::date as day, created_at from message
    where account_id = $1 and provider_id is not null
      and date >= $2::date::timestamp at time zone 'UTC' and date < ($3::date + 1)::timestamp at time zone 'UTC'),
  seen as materialized (
    select a.day, s.id from audited_day a cross join unnest(a.message_ids) s(id)
    where a.account_id = $1 and a.day between $2::date and $3::date),
  gone as materialized (
    select day, id from seen k where not exists (select 1 from message m where m.id = k.id and m.account_id = $1)),
  missing as materialized (
    select day, id from gone
    where id not in (select object_id from change
                     where account_id = $1 and event = 'delete' and object in ('message', 'draft')
                       and exists (select 1 from gone))),
  surplus as materialized (
    select m.day, m.id from mirrored m join audited_day a on a.account_id = $1 and a.day = m.day
    where m.created_at <= a.audited_at and m.id not in (select id from seen)
    union
    select m.day, m.id from mirrored m
    where m.provider_id in (select provider_id from candidate_message where account_id = $1 and gone_since is not null))
  select d.day::text as day, a.audited_at as "auditedAt", coalesce(a.skipped, 0) as skipped,
    coalesce(a.unrepaired, 0) as unrepaired, cardinality(a.message_ids) as provider,
    (select count(*)::int from mirrored m where m.day = d.day) as mirror,
    (select count(*)::int from mirrored m where m.day = d.day and m.created_at > a.audited_at) as "sinceAudit",
    (select count(*)::int from missing x where x.day = d.day) as missing,
    array(select x.id from missing x where x.day = d.day order by x.id limit $4) as "missingIds",
    (select count(*)::int from surplus x where x.day = d.day) as surplus,
    array(select x.id from surplus x where x.day = d.day order by x.id limit $4) as "surplusIds"
  from days d left join audited_day a on a.account_id = $1 and a.day = d.day order by d.day`;

/**
 * Compares what audits have seen at the provider with the mirror of now.
 * @param limit most ids of each kind of difference and day
 */
export function compareDays(
  sql: Sql,
  accountId: string,
  { from, to, limit }: { from: string; to: string; limit: number },
): Promise<ComparedDay[]> {
  return sql.query(COMPARE_DAYS, [accountId, from, to, limit]);
}
