import { newId } from '../../platform/base/ids/ids.ts';
import { columnsOf, type Sql } from '../../platform/database/sql.ts';
import { OPEN_JOBS, transitionJobs } from '../../job-statuses/jobs.ts';
import type { NewProviderWrite } from './provider-jobs.ts';

const OPEN = `
  with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[])
      x(id, account_id, action, object, object_id, at))
  ${OPEN_JOBS}`;

/**
 * Records the job of a request that has changed nothing, in the caller's transaction. The job is
 * successful at once and reports that with a webhook like every job, because clients wait for the
 * end of the job whose id they get. Nothing is written to the provider.
 * @returns id of the job
 */
export async function recordUnchangedWrite(
  sql: Sql,
  write: Omit<NewProviderWrite, 'id' | 'payload'>,
): Promise<string> {
  const id = newId();
  await sql.query(
    OPEN,
    columnsOf([{ ...write, id }], 'id', 'accountId', 'action', 'object', 'objectId', 'at'),
  );
  await transitionJobs(sql, [{ id, to: 'successful' }], write.at);
  return id;
}
