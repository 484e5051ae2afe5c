import { Injectable } from '@nestjs/common';
import { EgressClient } from '../../egress/egress-client.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { parseRetryAfter } from '../../egress/retry-after.ts';
import { Clock, monotonicMs } from '../../base/time/clock.ts';
import { ObjectStoreUnavailableError } from '../../objects/object-errors.ts';
import {
  type Dispatcher,
  type Lease,
  type Outcome,
  PostponedError,
  type QueueTable,
  type Settled,
} from '../../work/queue/dispatcher.ts';
import { wakeAfterCommit } from '../../work/signals.ts';
import { afterCommit, type Sql, type SqlConnection } from '../../database/sql.ts';
import { annotateSpan } from '../../tracing/spans.ts';
import { EVENTS_UNPUBLISHED, publishEvents } from '../events/publish-events.ts';
import {
  type Batch,
  batchOf,
  BATCH_LOADING,
  isLane,
  type LoadedBatch,
  type WebhookDeliveryRow,
} from './batches.ts';
import { concludeAnswer, drop, droppedRow, restUntilActivated } from './conclusions.ts';
import { deltasJson } from '../contents/deltas.ts';
import { BREAKER, type DeliveryAnswer } from './delivery-policy.ts';
import {
  countDeliveries,
  type DeliveryResult,
  NO_RESULT,
  reportDropped,
  tally,
} from './delivery-results.ts';
import { DeliveryShares } from './delivery-shares.ts';
import { DeliveryWindow, type Passage } from './delivery-window.ts';
import { DeliverySigner } from '../secrets/delivery-signer.ts';
import { EventContents } from '../contents/event-contents.ts';
import { insertAttempts } from './delivery.repository.ts';
import { recordHealth } from './record-health.ts';
import {
  changeRows,
  endLanes,
  isolateFirst,
  makeAllDue,
  resumeActivated,
  setAside,
} from './lane.repository.ts';

/**
 * Rows that one process runs at the same time. A receiver that hangs occupies 16 of them.
 */
const SLOTS = 192;
/** Shares of these slots (ADR 0132). */
const SHARES = { perApplication: 144, slow: 96, slowWithFirst: 144 };
/** Events that a process has sent and not stored; they are repeated if it dies (ADR 0161). */
const WINDOW = { events: 200, slowMs: 15 };
/** Results are written almost at once: until then, a death repeats their events. */
const RESULTS_WAIT_MS = 5;
/** When a row is tried again whose share is used up, in milliseconds. */
const SHARE_PAUSE_MS = 1_000;
/** Events that are stored within this time are delivered together. */
const CLAIM_EVERY_MS = 25;
/** Pause after an internal error. */
const SURPRISE_PAUSE_MS = 60_000;
/** Pause of a lane whose workers have died three times, before its next event is tried alone. */
const POISON_PAUSE_MS = 10_000;

/** Header of deliveries that a replay has caused. */
const REPLAY = { 'carillon-replay': 'true' };

const NOTHING: Outcome<DeliveryResult> = { next: { kind: 'done' }, result: NO_RESULT };

/**
 * Delivers events to webhooks: the next events of a lane, or one event again. Signs and sends them
 * as one request per run. Delivery is at least once: the same events and `webhook-id` may arrive
 * again, so there is no hand-off marker.
 */
@Injectable()
export class WebhookDispatcher implements Dispatcher<
  WebhookDeliveryRow,
  DeliveryResult,
  LoadedBatch
