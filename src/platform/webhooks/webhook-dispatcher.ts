import { Injectable } from '@nestjs/common';
import { EgressClient } from '../egress/egress-client.ts';
import { EgressError } from '../egress/egress-error.ts';
import { parseRetryAfter } from '../egress/retry-after.ts';
import { newId } from '../base/ids/ids.ts';
import { Clock, monotonicMs } from '../base/time/clock.ts';
import type {
  ClaimedRow, Dispatcher, Lease, Outcome, QueueTable, RowLoading, Settled,
} from '../work/dispatcher.ts'; // prettier-ignore
import { afterCommit, type Sql } from '../database/sql.ts';
import { webhookAttempts, webhookSeconds } from '../metrics/metrics.ts';
import { reportIncident } from '../logs/incidents.ts';
import { annotateSpan } from '../tracing/spans.ts';
import { type AttemptTally, decideDelivery, type DeliveryAnswer } from './delivery-policy.ts';
import { type AttemptEvidence, insertAttempts, recordHealth } from './delivery.repository.ts';
import { KEPT_BYTES, receiverText } from './receiver-text.ts';
import { deliveryHeaders } from './signature.ts';
import { SigningSecrets } from './signing-secrets.ts';
import type { WebhookState } from './webhook-state.ts';

/** A claimed row of `hook_job`: one webhook delivery. Its rate gate belongs to the webhook. */
export interface WebhookDeliveryRow extends ClaimedRow {
  eventId: string;
  giveUpAt: Date;
}

/** Data that an attempt needs. */
interface LoadedDelivery {
  callbackUrl: string;
  state: WebhookState;
  applicationId: string;
  secretSealed: string;
  /** `null` if the event is no longer stored. */
  body: Buffer | null;
}

const LOADING: RowLoading = {
  columns: `w.callback_url as "callbackUrl", w.state, w.application_id as "applicationId", a.secret_sealed as "secretSealed", e.body`,
  joins: `
    join webhook w on w.id = j.webhook_id
    join application a on a.id = w.application_id
    left join webhook_event e on e.id = j.event_id`,
  // A delivery may be repeated, so it has no hand-off marker.
  ready: 'false',
};

/** Result of an attempt. */
export interface DeliveryResult {
  /** The attempt to list; `null` if there is nothing to list. */
  evidence: AttemptEvidence | null;
  /** Effect on the health of the webhook; `null` = none. */
  effect: 'delivered' | 'failed' | 'gone' | null;
}

/**
 * Deliveries that one process sends at the same time. A receiver that hangs occupies 16 of them.
 */
const SLOTS = 192;
/**
 * Deliveries are spread out by the paces of their webhooks, so this small delay does not matter.
 */
const CLAIM_EVERY_MS = 12;
/** Pause after an internal error. */
const SURPRISE_PAUSE_MS = 60_000;

const NOTHING: Outcome<DeliveryResult> = {
  next: { kind: 'done' },
  result: { evidence: null, effect: null },
};

/** Start of an attempt, by the clock and for measuring its duration. */
interface Start {
  at: Date;
  mark: number;
}

/**
 * Delivers one event to one webhook: signs and sends the stored bytes, once per attempt. Delivery
 * is at least once. The same bytes and `webhook-id` may arrive again, so there is no hand-off
 * marker.
 */
@Injectable()
export class WebhookDispatcher implements Dispatcher<
  WebhookDeliveryRow,
  DeliveryResult,
  LoadedDelivery
