/**
 * SQL of the queued events of a webhook, one row for each event: `event_id`, `state` and `run_at`.
 * @param webhook SQL expression of its id
 */
export const queuedEvents = (webhook: string): string => `(
  select event_id, state, run_at from hook_job where webhook_id = ${webhook}
  union all
  select unnest(more_events), state, run_at from hook_job where webhook_id = ${webhook} and more_events is not null)`;

/** SQL of how many deliveries a row of `hook_job` has. */
export const DELIVERIES_OF_ROW = '1 + coalesce(cardinality(more_events), 0)';
