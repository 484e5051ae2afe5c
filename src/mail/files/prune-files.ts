import { firstIdAt } from '../../platform/base/ids/ids.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { IS_UNUSED } from './unused-uploads.ts';

/** Uploads that nothing carries are kept for so long. */
export const UPLOAD_RETENTION_MS = 7 * 24 * 3_600_000;

/** Bytes that nobody refers to are those of a request for so long: it may still be running. */
const ARRIVAL_MS = 3_600_000;

const BATCH = 100;

// Whoever is making something carry one of them holds it: it is left out, and found to be carried the next time.
const HOLD = `
  select f.id from file f
  where f.message_id is null and f.id < $1 and ${IS_UNUSED}
  order by f.id limit $2 for update of f skip locked`;
const EXPIRE = `
  delete from file f
  where f.id = any($1::uuid[]) and ${IS_UNUSED}
  returning f.id, f.account_id as "accountId",
    (select g.application_id from "grant" g where g.id = f.account_id) as "applicationId"`;
const ORPHANS = `
  delete from file_data where id in (
    select d.id from file_data d
    where d.id < $1
      and not exists (select 1 from file f where f.data_id = d.id)
      and not exists (select 1 from draft_file f where f.data_id = d.id)
    order by d.id limit $2)
  returning 1`;

/**
 * Removes uploads that nothing has carried for 7 days, and bytes that nobody refers to: of requests that were killed,
 * of drafts that are gone. At most 100 of each. Runs in the caller's transaction; safe for several processes.
 * @returns how many went; 0 when there is nothing left
 */
export async function pruneFiles(sql: Sql, now: Date): Promise<number> {
  const before = firstIdAt(new Date(now.getTime() - UPLOAD_RETENTION_MS));
  const held = await sql.query<{ id: string }>(HOLD, [before, BATCH]);
  const expired =
    held.length === 0
      ? []
      : await sql.query<{ id: string; accountId: string; applicationId: string }>(EXPIRE, [
          idsOf(held),
        ]);
  const change = { object: 'file', event: 'delete', at: now } as const;
  const changes = expired.map(({ id, ...owner }) => ({ ...owner, ...change, objectId: id }));
  await recordChanges(sql, changes);
  const orphans = await sql.query(ORPHANS, [
    firstIdAt(new Date(now.getTime() - ARRIVAL_MS)),
    BATCH,
  ]);
  return expired.length + orphans.length;
}
