import { firstIdAt } from '../../base/ids/ids.ts';
import type { Sql } from '../../database/sql.ts';
import { TEST_TYPE } from './matching.ts';

const DAY_MS = 24 * 3_600_000;
/**
 * How long events are kept, whether or not the owner of a pull webhook has read them (ADR 0156).
 */
export const EVENT_RETENTION_MS = 7 * DAY_MS;
/** How long attempts are kept. */
export const ATTEMPT_RETENTION_MS = 30 * DAY_MS;

// Ids sort by time, so the oldest rows are one range of the primary key. Lanes of a failed webhook
// keep no events: it gets those of 72 hours. A reader of a feed that has not read a deleted event
// must get 410, so the highest deleted number is recorded. Nobody misses an old test event.
const PRUNE_EVENTS = `
  with deleted as (
  delete from webhook_event where id in (
    select e.id from webhook_event e
    where e.id < $1 and not exists (
      select 1 from webhook w join hook_job j on j.webhook_id = w.id and j.event_id = e.id
      where w.application_id = e.application_id)
    and not exists (
      select 1 from webhook w join hook_job j on j.webhook_id = w.id and j.event_id = e.account_id and j.from_seq < e.seq
      where w.application_id = e.application_id and w.state in ('active', 'failing'))
    order by e.id limit 5000)
  returning application_id, type, seq),
  owners as materialized (
    select a.id from application a where a.id in (select application_id from deleted) order by a.id for key share),
  recorded as (
    insert into webhook_event_pruned as p (application_id, type, seq)
    select d.application_id, d.type, max(d.seq) from deleted d join owners on owners.id = d.application_id
    where d.seq is not null and d.type not like '${TEST_TYPE}%'
    group by d.application_id, d.type order by d.application_id, d.type
    on conflict (application_id, type) do update set seq = greatest(p.seq, excluded.seq))
  select from deleted`;

const PRUNE_ATTEMPTS = `
  delete from webhook_attempt where id in (
    select id from webhook_attempt where id < $1 order by id limit 5000) returning 1`;

/**
 * Deletes events older than 7 days that have no queued delivery, and attempts older than 30 days:
 * at most 5000 of each, oldest first. Records the newest deleted event of each application and
 * trigger. Safe to run at any time and in several processes.
 * @returns the number of deleted rows; 0 if none is left
 */
export async function pruneWebhookEvidence(sql: Sql, now: Date): Promise<number> {
  const remove = async (text: string, retentionMs: number) =>
    (await sql.query(text, [firstIdAt(new Date(now.getTime() - retentionMs))])).length;
  const events = await remove(PRUNE_EVENTS, EVENT_RETENTION_MS);
  return events + (await remove(PRUNE_ATTEMPTS, ATTEMPT_RETENTION_MS));
}
