import type { Sql } from '../../platform/database/sql.ts';

/** How long a link that is used or expired is remembered, so that its page can say so. */
const REMEMBERED_MS = 7 * 86_400_000;

/** What was given for a sign-in that is over. */
const FORGET = `
  update login_request set pending_sealed = null, settings_sealed = null, oauth_state_hash = null
  where id = any(array(
    select id from login_request
    where (expires_at < $1 or state in ('finished', 'failed', 'cancelled'))
      and (pending_sealed is not null or settings_sealed is not null) limit 1000))`;

/**
 * Forgets the credentials and settings of login requests that ended or expired, and removes those that did so a week ago.
 * @returns how many were removed
 */
export async function pruneLoginRequests(sql: Sql, now: Date): Promise<number> {
  await sql.query(FORGET, [now]);
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
