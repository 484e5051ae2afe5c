import { idsOf, type Sql } from '../../platform/database/sql.ts';
import type { JobAction } from '../../job-statuses/job-status.ts';
import { ROW_CLAIMED } from '../../platform/work/queue/row-state.ts';
import type { ProviderJob } from './provider-job.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A provider write that is waiting or running. */
export type OpenProviderWrite = RowOf<ProviderJob, 'objectId' | 'action' | 'payload'>;

/**
 * SQL condition: at least one of the objects has an open write.
 * @param ids SQL expressions
 */
export const hasOpenWrite = (...ids: string[]): string =>
  `exists (select 1 from provider_job w where w.object_id in (${ids.join(', ')}))`;

/**
 * SQL condition: the object has an open write of one kind.
 * @param id an SQL expression
 */
export const hasOpenWriteOf = (action: JobAction, id: string): string =>
  `exists (select 1 from provider_job w where w.object_id = ${id} and w.action = '${action}')`;

/**
 * SQL condition: an open write moves the message to other folders.
 * @param id an SQL expression
 */
export const hasOpenMove = (id: string): string =>
  `exists (select 1 from provider_job w where w.object_id = ${id} and w.action = 'update_message' and w.payload ? 'folders')`;

/**
 * SQL expression for the earliest time at which the open writes of an object may have ended; `null`
 * if there are none.
 * @param id an SQL expression
 */
export const openWritesUntil = (id: string): string => `(
  select max(case when w.state = ${ROW_CLAIMED} then now() else greatest(w.run_at, now()) end)
  from provider_job w where w.object_id = ${id})`;

const OF_ACCOUNT = `
  select object_id as "objectId", action, payload from provider_job where account_id = $1 and action = any($2::text[])`;

/** Open writes of an account, in no particular order. */
export function openWritesOfAccount(
  sql: Sql,
  accountId: string,
  actions: readonly JobAction[],
): Promise<OpenProviderWrite[]> {
  return sql.query<OpenProviderWrite>(OF_ACCOUNT, [accountId, actions]);
}

const HAS_OTHERS = 'select 1 from provider_job where object_id = $1 and id <> $2 limit 1';

/** Whether another write of the same object is open. */
export async function hasOtherWrites(
  sql: Sql,
  { objectId, jobId }: { objectId: string; jobId: string },
): Promise<boolean> {
  return (await sql.query(HAS_OTHERS, [objectId, jobId])).length > 0;
}

/** Values that fields of an object have at the provider. */
export interface FieldsBefore {
  objectId: string;
  before: Readonly<Record<string, unknown>>;
}

// For each field, only the earliest open write stores the value from before it. Later writes
// already contain the value that the earlier write wanted.
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
 * Stores the previous value of each field in the earliest open write of that field. The mirror
 * shows this value again if the provider refuses the write. Only for writes that keep previous
 * values in `before` of their payload.
 * @param except a queue row that is about to end, and is skipped
 * @returns the fields with an open write
 */
export async function storePreviousValues(
  sql: Sql,
  action: JobAction,
  fields: readonly FieldsBefore[],
  except: string | null = null,
): Promise<{ objectId: string; key: string }[]> {
  if (fields.length === 0) return [];
  return sql.query<RowOf<ProviderJob, 'objectId'> & { key: string }>(REMEMBER, [
    action,
    JSON.stringify(fields),
    except,
  ]);
}

/** Condition: the earliest open write of object `$1`, except `$2`, with one of the actions `$3`. */
const IS_NEXT = `id in (
    select id from provider_job where object_id = $1 and id <> $2 and action = any($3::text[])
    order by id limit 1 for update)`;

const AMEND_NEXT = `
  update provider_job set payload = payload || $4::jsonb
  where ${IS_NEXT}
  returning 1`;

/**
 * Adds to the payload of an object's earliest other open write.
 * @param actions only writes with these actions
 * @returns `false` if there is no such write
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

/** What a change replaced, by field: the values before the change, and the values that it set. */
export interface ReplacedValues {
  before: Readonly<Record<string, unknown>>;
  after: Readonly<Record<string, unknown>>;
}

/** The values that a write's change replaced, as its payload has them. */
export function replacedValues(payload: Readonly<Record<string, unknown>>): ReplacedValues {
  const { before = {}, after = {} } = payload as Partial<ReplacedValues>;
  return { before, after };
}

// The older value of a field is the one to return to, and the newer one is what the object has.
const HAND_ON = `
  update provider_job set payload = payload || jsonb_build_object(
    'before', coalesce(payload -> 'before', '{}') || $4::jsonb,
    'after', $5::jsonb || coalesce(payload -> 'after', '{}'))
  where ${IS_NEXT}
  returning 1`;

/**
 * Passes the values that a failed write has replaced to the object's earliest other open write,
 * which carries the whole object. If that write fails as well, it takes back both changes.
 * @param actions only writes with these actions
 * @returns `false` if there is no such write
 */
export async function handOnReplaced(
  sql: Sql,
  { objectId, jobId }: { objectId: string; jobId: string },
  actions: readonly JobAction[],
  { before, after }: ReplacedValues,
): Promise<boolean> {
  const values = [objectId, jobId, actions, JSON.stringify(before), JSON.stringify(after)];
  return (await sql.query(HAND_ON, values)).length > 0;
}

/**
 * Removes the replaced values from the payload of a write, because the provider has accepted the
 * change.
 */
export async function forgetReplaced(sql: Sql, jobId: string): Promise<void> {
  await sql.query(`update provider_job set payload = payload - 'before' - 'after' where id = $1`, [
    jobId,
  ]);
}

const WITH_FLAG = `
  select id from provider_job
  where object_id = $1 and action = any($2::text[]) and payload @> jsonb_build_object($3::text, true) order by id`;

/** Ids of an object's open writes with these actions whose payload has `flag: true`. */
export async function openWritesWithFlag(
  sql: Sql,
  objectId: string,
  actions: readonly JobAction[],
  flag: string,
): Promise<string[]> {
  return idsOf(await sql.query<{ id: string }>(WITH_FLAG, [objectId, actions, flag]));
}

/** Removes a flag from the payloads of open writes. Writes that have ended are skipped. */
export async function clearFlag(sql: Sql, ids: readonly string[], flag: string): Promise<void> {
  if (ids.length === 0) return;
  await sql.query(`update provider_job set payload = payload - $2 where id = any($1::uuid[])`, [
    ids,
    flag,
  ]);
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
