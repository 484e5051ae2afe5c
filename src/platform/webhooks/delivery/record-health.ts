import { afterCommit, columnsOf, type Sql } from '../../database/sql.ts';
import { reportIncident } from '../../logs/incidents.ts';
import { type AttemptTally, healthAfter, type WebhookHealth } from './delivery-policy.ts';
import { announceHealth } from './health-events.ts';
import type { Webhook } from '../webhook.entity.ts';
import type { RowOf, NotNull } from '../../database/rows/row-of.ts';

// In one statement and ordered by id, so that two workers cannot deadlock. "no key" lets other
// transactions insert rows that refer to the webhook. A healthy webhook whose deliveries succeeded
// is not locked at all.
const LOCK_HEALTH = `
  select id, application_id as "applicationId", callback_url as "callbackUrl", state, failing_since as "failingSince", failures from webhook
  where id = any($1::uuid[]) or (id = any($2::uuid[]) and (failing_since is not null or state = 'failing'))
  order by id for no key update`;

const WRITE_HEALTH = `
  update webhook w set state = h.state, paused = paused and w.state = 'failed', failing_since = h.failing_since, failures = h.failures, updated_at = $5
  from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::int[]) h(id, state, failing_since, failures)
  where w.id = h.id`;

interface LockedHealth
  extends
    WebhookHealth,
    RowOf<Webhook, 'id' | 'applicationId'>,
    NotNull<RowOf<Webhook, 'callbackUrl'>> {}

/**
 * Updates the health and state of each webhook, in the caller's transaction. Stores an event for
 * each that begins to fail, has failed or has recovered.
 */
export async function recordHealth(
  sql: Sql,
  tallies: ReadonlyMap<string, AttemptTally>,
  now: Date,
): Promise<void> {
  if (tallies.size === 0) return;
  const unwell = (tally: AttemptTally) => tally.gone || tally.delivered === 0;
  const ids = (wanted: boolean) =>
    [...tallies].filter(([, tally]) => unwell(tally) === wanted).map(([id]) => id);
  const rows = await sql.query<LockedHealth>(LOCK_HEALTH, [ids(true), ids(false)]);
  const after = rows.flatMap((row) => {
    const tally = tallies.get(row.id);
    return tally ? [{ ...healthAfter(row, tally, now), id: row.id, row, tally }] : [];
  });
  if (after.length === 0) return;
  await sql.query(WRITE_HEALTH, [
    ...columnsOf(after, 'id', 'state', 'failingSince', 'failures'),
    now,
  ]);
  const changed = after.filter(({ row, state }) => state !== row.state);
  const notices = changed.map(({ row, tally, ...health }) => {
    return { ...row, ...health, reason: tally.detail ?? null };
  });
  await announceHealth(sql, notices, now);
  afterCommit(sql, () => {
    for (const { row, state, tally } of changed) {
      if (state !== 'failing' && state !== 'failed') continue;
      const { id: webhook, applicationId: application } = row;
      reportIncident(`webhook.${state}`, { webhook, application }, tally.detail);
    }
  });
}