> {
  readonly table: QueueTable = {
    queue: 'hook',
    table: 'hook_job',
    gateColumn: 'webhook_id',
    columns: { eventId: 'event_id', giveUpAt: 'give_up_at', traceparent: 'traceparent' },
    loading: LOADING,
  };
  readonly slots = SLOTS;
  readonly claimEveryMs = CLAIM_EVERY_MS;

  constructor(
    private readonly egress: EgressClient,
    private readonly secrets: SigningSecrets,
    private readonly clock: Clock,
  ) {}

  async run(
    job: WebhookDeliveryRow,
    lease: Lease,
    delivery: LoadedDelivery | undefined,
  ): Promise<Outcome<DeliveryResult> | null> {
    const start = this.#start();
    // The webhook was deleted.
    if (!delivery) return NOTHING;
    const { body, state } = delivery;
    if (!body) return this.#drop(job, start, 'the event is no longer stored');
    if (state === 'inactive') return this.#drop(job, start, 'the webhook is inactive');
    if (state === 'failed') {
      return this.#drop(
        job,
        start,
        'the webhook has failed; activate it within 72 hours to get this event',
      );
    }
    const answer = await this.#deliver(job, { ...delivery, body }, start.at, lease.signal);
    return answer && this.#conclude(job, start, answer);
  }

  onError(job: WebhookDeliveryRow): Outcome<DeliveryResult> {
    const start = this.#start();
    if (start.at >= job.giveUpAt)
      return this.#drop(
        job,
        start,
        'an internal error of Carillon repeated until the time for retries was over',
      );
    // An error in our own code, which must not count against the webhook.
    const at = new Date(start.at.getTime() + SURPRISE_PAUSE_MS);
    return {
      next: { kind: 'again', at, ambiguous: false },
      result: {
        evidence: this.#evidence(job, start, {
          outcome: 'retry',
          detail: 'an internal error of Carillon; the delivery will be repeated',
          nextAt: at,
        }),
        effect: null,
      },
    };
  }

  onPoison(job: WebhookDeliveryRow): Outcome<DeliveryResult> {
    return this.#drop(
      job,
      this.#start(),
      'quarantined: its worker ended several times during the delivery',
    );
  }

  async record(
    sql: Sql,
    settled: readonly Settled<WebhookDeliveryRow, DeliveryResult>[],
  ): Promise<void> {
    await insertAttempts(
      sql,
      settled.flatMap(({ result }) => result.evidence ?? []),
    );
    await recordHealth(sql, tally(settled), this.clock.now());
    afterCommit(sql, () => {
      countDeliveries(settled);
      reportDropped(settled);
    });
  }

  /** @returns `null` if the process stops before there is a result */
  async #deliver(
    job: WebhookDeliveryRow,
    { callbackUrl, applicationId, secretSealed, body }: LoadedDelivery & { body: Buffer },
    at: Date,
    signal: AbortSignal,
  ): Promise<DeliveryAnswer | null> {
    const secret = this.secrets.decrypt(applicationId, secretSealed);
    const headers = deliveryHeaders({ eventId: job.eventId, body, at, secret });
    annotateSpan({ 'carillon.event_id': job.eventId });
    try {
      const sent = { signal, traced: true };
      const answer = await this.egress.post(callbackUrl, body, headers, sent);
      return {
        kind: 'answered',
        status: answer.status,
        retryAfter: parseRetryAfter(answer.retryAfter, this.clock.now()),
        body: answer.body,
      };
    } catch (error) {
      if (signal.aborted) return null;
      if (error instanceof EgressError) return { kind: 'unanswered', why: error.message };
      throw error;
    }
  }

  #conclude(
    job: WebhookDeliveryRow,
    start: Start,
    answer: DeliveryAnswer,
  ): Outcome<DeliveryResult> {
    const { attempt, giveUpAt } = job;
    const now = this.clock.now();
    const decision = decideDelivery({ attempt, answer, now, giveUpAt, random: Math.random() });
    const evidence = this.#evidence(job, start, {
      outcome: decision.kind,
      ...answerOf(answer, decision.kind === 'delivered'),
      ...(decision.kind === 'delivered' ? {} : { detail: decision.detail }),
      ...(decision.kind === 'retry' ? { nextAt: decision.at } : {}),
    });
    if (decision.kind === 'delivered')
      return { next: { kind: 'done' }, result: { evidence, effect: 'delivered' } };
    if (decision.kind === 'dropped')
      return {
        next: { kind: 'done' },
        result: { evidence, effect: decision.gone ? 'gone' : 'failed' },
      };
    return {
      next: { kind: 'again', at: decision.at, ambiguous: false },
      result: { evidence, effect: 'failed' },
    };
  }

  #start(): Start {
    return { at: this.clock.now(), mark: monotonicMs() };
  }

  #drop(job: WebhookDeliveryRow, start: Start, detail: string): Outcome<DeliveryResult> {
    return {
      next: { kind: 'done' },
      result: {
        evidence: this.#evidence(job, start, { outcome: 'dropped', detail }),
        effect: null,
      },
    };
  }

  #evidence(
    { gateId: webhookId, eventId, attempt }: WebhookDeliveryRow,
    start: Start,
    rest: Partial<AttemptEvidence> & Pick<AttemptEvidence, 'outcome'>,
  ): AttemptEvidence {
    return {
      id: newId(),
      webhookId,
      eventId,
      attempt,
      startedAt: start.at,
      tookMs: Math.round(monotonicMs() - start.mark),
      httpStatus: null,
      response: null,
      detail: null,
      nextAt: null,
      ...rest,
    };
  }
}

function countDeliveries(settled: readonly { result: DeliveryResult }[]): void {
  for (const { result } of settled) {
    if (!result.evidence) continue;
    const { outcome, httpStatus, tookMs } = result.evidence;
    webhookAttempts.inc({ outcome, status: String(httpStatus ?? 'none') });
    // Without an effect no request was made, for example because the webhook was switched off.
    if (result.effect) webhookSeconds.observe(tookMs / 1000);
  }
}

/** What is kept of an answer. */
function answerOf(
  answer: DeliveryAnswer,
  delivered: boolean,
): Pick<AttemptEvidence, 'httpStatus' | 'response'> {
  if (answer.kind === 'unanswered') return { httpStatus: null, response: null };
  const most = delivered ? KEPT_BYTES.delivered : KEPT_BYTES.failed;
  const response = answer.body ? receiverText(answer.body, most) : null;
  return { httpStatus: answer.status, response };
}

/** Writes a log line for each event that a webhook does not get. */
function reportDropped(settled: readonly Settled<WebhookDeliveryRow, DeliveryResult>[]): void {
  for (const { job, result, traceparent } of settled) {
    if (result.evidence?.outcome !== 'dropped') continue;
    const of = { webhook: job.gateId, event: job.eventId };
    reportIncident('delivery.dropped', of, result.evidence.detail, traceparent);
  }
}

/** Counts for each webhook the attempts that affect its health. */
function tally(
  settled: readonly Settled<WebhookDeliveryRow, DeliveryResult>[],
): Map<string, AttemptTally> {
  const tallies = new Map<string, AttemptTally>();
  for (const { job, result } of settled) {
    if (!result.effect) continue;
    const counts: AttemptTally = tallies.get(job.gateId) ?? {
      delivered: 0,
      failed: 0,
      gone: false,
    };
    if (result.effect === 'delivered') counts.delivered++;
    else counts.failed++;
    if (result.effect === 'gone') counts.gone = true;
    if (result.effect !== 'delivered') counts.detail = result.evidence?.detail ?? null;
    tallies.set(job.gateId, counts);
  }
  return tallies;
}
