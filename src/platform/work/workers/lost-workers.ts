import type { Sql } from '../../database/sql.ts';

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
