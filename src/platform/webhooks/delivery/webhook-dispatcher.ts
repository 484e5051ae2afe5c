import { Injectable } from '@nestjs/common';
import { Clock } from '../../base/time/clock.ts';
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
import { EVENTS_UNPUBLISHED, publishEvents } from '../events/publish-events.ts';
import {
  batchOf,
  BATCH_LOADING,
  isLane,
  type LoadedBatch,
  type WebhookDeliveryRow,
} from './batches.ts';
import { concludeAnswer, drop, droppedRow, restUntilActivated } from './conclusions.ts';
import { BREAKER } from './delivery-policy.ts';
import { DeliveryRequests } from './delivery-requests.ts';
import {
  countDeliveries,
  type DeliveryResult,
  NO_RESULT,
  reportDropped,
  tally,
} from './delivery-results.ts';
import { DeliveryShares } from './delivery-shares.ts';
import { DeliveryWindow, type Passage } from './delivery-window.ts';
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

const NOTHING: Outcome<DeliveryResult> = { next: { kind: 'done' }, result: NO_RESULT };

/**
 * Delivers events to webhooks: the next events of a lane, or one event again. Delivery is at least
 * once: the same events may arrive again, so there is no hand-off marker.
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
    private readonly requests: DeliveryRequests,
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
    const batch = batchOf(loaded);
    if (!batch) {
      if (isLane(row)) return NOTHING;
      return droppedRow(row, startedAt, 'the event is no longer stored');
    }
    if (loaded.state === 'inactive')
      return drop({ row, batch, startedAt, tookMs: 0 }, 'the webhook is inactive');
    if (loaded.state === 'failed') return restUntilActivated(row, startedAt);
    const passage = await this.#window.enter(batch.events.length);
    this.#passages.set(row, passage);
    const answered = await this.requests.send({ row, loaded, batch, signal: lease.signal });
    passage.answered();
    if (!answered) return null;
    this.#shares.note(row.gateId, answered.tookMs);
    return concludeAnswer(row, batch, answered, this.clock.now());
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
