import { Injectable } from '@nestjs/common';
import { EgressClient } from '../../egress/egress-client.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { parseRetryAfter } from '../../egress/retry-after.ts';
import { newId } from '../../base/ids/ids.ts';
import { Clock, monotonicMs } from '../../base/time/clock.ts';
import {
  type ClaimedRow,
  type Dispatcher,
  type Lease,
  type Outcome,
  PostponedError,
  type QueueTable,
  type RowLoading,
  type Settled,
} from '../../work/queue/dispatcher.ts';
import { afterCommit, type Sql, type SqlConnection } from '../../database/sql.ts';
import { annotateSpan } from '../../tracing/spans.ts';
import { EVENTS_UNPUBLISHED, publishEvents } from '../events/publish-events.ts';
import { decideDelivery, type DeliveryAnswer } from './delivery-policy.ts';
import {
  type AttemptResult,
  countDeliveries,
  type DeliveryResult,
  reportDropped,
  tally,
} from './delivery-results.ts';
import { DeliveryShares } from './delivery-shares.ts';
import { DeliverySigner, SEALED_SECRETS, type SealedSecrets } from '../secrets/delivery-signer.ts';
import {
  type AttemptEvidence,
  endWholeRows,
  insertAttempts,
  type LeftDelivery,
  queueLeft,
  recordHealth,
} from './delivery.repository.ts';
import { KEPT_BYTES, receiverText } from './receiver-text.ts';
import type { WebhookState } from '../webhook-state.ts';

/** A claimed row of `hook_job`: deliveries to one webhook, made one after the other. */
export interface WebhookDeliveryRow extends ClaimedRow {
  eventId: string;
  /** Further events, in their order; `null` if there are none. */
  moreEvents: string[] | null;
  giveUpAt: Date;
}

/** Data that the attempts need. */
interface LoadedDeliveries extends SealedSecrets {
  callbackUrl: string;
  state: WebhookState;
  /** The bodies of the events, one after the other; `null` if none of them is stored. */
  bodies: Buffer | null;
  /** Length of the body of each event; `null` if the event is no longer stored. */
  lengths: (number | null)[];
}

const LOADING: RowLoading = {
  columns: `w.callback_url as "callbackUrl", w.state, ${SEALED_SECRETS},
    e.bodies, e.lengths`,
  // One value for all bodies: an array of them would take the program several times as long.
  joins: `
    join webhook w on w.id = j.webhook_id
    join application a on a.id = w.application_id
    cross join lateral (
      select string_agg(b.body, ''::bytea order by b.n) as bodies, array_agg(length(b.body) order by b.n) as lengths
      from (select o.n, (select e.body from webhook_event e where e.id = o.id) as body
            from unnest(j.event_id || j.more_events) with ordinality o(id, n)) b) e`,
  // A delivery may be repeated, so it has no hand-off marker.
  ready: 'false',
};

/**
 * Rows that one process runs at the same time. A receiver that hangs occupies 16 of them.
 */
const SLOTS = 192;
/** Shares of these slots (ADR 0132). */
const SHARES = { perApplication: 144, slow: 96, slowWithFirst: 144 };
/** When a row is tried again whose share is used up, in milliseconds. */
const SHARE_PAUSE_MS = 1_000;
/**
 * Rows are spread out by the paces of their webhooks, so this small delay does not matter.
 */
const CLAIM_EVERY_MS = 25;
/**
 * After a delivery that took longer than this, the other events of its row get rows of their own: a
 * slow receiver gets them at the same time, and not one after the other.
 */
const SLOW_MS = 100;
/** Pause after an internal error. */
const SURPRISE_PAUSE_MS = 60_000;

const NOTHING: Outcome<DeliveryResult> = {
  next: { kind: 'done' },
  result: { attempts: [], left: [] },
};

/** Start of an attempt, by the clock and for measuring its duration. */
interface Start {
  at: Date;
  mark: number;
}

/**
 * Delivers events to one webhook: signs and sends the stored bytes, once per attempt. Delivery is
 * at least once. The same bytes and `webhook-id` may arrive again, so there is no hand-off marker.
 */
@Injectable()
export class WebhookDispatcher implements Dispatcher<
  WebhookDeliveryRow,
  DeliveryResult,
  LoadedDeliveries
