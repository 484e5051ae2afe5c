import type { Sql } from '../database/sql.ts';
import { columnsOf } from '../database/sql.ts';
import { dayOf } from '../quotas/quota.ts';
import { removeOwnCeilings } from './api-ceilings.ts';
import type { ApiUse } from './api-use.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** What an application has used of an API on one day. */
export interface UseOfDay extends RowOf<ApiUse, 'applicationId' | 'api' | 'day'> {
  /** Quota units or requests, whatever the company counts. */
  units: number;
}

// Rows are locked in the order of their keys, so that processes cannot deadlock.
const ADD = `
  with given as (
    select u.* from unnest($1::uuid[], $2::text[], $3::date[], $4::bigint[]) u(application_id, api, day, units)
    join application a on a.id = u.application_id)
  insert into api_use as s (application_id, api, day, units)
  select application_id, api, day, units from given order by application_id, api, day
  on conflict (application_id, api, day) do update set units = s.units + excluded.units
  returning s.application_id as "applicationId", s.api, s.day::text, s.units::float8 as units`;

const keyOf = ({ applicationId, api, day }: Omit<UseOfDay, 'units'>): string =>
  `${applicationId} ${api} ${day}`;

/**
 * Adds what a process has used.
 * @param given with different keys. Counts of applications that do not exist are dropped
 * @returns in the order of `given`: what all processes have stored; `undefined` if it was dropped
 */
export async function addApiUse(
  sql: Sql,
  given: readonly UseOfDay[],
): Promise<(number | undefined)[]> {
  const rows = await sql.query<UseOfDay>(
    ADD,
    columnsOf(given, 'applicationId', 'api', 'day', 'units'),
  );
  const totals = new Map(rows.map((row) => [keyOf(row), row.units]));
  return given.map((one) => totals.get(keyOf(one)));
}

const USED = `
  select units::float8 as units from api_use where application_id = $1 and api = $2 and day = $3::date`;

/** What all processes have stored for an application, an API and a day. */
export async function usedOn(
  sql: Sql,
  { applicationId, api, day }: Omit<UseOfDay, 'units'>,
): Promise<number> {
  const [row] = await sql.query<{ units: number }>(USED, [applicationId, api, day]);
  return row?.units ?? 0;
}

const DELETE = 'delete from api_use where application_id = $1 returning 1';

/**
 * Deletes what an application has used, and its ceilings.
 * @returns how many rows of use it deleted
 */
export async function deleteApiUse(sql: Sql, applicationId: string): Promise<number> {
  await removeOwnCeilings(sql, applicationId, null);
  return (await sql.query(DELETE, [applicationId])).length;
}

/** How long counts are kept: a year can be compared with the one before. */
const RETENTION_MS = 400 * 86_400_000;

const PRUNE = `
  delete from api_use where (application_id, api, day) in (
    select application_id, api, day from api_use where day < $1::date order by day limit 5000 for update skip locked)
  returning 1`;

/**
 * Deletes counts older than 400 days, at most 5000.
 * @returns the number of deleted counts; 0 if none is left
 */
export async function pruneApiUse(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [dayOf(new Date(now.getTime() - RETENTION_MS))])).length;
}