> {
  readonly table: QueueTable = {
    queue: 'hook',
    table: 'hook_job',
    gateColumn: 'webhook_id',
    columns: {
      subjectId: 'event_id',
      giveUpAt: 'give_up_at',
      fromSeq: 'from_seq',
      batchSeq: 'batch_seq',
      replay: 'replay',
      traceparent: 'traceparent',
    },
    loading: BATCH_LOADING,
    unqueued: EVENTS_UNPUBLISHED,
    claimSets: 'batch_seq = coalesce(j.batch_seq, j.wanted_seq)',
    endsIf: '(j.wanted_seq is null or j.wanted_seq <= j.batch_seq)',
    breaker: BREAKER,
    repeatable: true,
  };
  readonly slots = SLOTS;
  readonly claimEveryMs = CLAIM_EVERY_MS;
  readonly resultsWaitMs = RESULTS_WAIT_MS;
  readonly #shares = new DeliveryShares(SHARES);
  readonly #window = new DeliveryWindow(WINDOW);
  readonly #passages = new WeakMap<WebhookDeliveryRow, Passage>();

  constructor(
    private readonly egress: EgressClient,
    private readonly signer: DeliverySigner,
    private readonly contents: EventContents,
    private readonly clock: Clock,
  ) {}

  async beforeClaim(sql: SqlConnection): Promise<void> {
    await publishEvents(sql);
  }

  async run(
    row: WebhookDeliveryRow,
    lease: Lease,
    loaded: LoadedBatch | undefined,
  ): Promise<Outcome<DeliveryResult> | null> {
    // The webhook was deleted.
    if (!loaded) return NOTHING;
    const end = this.#shares.take(loaded.applicationId, row.gateId);
    if (!end) throw new PostponedError(SHARE_PAUSE_MS);
    try {
      return await this.#deliver(row, lease, loaded);
    } finally {
      end();
    }
  }

  /** @returns `null` if the process stops before there is a result */
  async #deliver(
    row: WebhookDeliveryRow,
    lease: Lease,
    loaded: LoadedBatch,
  ): Promise<Outcome<DeliveryResult> | null> {
    const startedAt = this.clock.now();
    const batch = batchOf(row, loaded);
    if (!batch) {
      if (isLane(row)) return NOTHING;
      return droppedRow(row, startedAt, 'the event is no longer stored');
    }
    if (loaded.state === 'inactive')
      return drop({ row, batch, startedAt, tookMs: 0 }, 'the webhook is inactive');
    if (loaded.state === 'failed') return restUntilActivated(row, startedAt);
    const body = await this.#bodyOf(loaded, batch);
    const passage = await this.#window.enter(batch.events.length);
    this.#passages.set(row, passage);
    const mark = monotonicMs();
    const sentAt = this.clock.now();
    const delivery = { id: batch.id, body, at: sentAt, replay: row.replay };
    const answer = await this.#post(loaded, delivery, lease.signal);
    passage.answered();
    if (!answer) return null;
    const tookMs = Math.round(monotonicMs() - mark);
    this.#shares.note(row.gateId, tookMs);
    return concludeAnswer({ row, batch, startedAt: sentAt, tookMs }, answer, this.clock.now());
  }

  /**
   * The events with the content that the webhook wants.
   * @throws {PostponedError} if the content cannot be read now
   */
  async #bodyOf({ content }: LoadedBatch, { events }: Batch): Promise<Buffer> {
    const stored = events.map(({ body }) => body);
    const bodies = await this.contents.of(content, stored).catch((error: unknown) => {
      if (!(error instanceof ObjectStoreUnavailableError)) throw error;
      throw new PostponedError(error.retryAfterMs);
    });
    return deltasJson(
      events.map((event, index) => ({ ...event, body: bodies[index] ?? event.body })),
    );
  }

  /** @returns `null` if the process stops before there is an answer */
  async #post(
    webhook: LoadedBatch,
    { id, body, at, replay }: { id: string; body: Buffer; at: Date; replay: boolean },
    signal: AbortSignal,
  ): Promise<DeliveryAnswer | null> {
    const headers = {
      ...this.signer.headers(webhook, { eventId: id, body, at }),
      ...(replay ? REPLAY : {}),
    };
    annotateSpan({ 'carillon.event_id': id });
    try {
      const answer = await this.egress.post(webhook.callbackUrl, body, headers, {
        signal,
        traced: true,
      });
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

  // An error in our own code must not count against the webhook. A lane waits until it is mended.
  onError(row: WebhookDeliveryRow): Outcome<DeliveryResult> {
    const now = this.clock.now();
    if (!isLane(row) && now >= row.giveUpAt) {
      const detail = 'an internal error of Carillon repeated until the time for retries was over';
      return droppedRow(row, now, detail);
    }
    const at = new Date(now.getTime() + SURPRISE_PAUSE_MS);
    const change = { fromSeq: null, batchSeq: row.batchSeq, attempt: row.attempt - 1 };
    return { next: { kind: 'again', at, ambiguous: false }, result: { ...NO_RESULT, change } };
  }

  // Only one event of a lane may be the cause. It gets a row of its own if it was alone.
  onPoison(row: WebhookDeliveryRow): Outcome<DeliveryResult> {
    const now = this.clock.now();
    const { fromSeq, batchSeq, subjectId: accountId, gateId: webhookId } = row;
    if (fromSeq === null || batchSeq === null)
      return droppedRow(
        row,
        now,
        'quarantined: its worker ended several times during the delivery',
      );
    const runAt = new Date(now.getTime() + POISON_PAUSE_MS);
    const next = { kind: 'again', at: runAt, ambiguous: false } as const;
    if (batchSeq > fromSeq + 1) return { next, result: { ...NO_RESULT, isolates: true } };
    return {
      next,
      result: {
        ...NO_RESULT,
        change: { fromSeq: batchSeq, batchSeq: null, attempt: 0 },
        setAside: { webhookId, accountId, seq: batchSeq, runAt, attempts: 0 },
      },
    };
  }

  async beforeWriting(sql: Sql): Promise<void> {
    await endLanes(sql);
  }

  afterWriting(row: WebhookDeliveryRow): void {
    this.#passages.get(row)?.left();
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
    await recordRows(sql, settled);
    await recordHealth(sql, tally(attempts), this.clock.now());
    afterCommit(sql, () => {
      countDeliveries(attempts);
      for (const { result, traceparent } of settled) reportDropped(result.attempts, traceparent);
    });
  }
}

/** Changes the settled rows that stay, and other rows of their webhooks. */
async function recordRows(
  sql: Sql,
  settled: readonly Settled<WebhookDeliveryRow, DeliveryResult>[],
): Promise<void> {
  const stay = settled.filter(({ next }) => next.kind === 'again');
  await changeRows(
    sql,
    stay.flatMap(({ row, result: { change } }) => (change ? [{ id: row.id, ...change }] : [])),
  );
  await isolateFirst(
    sql,
    stay.flatMap(({ row, result }) => (result.isolates ? [row.id] : [])),
  );
  await setAside(
    sql,
    settled.flatMap(({ result }) => result.setAside ?? []),
  );
  await resumeActivated(
    sql,
    stay.flatMap(({ row, result }) => (result.rests ? [row.id] : [])),
  );
  const recovered = settled.flatMap(({ row, result }) => (result.recovers ? [row.gateId] : []));
  await makeAllDue(sql, [...new Set(recovered)]);
  if (stay.some(({ result: { change } }) => change?.fromSeq != null)) wakeAfterCommit(sql, 'hook');
}
