import { wants } from './matching.ts';

/**
 * SQL of the queued events of a webhook, one row for each event: `event_id`, and `row_id`, `state`
 * and `run_at` of its queue row.
 * @param webhook SQL expression of its id; `job`, `hook` and `event` are names of this SQL
 */
export const queuedEvents = (webhook: string): string => `(
  select job.event_id, job.id as row_id, job.state, job.run_at from hook_job job
  where job.webhook_id = ${webhook} and job.wanted_seq is null
  union all
  select event.id, job.id, job.state, job.run_at from hook_job job join webhook hook on hook.id = job.webhook_id
  join webhook_event event on event.account_id = job.event_id and event.seq > job.from_seq
    and event.seq <= job.wanted_seq and ${wants('hook', 'event')}
  where job.webhook_id = ${webhook})`;

/**
 * SQL of how many events a row of `hook_job` still has to deliver.
 * @param row name or alias of the row
 */
export const eventsOfRow = (row: string): string => `
  case when ${row}.wanted_seq is null then 1 else (
    select count(*) from webhook w join webhook_event e on ${wants('w', 'e')}
    where w.id = ${row}.webhook_id and e.account_id = ${row}.event_id and e.seq > ${row}.from_seq and e.seq <= ${row}.wanted_seq) end`;

/**
 * SQL condition: an attempt was about an event.
 * @param attempt alias of a row of `webhook_attempt`
 * @param event alias of a row of `webhook_event`
 */
export const isAbout = (attempt: string, event: string): string => `
  (${attempt}.event_id = ${event}.id
   or ${attempt}.deltas > 1 and ${attempt}.account_id = ${event}.account_id and ${attempt}.last_seq >= ${event}.seq
      and ${attempt}.first_seq <= ${event}.seq)`;

/**
 * SQL condition: a webhook has confirmed an event that it wants.
 * @param webhook alias of a row of `webhook`
 * @param event alias of a row of `webhook_event`
 */
export const isDelivered = (webhook: string, event: string): string => `
  exists (select from webhook_attempt a
          where a.webhook_id = ${webhook}.id and a.outcome = 'delivered' and ${isAbout('a', event)})`;
