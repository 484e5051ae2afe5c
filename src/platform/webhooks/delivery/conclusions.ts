import { newId } from '../../base/ids/ids.ts';
import type { Next, Outcome, RateGateSignal } from '../../work/queue/dispatcher.ts';
import { type Batch, isLane, type WebhookDeliveryRow } from './batches.ts';
import {
  BREAKER,
  decideDelivery,
  type DeliveryAnswer,
  type DeliveryDecision,
  isolationOf,
  RETRY_MS,
} from './delivery-policy.ts';
import {
  type AttemptResult,
  type DeliveryResult,
  NO_RESULT,
  type RowChange,
} from './delivery-results.ts';
import type { AttemptEvidence } from './delivery.repository.ts';
import type { RequestAnswer } from './delivery-requests.ts';
import { KEPT_BYTES, receiverText } from './receiver-text.ts';

/*
 * The next state of a delivery's queue row, and the record of its attempt. Pure functions.
 */

/** The events of a run, and when and how long they were sent. */
export interface DeliveryRun {
  row: WebhookDeliveryRow;
  batch: Batch;
  startedAt: Date;
  tookMs: number;
}

/** A run whose events were in a request, possibly with those of other rows. */
interface RequestedRun extends DeliveryRun, Pick<RequestAnswer, 'events' | 'leads'> {}

type DeliveryOutcome = Outcome<DeliveryResult>;
type Events = Batch['events'];

/** How often the rows of a failed webhook are looked at. Its activation makes them due. */
const REST_MS = 24 * 3_600_000;

/**
 * Decides what follows from the answer of a receiver. Only the first row of a request reports what
 * the answer means for the webhook: one failed request is one failure, whatever it contains.
 */
export function concludeAnswer(
  row: WebhookDeliveryRow,
  batch: Batch,
  { answer, sentAt, tookMs, events, leads }: RequestAnswer,
  now: Date,
): DeliveryOutcome {
  const run = { row, batch, startedAt: sentAt, tookMs, events, leads };
  const { attempt, gateFailures: troubles } = row;
  const giveUpAt = endOf(run, batch.events[0]?.createdAt ?? now);
  const random = Math.random();
  const decision = decideDelivery({ attempt, events, answer, now, giveUpAt, troubles, random });
  const said = answerOf(answer, decision.kind === 'delivered');
  const outcome = outcomeOf(run, decision, said, now);
  if (leads || !outcome.gate) return outcome;
  const { next, result } = outcome;
  return { next, result };
}

function outcomeOf(
  run: RequestedRun,
  decision: DeliveryDecision,
  said: Said,
  now: Date,
): DeliveryOutcome {
  const { row, batch } = run;
  switch (decision.kind) {
    case 'delivered': {
      const recovers = row.gateFailures >= BREAKER.troubles;
      const delivered = evidence(run, { outcome: 'delivered', ...said }, 'delivered');
      const { next, result } = proceed(run, batch.events.length);
      return {
        next,
        result: { ...result, attempts: [delivered], recovers },
        gate: { kind: 'well' },
      };
    }
    case 'gone': {
      const { detail } = decision;
      const gone = evidence(run, { outcome: 'dropped', detail, ...said }, 'gone');
      return { ...restUntilActivated(row, now), result: { ...NO_RESULT, attempts: [gone] } };
    }
    case 'dropped': {
      const { detail } = decision;
      if (isShared(run)) return aloneAtOnce(run, detail, said, now);
      const ended = batch.events.filter(({ createdAt }) => endOf(run, createdAt) <= now).length;
      const dropped = drop(run, detail, ended || batch.events.length, said, 'failed');
      return { ...dropped, gate: { kind: 'trouble', reason: detail } };
    }
    case 'too_large':
      return isShared(run)
        ? aloneAtOnce(run, decision.detail, said, now)
        : tooLarge(run, decision.detail, said, now);
    case 'retry':
      return retry(run, decision, said);
  }
}

const isShared = ({ events, batch }: RequestedRun): boolean => events > batch.events.length;

/** Counts the attempt, because only first attempts share a request. */
function aloneAtOnce(run: RequestedRun, detail: string, said: Said, now: Date): DeliveryOutcome {
  const { row } = run;
  const again = evidence(run, { outcome: 'retry', detail, nextAt: now, ...said }, null);
  const change = { fromSeq: null, batchSeq: row.batchSeq, attempt: row.attempt };
  return {
    next: { kind: 'again', at: now, ambiguous: false },
    result: { ...NO_RESULT, attempts: [again], change },
  };
}

/** End of the retries of an event: an event that is delivered again has more time. */
function endOf({ row }: DeliveryRun, createdAt: Date): Date {
  return isLane(row) ? new Date(createdAt.getTime() + RETRY_MS) : row.giveUpAt;
}

