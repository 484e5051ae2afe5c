import type { Sql } from '../../platform/database/sql.ts';
import type { JobAction } from '../../platform/job-statuses/job-status.ts';

/** A write that is waiting or going on. */
export interface OpenJob {
  objectId: string;
  action: JobAction;
  payload: Record<string, unknown>;
}

/** Condition in SQL: one of the objects has an open write. @param ids expressions in SQL */
export const hasOpenWrite = (...ids: string[]): string =>
  `exists (select 1 from provider_job w where w.object_id in (${ids.join(', ')}))`;

/** Expression in SQL: when the open writes of an object may be through; null: there are none. @param id an expression in SQL */
export const openWritesUntil = (id: string): string => `(
  select max(case when w.state = 1 then now() else greatest(w.run_at, now()) end)
  from provider_job w where w.object_id = ${id})`;

const OF_ACCOUNT = `
  select object_id as "objectId", action, payload from provider_job where account_id = $1 and action = any($2::text[])`;

/** Open writes of an account, in no order. */
export function openWritesOfAccount(
  sql: Sql,
  accountId: string,
  actions: readonly JobAction[],
): Promise<OpenJob[]> {
  return sql.query<OpenJob>(OF_ACCOUNT, [accountId, actions]);
}

const HAS_OTHERS = 'select 1 from provider_job where object_id = $1 and id <> $2 limit 1';

/** Whether another write of the same object is open. */
export async function hasOtherWrites(
  sql: Sql,
  { objectId, jobId }: { objectId: string; jobId: string },
): Promise<boolean> {
  return (await sql.query(HAS_OTHERS, [objectId, jobId])).length > 0;
}

/** What fields of an object are at the provider. */
export interface FieldsBefore {
  objectId: string;
  before: Readonly<Record<string, unknown>>;
}

// The earliest of the open writes of a field is told what there was before it; each knows what the one before it wanted.
const REMEMBER = `
  with given as (select * from jsonb_to_recordset($2::jsonb) x("objectId" uuid, before jsonb)),
  told as (
    select distinct on (g."objectId", k.key) g."objectId", k.key, k.value, j.id as job_id
    from given g cross join lateral jsonb_each(g.before) k
    join provider_job j on j.object_id = g."objectId" and j.action = $1 and j.id is distinct from $3::uuid
                       and j.payload ? k.key and j.payload -> 'before' ? k.key
    order by g."objectId", k.key, j.id),
  written as (
    update provider_job j
    set payload = j.payload || jsonb_build_object('before', (j.payload -> 'before') || t.before)
    from (select job_id, jsonb_object_agg(key, value) as before from told group by job_id) t
    where j.id = t.job_id)
  select "objectId", key from told`;

/**
 * Tells the earliest open write of each field what the field was before it: what is shown again if the provider refuses the
 * write. Only for writes that keep such values in `before` of their payload.
 * @param except a job that is about to end, and is not told
 * @returns the fields with an open write
 */
export async function rememberBefore(
  sql: Sql,
  action: JobAction,
  fields: readonly FieldsBefore[],
  except: string | null = null,
): Promise<{ objectId: string; key: string }[]> {
  if (fields.length === 0) return [];
  return sql.query<{ objectId: string; key: string }>(REMEMBER, [
    action,
    JSON.stringify(fields),
    except,
  ]);
}

const AMEND_NEXT = `
  update provider_job set payload = payload || $4::jsonb
  where id in (
    select id from provider_job where object_id = $1 and id <> $2 and action = any($3::text[])
    order by id limit 1 for update)
  returning 1`;

/**
 * Adds to the payload of the earliest other open write of an object.
 * @param actions those that are meant
 * @returns false when there is none
 */
export async function amendNextWrite(
  sql: Sql,
  { objectId, jobId }: { objectId: string; jobId: string },
  actions: readonly JobAction[],
  addition: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const values = [objectId, jobId, actions, JSON.stringify(addition)];
  return (await sql.query(AMEND_NEXT, values)).length > 0;
}

/** Adds to the payload of all open writes of an object with this action. */
export async function amendWrites(
  sql: Sql,
  objectId: string,
  action: JobAction,
  addition: Readonly<Record<string, unknown>>,
): Promise<void> {
  await sql.query(
    `update provider_job set payload = payload || $3::jsonb where object_id = $1 and action = $2`,
    [objectId, action, JSON.stringify(addition)],
  );
}
