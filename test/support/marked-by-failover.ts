import type { SqlPool } from '../../src/platform/database/sql.ts';
import type { QueueTable } from '../../src/platform/work/queue/dispatcher.ts';
import { currentTimeline, followTimeline } from '../../src/platform/work/workers/failover.ts';

/**
 * Marks the rows of a queue as the first worker does on a server that was promoted and may lack the
 * last seconds.
 */
export async function markByFailover(
  sql: Pick<SqlPool, 'query' | 'transaction'>,
  table: QueueTable,
): Promise<void> {
  const timeline = (await currentTimeline(sql)) ?? 0;
  await sql.query(
    `insert into instance (id, place, confirmed_at, timeline) values (1, '{"name": "carillon"}', now(), $1::int - 1)
     on conflict (id) do update set timeline = excluded.timeline`,
    [timeline],
  );
  await followTimeline(sql, [table], timeline, false);
}
