import { columnsOf, type Sql } from '../../platform/database/sql.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import type { JobAction } from '../../platform/job-statuses/job-status.ts';
import { type JobMove, OPEN_JOBS } from '../../platform/job-statuses/jobs.ts';
import type { AccountListener } from '../grants/account-listeners.ts';

/** A change to be pushed to a provider. */
export interface NewJob {
  /** Becomes the job_status_id. */
  id: string;
  accountId: string;
  action: JobAction;
  /** Kind of the affected object on the wire. */
  object: 'calendar' | 'event' | 'message' | 'draft' | 'folder' | 'label' | 'contact';
  objectId: string;
  /** What the provider needs that the mirror will no longer have. */
  payload?: Record<string, unknown>;
  at: Date;
}

/**
 * A statement that opens the jobs which `given` selects: id, account_id, action, object, object_id, payload, at. For rooms
 * that know them by a query; others call `openProviderJobs`.
 */
export const openingProviderJobs = (given: string): string => `
  with given as (${given}),
  opened as (${OPEN_JOBS})
  insert into provider_job (id, account_id, action, object_id, payload, run_at, due_at)
  select id, account_id, action, object_id, payload, now(), now() from given`;

const OPEN = openingProviderJobs(`
  select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::jsonb[], $7::timestamptz[])
    x(id, account_id, action, object, object_id, payload, at)`);

/**
 * Opens a job for a write to the provider: its status and its queue row, in the caller's transaction.
 */
export async function openProviderJob(sql: Sql, job: NewJob): Promise<void> {
  await openProviderJobs(sql, [job]);
}

/** The same for any number of them, in one round trip. */
export async function openProviderJobs(sql: Sql, jobs: readonly NewJob[]): Promise<void> {
  await sql.query(OPEN, [
    ...columnsOf(jobs, 'id', 'accountId', 'action', 'object', 'objectId'),
    jobs.map(({ payload = {} }) => JSON.stringify(payload)),
    jobs.map(({ at }) => at),
  ]);
  wakeAfterCommit(sql, 'provider');
}

/** Shown as the reason of a write that never reaches a provider. */
const DROPPED = 'the account was moved to another mailbox, which does not have this object';

const DELETE = `
  delete from provider_job where id in (
    select id from provider_job where account_id = $1 order by id for update)
  returning id`;

/** Open writes of an account that is moved end as cancelled; those of a removed one are gone. */
export const WRITES_OF_ACCOUNT: AccountListener = {
  queue: 'provider',
  async endWork(sql, accountId) {
    const dropped = await sql.query<{ id: string }>(DELETE, [accountId]);
    return dropped.map(({ id }): JobMove => ({ id, to: 'cancelled', reason: DROPPED }));
  },
};
