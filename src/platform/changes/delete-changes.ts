import type { Sql } from '../database/sql.ts';

const DELETE = `
  delete from change where (account_id, seq) in (
    select account_id, seq from change where account_id = any($1::uuid[]) order by account_id, seq limit $2)
  returning 1`;

/**
 * Deletes entries of the change log of accounts that no longer exist, at most `most`.
 * @returns how many it deleted; fewer than `most` if none is left
 */
export async function deleteChanges(
  sql: Sql,
  accountIds: readonly string[],
  most: number,
): Promise<number> {
  return (await sql.query(DELETE, [accountIds, most])).length;
}
