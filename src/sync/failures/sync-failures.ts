import { storable } from '../../platform/base/text/storable.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { SyncFailure } from './sync-failure.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A message that could not be read. */
export interface ReadFailure {
  providerId: string;
  reason: string;
  /** True if the provider failed, so that the message is requested again later. Default false. */
  again?: boolean;
}

/** A read failure as operators see it. */
export interface RecordedFailure
  extends
    ReadFailure,
    RowOf<SyncFailure, 'accountId' | 'firstAt' | 'lastAt' | 'times' | 'retryAt'>,
    RowOf<Grant, 'email'> {}

/** Seconds until a message on which its provider failed is requested again; doubled each time. */
const RETRY_SECONDS = { first: 60, longest: 86_400 };

const retryAt = (times: string): string => `
  case when x.again then $5::timestamptz + make_interval(secs =>
    least(${RETRY_SECONDS.first} * power(2, least(${times}, 20)), ${RETRY_SECONDS.longest})) end`;

const RECORD = `
  with x as (select * from unnest($2::text[], $3::text[], $4::boolean[]) x(provider_id, reason, again))
  insert into sync_failure as f (account_id, provider_id, reason, first_at, last_at, retry_at)
  select $1, x.provider_id, x.reason, $5, $5, ${retryAt('0')} from x
  on conflict (account_id, provider_id) do update
    set reason = excluded.reason, last_at = excluded.last_at, times = least(f.times + 1, 1000000),
      retry_at = (select ${retryAt('f.times')} from x where x.provider_id = excluded.provider_id)`;

const WAITING = `
  select provider_id as "providerId", reason, retry_at <= $2 as due from sync_failure
  where account_id = $1 and retry_at is not null order by retry_at limit 10000`;

const FORGET = `
  delete from sync_failure where account_id = $1 and provider_id = any($2::text[]) and retry_at is not null
    and ($3::timestamptz is null or last_at < $3)`;

const LIST = `
  select f.account_id as "accountId", g.email, f.provider_id as "providerId", f.reason, f.first_at as "firstAt",
    f.last_at as "lastAt", f.times, f.retry_at as "retryAt"
  from sync_failure f join "grant" g on g.id = f.account_id
  where $2::uuid is null or f.account_id = $2
  order by f.last_at desc, f.account_id, f.provider_id limit $1`;

const FAILED = `
  select 1 from sync_failure where account_id = $1 and provider_id = any($2::text[]) limit 1`;

/** True if one of these messages or folders of the account could not be read. */
export async function hasFailures(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<boolean> {
  return (await sql.query(FAILED, [accountId, providerIds])).length > 0;
}

/** Records messages that could not be read, in the caller's transaction. */
export async function recordFailures(
  sql: Sql,
  accountId: string,
  failures: readonly ReadFailure[],
  at: Date,
): Promise<void> {
  if (failures.length === 0) return;
  const byId = new Map(failures.map((failure) => [failure.providerId, failure]));
  await sql.query(RECORD, [
    accountId,
    [...byId.keys()],
    [...byId.values()].map(({ reason }) => storable(reason, 500)),
    [...byId.values()].map(({ again = false }) => again),
    at,
  ]);
}

/** Messages on which their provider failed, why, and whether it is time to request them again. */
export function waitingFailures(
  sql: Sql,
  accountId: string,
  now: Date,
): Promise<{ providerId: string; reason: string; due: boolean }[]> {
  return sql.query(WAITING, [accountId, now]);
}

/**
 * Forgets messages that were to be requested again, because they have been read or are gone.
 * @param before failures that were recorded at this time or later stay; absent: none stays
 */
export async function forgetFailures(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
  before: Date | null = null,
): Promise<void> {
  if (providerIds.length > 0) await sql.query(FORGET, [accountId, providerIds, before]);
}

const SETTLE = `
  delete from sync_failure where account_id = $1 and provider_id = any($2::text[]) and retry_at is null`;

/**
 * Records objects of calendars and address books that could not be read, or only in part, in the
 * caller's transaction. Those that can be read now are forgotten.
 * @param read provider ids of everything that was read or removed
 */
export async function recordUnread(
  sql: Sql,
  accountId: string,
  { read, unread }: { read: readonly string[]; unread: readonly ReadFailure[] },
  at: Date,
): Promise<void> {
  const failed = new Set(unread.map(({ providerId }) => providerId));
  const readable = read.filter((id) => !failed.has(id));
  if (readable.length > 0) await sql.query(SETTLE, [accountId, readable]);
  await recordFailures(sql, accountId, unread, at);
}

/**
 * The messages and objects that could not be read, latest first.
 * @param accountId only this account; `null` for all accounts
 */
export function listFailures(
  sql: Sql,
  limit: number,
  accountId: string | null = null,
): Promise<RecordedFailure[]> {
  return sql.query<RecordedFailure>(LIST, [limit, accountId]);
}
