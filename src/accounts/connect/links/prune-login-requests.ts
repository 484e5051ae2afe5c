import { ANSWERED_AGAIN_MS } from './login-requests.ts';
import type { Sql } from '../../../platform/database/sql.ts';

/** How long a used or expired link is remembered, so that its page can say so. */
const REMEMBERED_MS = 7 * 86_400_000;

/** Clears the secrets of sign-ins that have expired, or ended more than a minute ago. */
const FORGET = `
  update login_request set pending_sealed = null, settings_sealed = null, oauth_state_hash = null
  where id = any(array(
    select id from login_request
    where (expires_at < $1 or (state in ('finished', 'failed', 'cancelled') and updated_at < $2))
      and (pending_sealed is not null or settings_sealed is not null) limit 1000))`;

/**
 * Clears the credentials and settings of login requests that have ended or expired, and deletes
 * requests that ended a week ago. Handles at most 1000 of each per call.
 * @returns how many it deleted
 */
export async function pruneLoginRequests(sql: Sql, now: Date): Promise<number> {
  await sql.query(FORGET, [now, new Date(now.getTime() - ANSWERED_AGAIN_MS)]);
  const rows = await sql.query(
    `delete from login_request
     where id = any(array(
       select id from login_request
       where expires_at < $1 or (state in ('finished', 'failed', 'cancelled') and updated_at < $1) limit 1000))
     returning 1`,
    [new Date(now.getTime() - REMEMBERED_MS)],
  );
  return rows.length;
}
