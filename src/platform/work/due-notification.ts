import type { Sql } from '../database/sql.ts';
import type { QueueName } from './signals.ts';

/*
 * A notification that queues have work due now: the names of the queues, and a few workers that it
 * wakes, such as `send,hook,@7,@12` (docs/adr/0097). Earlier releases name no workers, and read
 * only the names of the queues.
 */

/** Channel of the notifications. */
export const DUE_CHANNEL = 'carillon_due';
/** Marks the part of a notification that names a worker. */
const WORKER = '@';
/** How many workers a notification wakes. */
const WOKEN = 2;
/** A worker without a heartbeat for this long is not woken. */
const SILENT_SECONDS = 2.5;

/**
 * Notifies a few living workers, picked at random. If all of them were woken, all of them would
 * claim, for one row. Without another living worker, nothing is sent. $1 names of queues, separated
 * by commas; $2 id of the worker that sends, or 0.
 */
export const NOTIFY_DUE = `
  select pg_notify('${DUE_CHANNEL}', $1 || picked.ids)
  from (select string_agg(',${WORKER}' || id, '') as ids
        from (select id from worker where id <> $2 and seen_at > now() - interval '${SILENT_SECONDS} s'
              order by random() limit ${WOKEN}) few) picked
  where picked.ids is not null`;

/** Wakes a few living workers, for programs that write into queues and have no `Notifier`. */
export async function notifyDue(sql: Sql, queues: readonly QueueName[]): Promise<void> {
  await sql.query(NOTIFY_DUE, [queues.join(','), 0]);
}

/** Returns the queues that a notification announces to a worker; none if it names others. */
export function queuesFor(workerId: number, payload: string): QueueName[] {
  const parts = payload.split(',');
  const woken = parts.filter((part) => part.startsWith(WORKER));
  if (woken.length > 0 && !woken.includes(`${WORKER}${workerId}`)) return [];
  return parts.filter((part) => !part.startsWith(WORKER)) as QueueName[];
}
