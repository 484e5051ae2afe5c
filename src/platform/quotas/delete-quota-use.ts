import type { Sql } from '../database/sql.ts';

const DELETE = 'delete from quota_use where owner_id = any($1::uuid[]) returning 1';

/**
 * Deletes what accounts and applications have used of their quotas. Only for owners whose
 * application is deleted: otherwise a new account could use its quota again.
 * @returns how many rows it deleted
 */
export async function deleteQuotaUse(sql: Sql, ownerIds: readonly string[]): Promise<number> {
  return (await sql.query(DELETE, [ownerIds])).length;
}
