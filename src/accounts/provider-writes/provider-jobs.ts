import type { JobMove } from '../../platform/job-statuses/jobs.ts';
import type { AccountListener } from '../grants/account-listeners.ts';

/** Shown as the reason of a write that never reaches a provider. */
const DROPPED = 'the account was moved to another mailbox, which does not have this object';

// By the index of job_status: a worker locks these rows in the order of their ids, too.
const DELETE = `
  delete from provider_job where id in (
    select id from provider_job where id in (select id from job_status where account_id = $1) order by id for update)
  returning id`;

/** Open writes of an account that is moved end as cancelled; those of a removed one are gone. */
export const WRITES_OF_ACCOUNT: AccountListener = {
  queue: 'provider',
  async endWork(sql, accountId) {
    const dropped = await sql.query<{ id: string }>(DELETE, [accountId]);
    return dropped.map(({ id }): JobMove => ({ id, to: 'cancelled', reason: DROPPED }));
  },
};
