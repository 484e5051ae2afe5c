import type { Sql } from '../../../platform/database/sql.ts';
import { SESSION_IDLE_MS } from './session-lifetime.ts';

const MOST = 1_000;

const PRUNE = `
  delete from operator_session where id in (
    select id from operator_session where ends_at <= $1 or last_used_at <= $2
    order by id limit ${MOST} for update skip locked)
  returning 1`;
const PRUNE_LINKS = `
  delete from operator_link where hash in (
    select hash from operator_link where ends_at <= $1 order by hash limit ${MOST} for update skip locked)
  returning 1`;

/**
 * Removes sessions that have ended, and sign-in links that were not used in time.
 * @returns the number of removed rows
 */
export async function pruneOperatorSessions(sql: Sql, now: Date): Promise<number> {
  const idleSince = new Date(now.getTime() - SESSION_IDLE_MS);
  const sessions = await sql.query(PRUNE, [now, idleSince]);
  const links = await sql.query(PRUNE_LINKS, [now]);
  return sessions.length + links.length;
}
