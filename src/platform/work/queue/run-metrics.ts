import { queueLateness, queueRuns } from '../../metrics/queue-metrics.ts';
import type { ClaimResultRow } from './claim-statement.ts';
import type { Outcome, QueueTable } from './dispatcher.ts';

/** Notes the lateness of a row that is claimed for its first attempt. */
export function noteStart(
  { queue, permanent }: QueueTable,
  { attempt, lateSeconds }: Pick<ClaimResultRow, 'attempt' | 'lateSeconds'>,
): void {
  // Rows of a permanent queue are promised for no time.
  if (attempt === 1 && !permanent) queueLateness.observe({ queue }, Math.max(0, lateSeconds));
}

/** Counts runs whose results are written. */
export function countRuns(
  { queue }: QueueTable,
  ended: readonly { outcome: Outcome<unknown> | null }[],
): void {
  for (const result of ['done', 'again', 'none'] as const) {
    const count = ended.filter(({ outcome }) => (outcome?.next.kind ?? 'none') === result).length;
    if (count > 0) queueRuns.inc({ queue, result }, count);
  }
}
