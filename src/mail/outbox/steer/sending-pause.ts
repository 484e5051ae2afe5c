import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import type { Database, Sql } from '../../../platform/database/sql.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import { type AccountPause, MAY_SEND } from '../../../accounts/grants/provider-accounts.ts';
import type { SendResult } from '../send/send-attempt.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

/*
 * What a pause of sending does to messages (ADR 0090). The pause itself is a column of the account
 * or of the application; a message learns of it when it is due (`send/paused-attempt.ts`).
 */

/** A message cannot be sent within a request, because an operator paused sending. */
export class SendingPausedError extends DomainError {
  constructor({ by, text }: AccountPause) {
    const what = by === 'suspension' ? 'application.suspended' : 'sending.paused';
    super(
      what,
      'forbidden',
      `Nothing was sent: ${text}. Ask the operator of this server to resume it, or use the outbox, whose messages wait until then.`,
    );
  }
}

const RESUMED_AT_ONCE = 1_000;

const PAUSE = `
  update send_job set paused = true, attempt = greatest(attempt - 1, 0) where id = any($1::uuid[])`;

// The outcome of an earlier attempt may have become known, or the message was resumed.
const UNPAUSE = 'update send_job set paused = false where id = any($1::uuid[]) and paused';

/** Marks messages that wait because sending is paused, in the transaction that settles them. */
export async function recordPauses(
  sql: Sql,
  settled: readonly { row: { id: string; paused: boolean }; result: SendResult }[],
): Promise<void> {
  const paused = settled.flatMap(({ row, result }) => (result.paused ? [row.id] : []));
  const resumed = settled.flatMap(({ row, result }) =>
    row.paused && !result.paused ? [row.id] : [],
  );
  if (paused.length > 0) await sql.query(PAUSE, [paused]);
  if (resumed.length > 0) await sql.query(UNPAUSE, [resumed]);
}

// Rows of accounts that are still paused stay. Each row is locked by its id, as the settler does.
const RESUME = `
  update send_job set paused = false, run_at = least(run_at, now())
  where id = any(array(
    select j.id from send_job j join "grant" g on g.id = j.account_id
    where j.paused and j.state = ${ROW_WAITING} and ($1::uuid is null or j.account_id = $1)
      and ($2::uuid is null or g.application_id = $2) and ${MAY_SEND}
    order by j.account_id, j.id limit $3 for update of j skip locked))
  returning 1`;

/**
 * Makes messages due that waited for a pause which has ended.
 * @param of only messages of this account or application; default: all
 * @param goOn asked before each transaction of at most 1000 messages; default: until none is left
 * @returns their number
 */
export async function resumePausedSends(
  database: Database,
  of: { accountId?: string; applicationId?: string } = {},
  goOn: () => boolean = () => true,
): Promise<number> {
  const values = [of.accountId ?? null, of.applicationId ?? null, RESUMED_AT_ONCE];
  for (let resumed = 0; ;) {
    if (!goOn()) return resumed;
    const { length } = await database.query(RESUME, values);
    if (length > 0) wakeAfterCommit(database, 'send');
    resumed += length;
    if (length < RESUMED_AT_ONCE) return resumed;
  }
}