> {
  readonly table: QueueTable = {
    queue: 'hook',
    table: 'hook_job',
    gateColumn: 'webhook_id',
    columns: {
      eventId: 'event_id',
      moreEvents: 'more_events',
      giveUpAt: 'give_up_at',
      traceparent: 'traceparent',
    },
    loading: LOADING,
    unqueued: EVENTS_UNPUBLISHED,
  };
  readonly slots = SLOTS;
  readonly claimEveryMs = CLAIM_EVERY_MS;
  readonly #shares = new DeliveryShares(SHARES);

  constructor(
    private readonly egress: EgressClient,
    private readonly signer: DeliverySigner,
    private readonly clock: Clock,
  ) {}

  async beforeClaim(sql: SqlConnection): Promise<void> {
    await publishEvents(sql);
  }

  async run(
    row: WebhookDeliveryRow,
    lease: Lease,
    loaded: LoadedDeliveries | undefined,
  ): Promise<Outcome<DeliveryResult> | null> {
    // The webhook was deleted.
    if (!loaded) return NOTHING;
    const end = this.#shares.take(loaded.applicationId, row.gateId);
    if (!end) throw new PostponedError(SHARE_PAUSE_MS);
    try {
      return await this.#deliverAll(row, lease, loaded);
    } finally {
      end();
    }
  }

  async #deliverAll(
    row: WebhookDeliveryRow,
    lease: Lease,
    loaded: LoadedDeliveries,
  ): Promise<Outcome<DeliveryResult> | null> {
    const made: AttemptResult[] = [];
    for (const { eventId, body } of eventsOf(row, loaded)) {
      const attempt = await this.#attempt({ ...row, eventId }, loaded, body, lease.signal).catch(
        (error: unknown) => {
          // With a row of its own, the event meets the error again, and the engine reports it.
          if (made.length === 0) throw error;
          return null;
        },
      );
      if (!attempt) break;
      made.push(attempt);
      const { effect, evidence } = attempt;
      this.#shares.note(row.gateId, evidence.tookMs);
      if (effect === 'gone' || evidence.tookMs > SLOW_MS || lease.stopping()) break;
    }
    return made.length === 0 ? null : this.#conclude(row, made);
  }

  onError(row: WebhookDeliveryRow): Outcome<DeliveryResult> {
    const start = this.#start();
    const late = start.at >= row.giveUpAt;
    // An error in our own code, which must not count against the webhook.
    const at = new Date(start.at.getTime() + SURPRISE_PAUSE_MS);
    const attempts = eventIdsOf(row).map((eventId) =>
      late
        ? this.#drop(
            { ...row, eventId },
            start,
            'an internal error of Carillon repeated until the time for retries was over',
          )
        : {
            evidence: this.#evidence({ ...row, eventId }, start, {
              outcome: 'retry',
              detail: 'an internal error of Carillon; the delivery will be repeated',
              nextAt: at,
            }),
            effect: null,
          },
    );
    return {
      next: late ? { kind: 'done' } : { kind: 'again', at, ambiguous: false },
      result: { attempts, left: [] },
    };
  }

  onPoison(row: WebhookDeliveryRow): Outcome<DeliveryResult> {
    // Only one of the events may be the cause. With rows of their own, the others are delivered.
    if (row.moreEvents) return { next: { kind: 'done' }, result: this.#split(row, []) };
    const dropped = this.#drop(
      row,
      this.#start(),
      'quarantined: its worker ended several times during the delivery',
    );
    return { next: { kind: 'done' }, result: { attempts: [dropped], left: [] } };
  }

  async beforeWriting(
    sql: Sql,
    settled: readonly Settled<WebhookDeliveryRow, DeliveryResult>[],
  ): Promise<void> {
    if (settled.some(({ row }) => row.moreEvents)) await endWholeRows(sql);
  }

  async record(
    sql: Sql,
    settled: readonly Settled<WebhookDeliveryRow, DeliveryResult>[],
  ): Promise<void> {
    const attempts = settled.flatMap(({ result }) => result.attempts);
    await insertAttempts(
      sql,
      attempts.map(({ evidence }) => evidence),
    );
    await queueLeft(
      sql,
      settled.flatMap(({ result }) => result.left),
    );
    await recordHealth(sql, tally(attempts), this.clock.now());
    afterCommit(sql, () => {
      countDeliveries(attempts);
      for (const { result, traceparent } of settled) reportDropped(result.attempts, traceparent);
    });
  }

  /** @returns `null` if the process stops before there is a result */
  async #attempt(
    row: WebhookDeliveryRow,
    webhook: LoadedDeliveries,
    body: Buffer | null,
    signal: AbortSignal,
  ): Promise<AttemptResult | null> {
    const start = this.#start();
    const { state } = webhook;
    if (!body) return this.#drop(row, start, 'the event is no longer stored');
    if (state === 'inactive') return this.#drop(row, start, 'the webhook is inactive');
    if (state === 'failed') {
      return this.#drop(
        row,
        start,
        'the webhook has failed; activate it within 72 hours to get this event',
      );
    }
    const answer = await this.#deliver(row, webhook, body, start.at, signal);
    return answer && this.#resultOf(row, start, answer);
  }

  /** @returns `null` if the process stops before there is a result */
  async #deliver(
    row: WebhookDeliveryRow,
    webhook: LoadedDeliveries,
    body: Buffer,
    at: Date,
    signal: AbortSignal,
  ): Promise<DeliveryAnswer | null> {
    const headers = this.signer.headers(webhook, { eventId: row.eventId, body, at });
    annotateSpan({ 'carillon.event_id': row.eventId });
    try {
      const sent = { signal, traced: true };
      const answer = await this.egress.post(webhook.callbackUrl, body, headers, sent);
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

  #resultOf(row: WebhookDeliveryRow, start: Start, answer: DeliveryAnswer): AttemptResult {
    const { attempt, giveUpAt } = row;
    const now = this.clock.now();
    const decision = decideDelivery({ attempt, answer, now, giveUpAt, random: Math.random() });
    const evidence = this.#evidence(row, start, {
      outcome: decision.kind,
      ...answerOf(answer, decision.kind === 'delivered'),
      ...(decision.kind === 'delivered' ? {} : { detail: decision.detail }),
      ...(decision.kind === 'retry' ? { nextAt: decision.at } : {}),
    });
    if (decision.kind === 'delivered') return { evidence, effect: 'delivered' };
    const gone = decision.kind === 'dropped' && decision.gone;
    return { evidence, effect: gone ? 'gone' : 'failed' };
  }

  #conclude(row: WebhookDeliveryRow, made: readonly AttemptResult[]): Outcome<DeliveryResult> {
    if (row.moreEvents) return { next: { kind: 'done' }, result: this.#split(row, made) };
    const at = made[0]?.evidence.nextAt;
    return {
      next: at ? { kind: 'again', at, ambiguous: false } : { kind: 'done' },
      result: { attempts: [...made], left: [] },
    };
  }

  /** Gives each event that needs another attempt, or has had none, a row of its own. */
  #split(row: WebhookDeliveryRow, made: readonly AttemptResult[]): DeliveryResult {
    const { gateId: webhookId, dueAt, giveUpAt, traceparent = null } = row;
    const now = this.clock.now();
    const left = eventIdsOf(row).flatMap((eventId, index): LeftDelivery[] => {
      const tried = made[index];
      const runAt = tried ? tried.evidence.nextAt : now;
      if (!runAt) return [];
      const attempts = tried ? row.attempt : row.attempt - 1;
      return [{ eventId, webhookId, runAt, dueAt, giveUpAt, attempts, traceparent }];
    });
    return { attempts: [...made], left };
  }

  #start(): Start {
    return { at: this.clock.now(), mark: monotonicMs() };
  }

  #drop(row: WebhookDeliveryRow, start: Start, detail: string): AttemptResult {
    const evidence = this.#evidence(row, start, { outcome: 'dropped', detail });
    return { evidence, effect: null };
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

function eventIdsOf({ eventId, moreEvents }: WebhookDeliveryRow): string[] {
  return [eventId, ...(moreEvents ?? [])];
}

/** The events of a row with the bytes to send; `null` if an event is no longer stored. */
function eventsOf(
  row: WebhookDeliveryRow,
  { bodies, lengths }: LoadedDeliveries,
): { eventId: string; body: Buffer | null }[] {
  let end = 0;
  return eventIdsOf(row).map((eventId, index) => {
    const length = lengths[index] ?? null;
    if (!bodies || length === null) return { eventId, body: null };
    return { eventId, body: bodies.subarray(end, (end += length)) };
  });
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
