import { beginSpan, failSpan, inSpan, type Span, SpanKind } from '../tracing/spans.ts';
import type { ClaimedRow, Outcome } from './dispatcher.ts';
import type { QueueName } from './signals.ts';

const NAMES: Readonly<Record<QueueName, string>> = {
  send: 'send message',
  provider: 'write to provider',
  hook: 'deliver webhook',
  reminder: 'send reminder',
  sync: 'sync pass',
};

/**
 * Begins the span of one run of a queue row. Its parent is the span under which the row was queued.
 * @returns `null` if nobody listens
 */
export function beginRun(queue: QueueName, job: ClaimedRow): Span | null {
  return beginSpan(() => ({
    name: NAMES[queue],
    kind: SpanKind.CONSUMER,
    parent: job.traceparent ?? null,
    attributes: {
      'carillon.queue': queue,
      'carillon.job_id': job.id,
      [queue === 'hook' ? 'carillon.webhook_id' : 'carillon.account_id']: job.gateId,
      'carillon.attempt': job.attempt,
      'carillon.ambiguous': job.ambiguous,
      'carillon.due_at': job.dueAt.toISOString(),
    },
  }));
}

/** Runs a row with its span as the current one. */
export const withinRun = <T>(span: Span | null, run: () => T): T =>
  span ? inSpan(span, run) : run();

/**
 * Ends the span of a run.
 * @param outcome `null` if nothing was done and the row went back
 */
export function endRun(span: Span | null, outcome: Outcome<unknown> | null, error?: unknown): void {
  if (!span) return;
  if (error !== undefined) failSpan(span, error);
  if (outcome?.next.kind === 'again')
    span.setAttribute('carillon.next_at', outcome.next.at.toISOString());
  span.setAttribute('carillon.outcome', outcome ? outcome.next.kind : 'released');
  span.end();
}
