import { idsOf, type Sql } from '../database/sql.ts';
import { endLanes } from './delivery/lane.repository.ts';
import { forgetRateGates } from '../work/gates/rate-gates.ts';

// In this order: attempts and deliveries are found through their webhooks. Rows that are being
// settled are skipped; the next call finds them.
const DELIVERIES = `
  delete from hook_job where id = any(array(
    select j.id from webhook w join hook_job j on j.webhook_id = w.id
    where w.application_id = $1 order by j.id limit $2 for update of j skip locked))
  returning 1`;
const ATTEMPTS = `
  delete from webhook_attempt where id = any(array(
    select t.id from webhook w join webhook_attempt t on t.webhook_id = w.id
    where w.application_id = $1 limit $2))
  returning 1`;
const EVENTS = `
  delete from webhook_event where id = any(array(
    select id from webhook_event where application_id = $1 order by id limit $2))
  returning 1`;
const WEBHOOKS = `
  delete from webhook where id = any(array(
    select w.id from webhook w
    where w.application_id = $1 and not exists (select from hook_job j where j.webhook_id = w.id) limit $2))
  returning id`;

/**
 * Deletes the webhooks of an application that no longer has accounts, with their deliveries,
 * attempts and events: at most `most` rows.
 * @returns how many it deleted; 0 if none is left
 */
export async function deleteWebhooksOf(
  sql: Sql,
  applicationId: string,
  most: number,
): Promise<number> {
  await endLanes(sql);
  for (const text of [DELIVERIES, ATTEMPTS, EVENTS]) {
    const { length } = await sql.query(text, [applicationId, most]);
    if (length > 0) return length;
  }
  const webhooks = await sql.query<{ id: string }>(WEBHOOKS, [applicationId, most]);
  await forgetRateGates(sql, idsOf(webhooks));
  return webhooks.length;
}
