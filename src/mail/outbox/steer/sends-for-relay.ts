import type { Sql } from '../../../platform/database/sql.ts';
import { rateGateDelay, resetGate } from '../../../platform/work/gates/rate-gates.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import type { RelayListener } from '../../relay/relay-listeners.ts';
import { ATTEMPTS_BEFORE_RELAY } from '../send/retry-policy.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

// Uses the index of job_status, because the queue has no index of all rows of an account.
const WAITING = `
  select q.id from send_job q
  where q.id in (select id from job_status where account_id = $1 and status in ('pending', 'delayed'))
    and q.state = ${ROW_WAITING} and q.route = 'account' and not q.held and not q.ambiguous
    and q.due_at <= now() and q.run_at > now()`;
const LOCK = `${WAITING} order by q.id for update`;

// Messages that the mailing service would have taken over already, and messages that the stopped
// circuit breaker has delayed beyond the time that their schedule gives them. All others keep their
// schedule.
const WAKE = `
  update send_job set run_at = now() where id in (
    select waiting.id from (${WAITING}) waiting join send_job j using (id)
      left join lateral (
        select code, next_at from job_attempt where job_id = j.id order by attempt desc, id desc limit 1) last on true
    where j.failures >= ${ATTEMPTS_BEFORE_RELAY} or last.code = 'quota-exhausted'
      or $2 and coalesce(last.next_at, j.due_at) <= now())`;

/** Lets messages that wait for their account's server use the mailing service at once. */
export const SENDS_FOR_RELAY: RelayListener = {
  async lockWork(sql: Sql, accountId: string) {
    await sql.query(LOCK, [accountId]);
  },
  async opened(sql: Sql, accountId: string) {
    const { stoppedUntil } = await rateGateDelay(sql, accountId);
    await sql.query(WAKE, [accountId, stoppedUntil !== null]);
    if (stoppedUntil !== null) await resetGate(sql, accountId);
    wakeAfterCommit(sql, 'send');
  },
};
