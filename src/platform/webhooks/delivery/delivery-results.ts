import { reportIncident } from '../../logs/incidents.ts';
import { webhookAttempts, webhookSeconds } from '../../metrics/queue-metrics.ts';
import type { AttemptTally } from './delivery-policy.ts';
import type { AttemptEvidence, LeftDelivery } from './delivery.repository.ts';

/** One attempt to deliver one event. */
export interface AttemptResult {
  evidence: AttemptEvidence;
  /** Effect on the health of the webhook; `null` = none. */
  effect: 'delivered' | 'failed' | 'gone' | null;
}

/** Result of a run. */
export interface DeliveryResult {
  /** The attempts of the run, at most one for each event. */
  attempts: AttemptResult[];
  /** Deliveries that get a queue row of their own, because the row of the run ends. */
  left: LeftDelivery[];
}

/** Counts attempts whose results are written. */
export function countDeliveries(attempts: readonly AttemptResult[]): void {
  for (const { evidence, effect } of attempts) {
    const { outcome, httpStatus, tookMs } = evidence;
    webhookAttempts.inc({ outcome, status: String(httpStatus ?? 'none') });
    // Without an effect no request was made, for example because the webhook was switched off.
    if (effect) webhookSeconds.observe(tookMs / 1000);
  }
}

/** Writes a log line for each event that a webhook does not get. */
export function reportDropped(
  attempts: readonly AttemptResult[],
  traceparent: string | null | undefined,
): void {
  for (const { evidence } of attempts) {
    if (evidence.outcome !== 'dropped') continue;
    const of = { webhook: evidence.webhookId, event: evidence.eventId };
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
