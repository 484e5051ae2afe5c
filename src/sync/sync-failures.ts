import { storable } from '../platform/base/text/storable.ts';
import type { Sql } from '../platform/database/sql.ts';

/** A message that could not be read. */
export interface ReadFailure {
  providerId: string;
  reason: string;
}

/** A read failure as operators see it. */
export interface RecordedFailure extends ReadFailure {
  accountId: string;
  email: string;
  firstAt: Date;
  lastAt: Date;
  times: number;
}

const RECORD = `
  insert into sync_failure as f (account_id, provider_id, reason, first_at, last_at)
  select $1, x.provider_id, x.reason, $4, $4
  from unnest($2::text[], $3::text[]) x(provider_id, reason)
  on conflict (account_id, provider_id) do update
    set reason = excluded.reason, last_at = excluded.last_at, times = least(f.times + 1, 1000000)`;

const LIST = `
  select f.account_id as "accountId", g.email, f.provider_id as "providerId", f.reason, f.first_at as "firstAt",
    f.last_at as "lastAt", f.times
  from sync_failure f join "grant" g on g.id = f.account_id
  where $2::uuid is null or f.account_id = $2
  order by f.last_at desc, f.account_id, f.provider_id limit $1`;

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
    at,
  ]);
}

/**
 * The messages that could not be read, latest first.
 * @param accountId only this account; `null` for all accounts
 */
export function listFailures(
  sql: Sql,
  limit: number,
  accountId: string | null = null,
): Promise<RecordedFailure[]> {
  return sql.query<RecordedFailure>(LIST, [limit, accountId]);
}
