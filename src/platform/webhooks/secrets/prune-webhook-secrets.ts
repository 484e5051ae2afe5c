import type { Sql } from '../../database/sql.ts';

const PRUNE = `
  delete from webhook_secret where id in (
    select id from webhook_secret where expires_at <= $1 order by id limit 1000 for update skip locked)
  returning 1`;

/**
 * Deletes secrets of webhooks that have expired, at most 1000 per call.
 * @returns how many it deleted
 */
export async function pruneWebhookSecrets(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [now])).length;
}
