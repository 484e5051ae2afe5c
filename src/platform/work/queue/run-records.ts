import { Logger } from '@nestjs/common';
import { isLogged } from '../../logs/levels.ts';
import { beginSpan, failSpan, inSpan, type Span, SpanKind } from '../../tracing/spans.ts';
import { reportIncident } from '../../logs/incidents.ts';
import type { AnyDispatcher, ClaimedRow, Outcome } from './dispatcher.ts';
import type { QueueName } from '../signals.ts';

const log = new Logger('Work');

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
export function beginRun(queue: QueueName, row: ClaimedRow): Span | null {
  return beginSpan(() => ({
    name: NAMES[queue],
    kind: SpanKind.CONSUMER,
    parent: row.traceparent ?? null,
    attributes: {
      'carillon.queue': queue,
      'carillon.job_id': row.id,
      [queue === 'hook' ? 'carillon.webhook_id' : 'carillon.account_id']: row.gateId,
      'carillon.attempt': row.attempt,
      'carillon.ambiguous': row.ambiguous,
      'carillon.due_at': row.dueAt.toISOString(),
    },
  }));
}

/** Runs a row with its span as the current one. */
export const withinRun = <T>(span: Span | null, run: () => T): T =>
  span ? inSpan(span, run) : run();

/**
 * Ends the span of a run, and writes a line about it at the level `debug`.
 * @param outcome `null` if nothing was done and the row went back
 */
export function endRun(
  span: Span | null,
  { table: { queue } }: AnyDispatcher,
  row: ClaimedRow,
  outcome: Outcome<unknown> | null,
  error?: unknown,
): void {
  if (isLogged('debug')) {
    const { id, gateId, attempt } = row;
    const next = outcome ? outcome.next : { kind: 'released' };
    const ids = queue === 'hook' ? { webhook: gateId } : { account: gateId };
    log.debug({ queue, job: id, ...ids, attempt, next }, 'a run has ended');
  }
  if (!span) return;
  if (error !== undefined) failSpan(span, error);
  if (outcome?.next.kind === 'again')
    span.setAttribute('carillon.next_at', outcome.next.at.toISOString());
  span.setAttribute('carillon.outcome', outcome ? outcome.next.kind : 'released');
  span.end();
}

/** The outcome of a row during whose runs workers have crashed. It does not run again. */
export function quarantined(dispatcher: AnyDispatcher, row: ClaimedRow): Outcome<unknown> {
  const { queue } = dispatcher.table;
  const of = queue === 'hook' ? { webhook: row.gateId } : { account: row.gateId };
  reportIncident('row.quarantined', { queue, job: row.id, ...of }, null, row.traceparent);
  return dispatcher.onPoison(row);
}
