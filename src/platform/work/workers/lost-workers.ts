import type { Sql } from '../../database/sql.ts';
import { DEAD_AFTER_SECONDS } from '../queue/queue-statements.ts';

/** What a sweep found (`sweepStatement`). */
export interface Swept {
  /** Workers that counted as dead. */
  dead: number;
  /** Their processes, for the log; `null` if there is none. */
  processes: string | null;
  /** Claimed rows that were given back. */
  rows: number;
}

/** Describes what a sweep found, for operators; `null` if it found nothing. */
export function describeSwept({ dead, processes, rows }: Swept): string | null {
  const given = `${rows} claimed rows go back to the queues`;
  if (dead > 0)
    return `no heartbeat for ${DEAD_AFTER_SECONDS} seconds, so frozen or gone: ${processes}; ${given}`;
  return rows > 0 ? `workers that are no longer listed had claimed rows; ${given}` : null;
}

const PRUNE = `
  delete from lost_worker where id = any(array(
    select id from lost_worker where lost_at < now() - interval '1 day' order by lost_at limit 1000))
  returning 1`;

/**
 * Forgets workers that were declared dead more than a day ago: at most 1000, oldest first.
 * @returns the number of forgotten workers
 */
export async function pruneLostWorkers(sql: Sql): Promise<number> {
  return (await sql.query(PRUNE)).length;
}
