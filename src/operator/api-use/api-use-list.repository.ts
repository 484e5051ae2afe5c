import type { CompanyApi } from '../../platform/budgets/company-api.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { dayOf } from '../../platform/quotas/quota.ts';
import { type CountedUse, monthOf, PACE_DAYS } from './api-use.ts';
import type { Application } from '../../accounts/applications/application.entity.ts';
import type { ApiUse } from '../../platform/budgets/api-use.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const DAY_MS = 86_400_000;

type Row = Omit<CountedUse, 'application'> &
  RowOf<Application, 'id' | 'clientId' | 'name'> &
  RowOf<ApiUse, 'api'>;

/** Which entries are read. */
export interface ListedUse {
  /** Id or client id of the only application. Default: all. */
  application?: string | undefined;
  /** Entries at most; each is of an application and an API. Default: no limit. */
  most?: number;
}

/**
 * What applications have used since the beginning of the month, most first.
 * Reads the rows of about five weeks through an index.
 * @param freePerDay units a day above which use is paid, of the APIs where it is
 */
export async function countedUse(
  sql: Sql,
  now: Date,
  freePerDay: ReadonlyMap<CompanyApi, number>,
  { application, most }: ListedUse = {},
): Promise<CountedUse[]> {
  if (application?.includes('\0')) return [];
  const where = new Conditions();
  const today = where.value(dayOf(now));
  const month = where.value(dayOf(monthOf(now).start));
  const recent = where.value(dayOf(new Date(now.getTime() - PACE_DAYS * DAY_MS)));
  const apis = where.value([...freePerDay.keys()]);
  const free = where.value([...freePerDay.values()]);
  where.add(`u.day >= least(${month}::date, ${recent}::date) and u.day <= ${today}::date`);
  if (application !== undefined) {
    const one = where.value(application);
    where.add(`a.client_id = ${one} or a.id::text = ${one}`);
  }
  const rows = await sql.query<Row>(
    `select a.id, a.client_id as "clientId", a.name, u.api,
       coalesce(sum(u.units) filter (where u.day = ${today}::date), 0)::float8 as today,
       coalesce(sum(u.units) filter (where u.day >= ${month}::date), 0)::float8 as month,
       coalesce(sum(greatest(0, u.units - f.free)) filter (where u.day >= ${month}::date and u.day < ${today}::date), 0)::float8 as "paidBefore",
       coalesce(sum(u.units) filter (where u.day >= ${recent}::date and u.day < ${today}::date), 0)::float8 as recent,
       greatest(0, ${today}::date - greatest(${recent}::date, min(u.day)))::int as "recentDays",
       (select c.units::float8 from api_ceiling c where c.application_id = a.id and c.api = u.api) as "ownCeiling"
     from api_use u join application a on a.id = u.application_id
       left join unnest(${apis}::text[], ${free}::bigint[]) f(api, free) on f.api = u.api
     where ${where.text} group by a.id, u.api order by month desc, a.id, u.api limit ${most ?? 'all'}`,
    where.values,
    { prepared: false },
  );
  return rows.map(({ id, clientId, name, ...counted }) => ({
    application: { id, clientId, name },
    ...counted,
  }));
}