function retry(
  run: RequestedRun,
  { at, detail, counts, pauseSeconds }: Extract<DeliveryDecision, { kind: 'retry' }>,
  said: Said,
): DeliveryOutcome {
  const { row, batch } = run;
  const failed = evidence(run, { outcome: 'retry', detail, nextAt: at, ...said }, 'failed');
  const gate: RateGateSignal =
    pauseSeconds === null
      ? { kind: 'trouble', reason: detail }
      : { kind: 'stop', seconds: pauseSeconds, reason: detail };
  const next: Next = { kind: 'again', at, ambiguous: false };
  const attempt = counts ? row.attempt : row.attempt - 1;
  const result = { ...NO_RESULT, attempts: [failed] };
  const again = (batchSeq: number | null) => ({ fromSeq: null, batchSeq, attempt });
  const isolation = isLane(row)
    ? isolationOf(batch.events.length, row.attempt, row.gateFailures)
    : { kind: 'keep' as const };
  if (isolation.kind === 'set aside') {
    const { seq = null } = batch.events[0] ?? {};
    const { gateId: webhookId, subjectId: accountId, attempt: attempts } = row;
    const goesOn = proceed(run, 1);
    const aside = seq === null ? null : { webhookId, accountId, seq, runAt: at, attempts };
    return { ...goesOn, result: { ...goesOn.result, attempts: [failed], setAside: aside }, gate };
  }
  const change = again(
    isolation.kind === 'cut' ? lastSeq(batch.events, isolation.to) : row.batchSeq,
  );
  return { next, result: { ...result, change }, gate };
}

/** A request that the receiver finds too large is repeated with half of its events. */
function tooLarge(run: DeliveryRun, detail: string, said: Said, now: Date): DeliveryOutcome {
  const { row, batch } = run;
  const { events } = batch;
  const half = evidence(run, { outcome: 'retry', detail, nextAt: now, ...said }, null);
  const change = {
    fromSeq: null,
    batchSeq: lastSeq(events, Math.floor(events.length / 2)),
    attempt: row.attempt - 1,
  };
  const next: Next = { kind: 'again', at: now, ambiguous: false };
  return { next, result: { ...NO_RESULT, attempts: [half], change } };
}

/** The lane goes on behind the first events of the batch; a row that is no lane ends. */
function proceed({ row, batch }: DeliveryRun, events: number): DeliveryOutcome {
  const more = batch.more || events < batch.events.length;
  const change: RowChange | null = isLane(row)
    ? { fromSeq: lastSeq(batch.events, events), batchSeq: null, attempt: 0 }
    : null;
  return {
    next:
      isLane(row) && more ? { kind: 'again', at: new Date(0), ambiguous: false } : { kind: 'done' },
    result: { ...NO_RESULT, change },
  };
}

const lastSeq = (events: Events, count: number) => events[count - 1]?.seq ?? null;

/** Drops the first events of the batch; default: all. */
export function drop(
  run: DeliveryRun,
  detail: string,
  count = run.batch.events.length,
  said: Partial<Said> = {},
  effect: AttemptResult['effect'] = null,
): DeliveryOutcome {
  const { next, result } = proceed(run, count);
  const events = run.batch.events.slice(0, count);
  const dropped = evidence(
    { ...run, batch: { ...run.batch, events } },
    { outcome: 'dropped', detail, ...said },
    effect,
  );
  return { next, result: { ...result, attempts: [dropped] } };
}

/** Ends a row that is no lane without a request. */
export function droppedRow(row: WebhookDeliveryRow, at: Date, detail: string): DeliveryOutcome {
  const event = { id: row.subjectId, seq: null };
  const attempt = evidenceOf(row, { events: [event], accountId: null }, at, 0, {
    outcome: 'dropped',
    detail,
  });
  return {
    next: { kind: 'done' },
    result: { ...NO_RESULT, attempts: [{ evidence: attempt, effect: null }] },
  };
}

/** Rows of a failed webhook stay, so that their events follow once it is activated. */
export function restUntilActivated(row: WebhookDeliveryRow, now: Date): DeliveryOutcome {
  const at = new Date(now.getTime() + REST_MS);
  const change = { fromSeq: null, batchSeq: row.batchSeq, attempt: row.attempt - 1 };
  const result = { ...NO_RESULT, change, rests: true };
  return { next: { kind: 'again', at, ambiguous: false }, result };
}

type Said = Pick<AttemptEvidence, 'httpStatus' | 'response'>;
type Rest = Partial<AttemptEvidence> & Pick<AttemptEvidence, 'outcome'>;

function evidence(
  { row, batch, startedAt, tookMs, leads = true }: DeliveryRun & Partial<RequestedRun>,
  rest: Rest,
  effect: AttemptResult['effect'],
): AttemptResult {
  return {
    evidence: evidenceOf(row, batch, startedAt, tookMs, rest),
    effect: leads ? effect : null,
  };
}

function evidenceOf(
  { gateId: webhookId, attempt }: WebhookDeliveryRow,
  { events, accountId }: { events: { id: string; seq: number | null }[]; accountId: string | null },
  startedAt: Date,
  tookMs: number,
  rest: Rest,
): AttemptEvidence {
  const [first] = events;
  return {
    id: newId(),
    webhookId,
    eventId: first?.id ?? '',
    accountId,
    firstSeq: first?.seq ?? null,
    lastSeq: events.at(-1)?.seq ?? null,
    deltas: events.length,
    attempt,
    startedAt,
    tookMs,
    httpStatus: null,
    response: null,
    detail: null,
    nextAt: null,
    ...rest,
  };
}

/** What is kept of an answer. */
function answerOf(answer: DeliveryAnswer, delivered: boolean): Said {
  if (answer.kind === 'unanswered') return { httpStatus: null, response: null };
  const most = delivered ? KEPT_BYTES.delivered : KEPT_BYTES.failed;
  const response = answer.body ? receiverText(answer.body, most) : null;
  return { httpStatus: answer.status, response };
}
