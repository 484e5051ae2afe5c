import type { Sql } from '../../../platform/database/sql.ts';

/** How long a mail can prove an address after it was sent. */
const RETENTION_MS = 7 * 86_400_000;

const PRUNE = `
  delete from address_loop where id in (
    select id from address_loop where sent_at <= $1 order by sent_at limit 1000 for update skip locked)
  returning 1`;

/**
 * Deletes records of mails that are too old to prove an address, at most 1000 per call.
 * @returns how many it deleted
 */
export async function pruneAddressLoops(sql: Sql, now: Date): Promise<number> {
  const rows = await sql.query(PRUNE, [new Date(now.getTime() - RETENTION_MS)]);
  return rows.length;
}

const DELETE = `
  delete from address_loop where id = any(array(
    select id from address_loop where application_id = $1 limit $2)) returning 1`;

/**
 * Deletes records of the mails that were to prove addresses for an application, at most `most`.
 * @returns how many it deleted
 */
export async function deleteAddressLoopsOf(
  sql: Sql,
  applicationId: string,
  most: number,
): Promise<number> {
  return (await sql.query(DELETE, [applicationId, most])).length;
}
