import type { Sql } from '../database/sql.ts';
import type { CompanyApi } from './company-api.ts';
import type { ApiCeiling } from './api-ceiling.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** The ceiling of one application. */
export interface OwnCeiling extends RowOf<ApiCeiling, 'applicationId' | 'api'> {
  /** What it may use in a day (UTC); 0 = no ceiling. */
  units: number;
}

const ALL = `select application_id as "applicationId", api, units::float8 as units from api_ceiling`;

const SET = `
  insert into api_ceiling (application_id, api, units) values ($1, $2, $3)
  on conflict (application_id, api) do update set units = excluded.units`;

const DELETE =
  'delete from api_ceiling where application_id = $1 and ($2::text is null or api = $2)';

/** The ceilings of all applications that have one of their own. */
export function ownCeilings(sql: Sql): Promise<OwnCeiling[]> {
  return sql.query<OwnCeiling>(ALL);
}

/** The ceilings that were set for one application. */
export async function ownCeilingsOf(
  sql: Sql,
  applicationId: string,
): Promise<ReadonlyMap<CompanyApi, number>> {
  const rows = await sql.query<OwnCeiling>(`${ALL} where application_id = $1`, [applicationId]);
  return new Map(rows.map(({ api, units }) => [api, units]));
}

/** Sets a ceiling. Other processes notice it within ten seconds. */
export async function setOwnCeiling(
  sql: Sql,
  { applicationId, api, units }: OwnCeiling,
): Promise<void> {
  await sql.query(SET, [applicationId, api, units]);
}

/**
 * Removes ceilings of an application: the setting applies again.
 * @param api `null` removes all
 */
export async function removeOwnCeilings(
  sql: Sql,
  applicationId: string,
  api: CompanyApi | null,
): Promise<void> {
  await sql.query(DELETE, [applicationId, api]);
}
