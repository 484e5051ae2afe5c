import { columnsOf, type Sql } from '../../platform/database/sql.ts';
import { currentTraceparent } from '../../platform/tracing/traceparent.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import type { JobAction } from '../../job-statuses/job-status.ts';
import { type JobTransition, OPEN_JOBS } from '../../job-statuses/jobs.ts';
import type { AccountListener } from '../grants/account-listeners.ts';

/** A change to write to a provider. */
export interface NewProviderWrite {
  /** Becomes the job_status_id. */
  id: string;
  accountId: string;
  action: JobAction;
  /** Kind of the affected object, as the API names it. */
  object: 'calendar' | 'event' | 'message' | 'draft' | 'folder' | 'label' | 'contact';
  objectId: string;
  /** Values that the provider needs and the mirror will no longer have. */
  payload?: Record<string, unknown>;
  at: Date;
}

/**
 * SQL statement that opens the provider writes which `given` selects: id, account_id, action,
 * object, object_id, payload, at, traceparent. For modules that select them with a query; other
 * modules call `openProviderWrites`.
 */
export const openingProviderWrites = (given: string): string => `
  with given as (${given}),
  opened as (${OPEN_JOBS})
  insert into provider_job (id, account_id, action, object_id, payload, run_at, due_at, traceparent)
  select id, account_id, action, object_id, payload, now(), now(), traceparent from given`;

const OPEN = openingProviderWrites(`
  select x.*, $8::text as traceparent
  from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::jsonb[], $7::timestamptz[])
    x(id, account_id, action, object, object_id, payload, at)`);

/**
 * Opens a provider write: creates its job status and its queue row, in the caller's transaction.
 */
export async function openProviderWrite(sql: Sql, job: NewProviderWrite): Promise<void> {
  await openProviderWrites(sql, [job]);
}

/** Same as `openProviderWrite` for several provider writes, in one round trip. */
export async function openProviderWrites(
  sql: Sql,
  jobs: readonly NewProviderWrite[],
): Promise<void> {
  await sql.query(OPEN, [
    ...columnsOf(jobs, 'id', 'accountId', 'action', 'object', 'objectId'),
    jobs.map(({ payload = {} }) => JSON.stringify(payload)),
    jobs.map(({ at }) => at),
    currentTraceparent(),
  ]);
  wakeAfterCommit(sql, 'provider');
}

/** Reason shown for a write that is cancelled without reaching a provider. */
const DROPPED = 'the account was moved to another mailbox, which does not have this object';

const DELETE = `
  delete from provider_job where id in (
    select id from provider_job where account_id = $1 order by id for update)
  returning id`;

/**
 * When an account moves to another mailbox, its open writes end as cancelled. When an account is
 * removed, its open writes are deleted.
 */
export const WRITES_OF_ACCOUNT: AccountListener = {
  queue: 'provider',
  async endWork(sql, accountId) {
    const dropped = await sql.query<{ id: string }>(DELETE, [accountId]);
    return dropped.map(({ id }): JobTransition => ({ id, to: 'cancelled', reason: DROPPED }));
  },
};
