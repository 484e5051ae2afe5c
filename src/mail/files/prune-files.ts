import { firstIdAt } from '../../platform/base/ids/ids.ts';
import { idsOf, type Sql, type SqlConnection } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { IS_UNUSED } from './uploads/unused-uploads.ts';
import type { File } from './file.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';

/** Unused uploads are deleted after this time. */
export const UPLOAD_RETENTION_MS = 7 * 24 * 3_600_000;

/**
 * Bytes younger than this may belong to a request that is still running, so they are kept even
 * without a reference.
 */
const UPLOAD_IN_PROGRESS_MS = 3_600_000;

const BATCH = 100;

// A transaction that adds an upload to a draft or message has locked the row. `skip locked` leaves
// that row out, and the next run sees that the upload is in use.
const LOCK = `
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
 * Deletes uploads that were unused for 7 days, and bytes without a reference. Those were left by
 * aborted requests and deleted drafts. Deletes at most 100 of each. Several processes may run it at
 * once.
 * @returns number of deleted rows; 0 if nothing is left to delete
 */
export async function pruneFiles(sql: SqlConnection, now: Date): Promise<number> {
  const expired = await sql.transaction((open) => expire(open, now));
  const orphans = await sql.query(ORPHANS, [
    firstIdAt(new Date(now.getTime() - UPLOAD_IN_PROGRESS_MS)),
    BATCH,
  ]);
  return expired + orphans.length;
}

/** Deletes unused uploads and records these changes, in the caller's transaction. */
async function expire(sql: Sql, now: Date): Promise<number> {
  const before = firstIdAt(new Date(now.getTime() - UPLOAD_RETENTION_MS));
  const locked = await sql.query<{ id: string }>(LOCK, [before, BATCH]);
  if (locked.length === 0) return 0;
  const expired = await sql.query<RowOf<File, 'id' | 'accountId'> & RowOf<Grant, 'applicationId'>>(
    EXPIRE,
    [idsOf(locked)],
  );
  const change = { object: 'file', event: 'delete', at: now } as const;
  await recordChanges(
    sql,
    expired.map(({ id, ...owner }) => ({ ...owner, ...change, objectId: id })),
  );
  return expired.length;
}
