import { reportIncident } from '../../logs/incidents.ts';
import { webhookAttempts, webhookSeconds } from '../../metrics/queue-metrics.ts';
import type { AttemptTally } from './delivery-policy.ts';
import type { AttemptEvidence } from './delivery.repository.ts';
import type { SetAside } from './lane.repository.ts';

/** One request, or the end of events without one. */
export interface AttemptResult {
  evidence: AttemptEvidence;
  /** Effect on the health of the webhook; `null` = none. */
  effect: 'delivered' | 'failed' | 'gone' | null;
}

/** What changes in a queue row that stays, besides its next time. */
export interface RowChange {
  /** Number up to which the lane has delivered; `null`: as before. */
  fromSeq: number | null;
  /** End of the batch to repeat; `null`: the next claim begins a new one. */
  batchSeq: number | null;
  attempt: number;
}

/** Result of a run. */
export interface DeliveryResult {
  attempts: AttemptResult[];
  /** Applied if the row stays. */
  change: RowChange | null;
  /** An event that gets a queue row of its own, because its lane goes on without it. */
  setAside: SetAside | null;
  /** Whether the first event of the lane is to be delivered alone. */
  isolates: boolean;
  /** Whether the webhook was in trouble as a whole until this run. */
  recovers: boolean;
}

/** A result that changes nothing. */
export const NO_RESULT: DeliveryResult = {
  attempts: [],
  change: null,
  setAside: null,
  isolates: false,
  recovers: false,
};

/** Counts attempts whose results are written. */
export function countDeliveries(attempts: readonly AttemptResult[]): void {
  for (const { evidence, effect } of attempts) {
    const { outcome, httpStatus, tookMs } = evidence;
    webhookAttempts.inc({ outcome, status: String(httpStatus ?? 'none') });
    // Without an effect no request was made, for example because the webhook was switched off.
    if (effect) webhookSeconds.observe(tookMs / 1000);
  }
}

/** Writes a log line for events that a webhook does not get. */
export function reportDropped(
  attempts: readonly AttemptResult[],
  traceparent: string | null | undefined,
): void {
  for (const { evidence } of attempts) {
    if (evidence.outcome !== 'dropped') continue;
    const { webhookId: webhook, eventId: event, deltas } = evidence;
    const of = { webhook, event, ...(deltas > 1 ? { events: deltas } : {}) };
    reportIncident('delivery.dropped', of, evidence.detail, traceparent);
  }
}

/** Counts for each webhook the attempts that affect its health. */
export function tally(attempts: readonly AttemptResult[]): Map<string, AttemptTally> {
  const tallies = new Map<string, AttemptTally>();
  for (const { evidence, effect } of attempts) {
    if (!effect) continue;
    const { webhookId, detail } = evidence;
    const counts: AttemptTally = tallies.get(webhookId) ?? { delivered: 0, failed: 0, gone: false };
    if (effect === 'delivered') counts.delivered++;
    else counts.failed++;
    if (effect === 'gone') counts.gone = true;
    if (effect !== 'delivered') counts.detail = detail;
    tallies.set(webhookId, counts);
  }
  return tallies;
}
