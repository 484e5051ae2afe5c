import { Injectable } from '@nestjs/common';
import { Batcher, type BatcherOptions } from '../../base/concurrency/batcher.ts';
import { Clock, monotonicMs } from '../../base/time/clock.ts';
import { EgressClient } from '../../egress/egress-client.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { parseRetryAfter } from '../../egress/retry-after.ts';
import { ObjectStoreUnavailableError } from '../../objects/object-errors.ts';
import { annotateSpan } from '../../tracing/spans.ts';
import { PostponedError } from '../../work/queue/dispatcher.ts';
import { deltasJson } from '../contents/deltas.ts';
import { EventContents } from '../contents/event-contents.ts';
import { DeliverySigner } from '../secrets/delivery-signer.ts';
import {
  type Batch,
  batchId,
  isLane,
  type LoadedBatch,
  MOST_BYTES,
  MOST_DELTAS,
  uuidOf,
  type WebhookDeliveryRow,
} from './batches.ts';
import type { DeliveryAnswer } from './delivery-policy.ts';

/** The events of one row, to be delivered. */
export interface Delivery {
  row: WebhookDeliveryRow;
  loaded: LoadedBatch;
  batch: Batch;
  /** Aborted if the process stops. */
  signal: AbortSignal;
}

/** The answer to the request that had the events of a row. */
export interface RequestAnswer {
  answer: DeliveryAnswer;
  sentAt: Date;
  tookMs: number;
  /** Events of the request, also those of other rows. */
  events: number;
  /** True for the first row of a request: only this one reports what it means for the webhook. */
  leads: boolean;
}

interface Waiting extends Delivery {
  ended: PromiseWithResolvers<RequestAnswer | null>;
}

/** Header of deliveries that a replay has caused. */
const REPLAY = { 'carillon-replay': 'true' };

/** What a delivery takes of the limits of a request. Deliveries go together up to 1. */
const sizeOf = ({ batch: { events } }: Delivery): number => {
  const bytes = events.reduce((sum, { body }) => sum + body.length, 0);
  return Math.max(events.length / MOST_DELTAS, bytes / MOST_BYTES);
};

/** One request holds the events of up to 100 rows. None waits for a request that runs. */
const SHARED: BatcherOptions<Waiting> = {
  most: MOST_DELTAS,
  parallel: Infinity,
  delayMs: 0,
  size: { of: sizeOf, most: 1 },
};

/**
 * Whether the events of a row may share a request with those of other accounts: at the first
 * attempt, to a webhook that is well. A row that fails is tried alone, so that one bad event holds
 * up nobody else. Contents other than ids have a limit of their own for each request.
 */
const mayShare = ({ row, loaded }: Delivery): boolean =>
  isLane(row) && row.attempt === 1 && row.gateFailures === 0 && loaded.content === 'ids';

/**
 * Signs and sends the requests of deliveries. Rows of one webhook that run at the same moment share
 * a request (docs/adr/0172).
 */
@Injectable()
export class DeliveryRequests {
  /** Deliveries to each webhook that wait for the others of this moment. */
  readonly #waiting = new Map<string, Batcher<Waiting>>();

  constructor(
    private readonly egress: EgressClient,
    private readonly signer: DeliverySigner,
    private readonly contents: EventContents,
    private readonly clock: Clock,
  ) {}

  /**
   * @returns `null` if the process stops before there is an answer
   * @throws {PostponedError} if the contents of the events cannot be read now
   */
  async send(delivery: Delivery): Promise<RequestAnswer | null> {
    if (!mayShare(delivery)) return (await this.#request([delivery]))?.(delivery) ?? null;
    const { gateId: webhookId } = delivery.row;
    const ended = Promise.withResolvers<RequestAnswer | null>();
    let batcher = this.#waiting.get(webhookId);
    if (!batcher) {
      batcher = new Batcher((deliveries) => this.#share(webhookId, deliveries), SHARED);
      this.#waiting.set(webhookId, batcher);
    }
    batcher.add({ ...delivery, ended });
    return ended.promise;
  }

  /** Deliveries that come after this moment go into the next request. */
  async #share(webhookId: string, deliveries: readonly Waiting[]): Promise<void> {
    this.#waiting.delete(webhookId);
    try {
      const answerTo = await this.#request(deliveries);
      for (const delivery of deliveries) delivery.ended.resolve(answerTo?.(delivery) ?? null);
    } catch (error) {
      for (const { ended } of deliveries) ended.reject(error);
    }
  }

  /** @returns the answer for each delivery; `null` if the process stops before there is one */
  async #request(
    deliveries: readonly Delivery[],
  ): Promise<((delivery: Delivery) => RequestAnswer) | null> {
    const [first] = deliveries;
    if (!first) return null;
    const { loaded, row, signal } = first;
    const events = deliveries.flatMap(({ batch }) => batch.events);
    const body = await this.#bodyOf(loaded, events);
    const id = requestId(deliveries);
    const sentAt = this.clock.now();
    const mark = monotonicMs();
    const headers = {
      ...this.signer.headers(loaded, { eventId: id, body, at: sentAt }),
      ...(row.replay ? REPLAY : {}),
    };
    annotateSpan({ 'carillon.event_id': id });
    const answer = await this.#post(loaded.callbackUrl, body, headers, signal);
    if (!answer) return null;
    const shared = {
      answer,
      sentAt,
      tookMs: Math.round(monotonicMs() - mark),
      events: events.length,
    };
    return (delivery) => ({ ...shared, leads: delivery === first });
  }

  /**
   * The events with the content that the webhook wants.
   * @throws {PostponedError} if the content cannot be read now
   */
  async #bodyOf({ content }: LoadedBatch, events: Batch['events']): Promise<Buffer> {
    const stored = events.map(({ body }) => body);
    const bodies = await this.contents.of(content, stored).catch((error: unknown) => {
      if (!(error instanceof ObjectStoreUnavailableError)) throw error;
      throw new PostponedError(error.retryAfterMs);
    });
    return deltasJson(
      events.map((event, index) => ({ ...event, body: bodies[index] ?? event.body })),
    );
  }

  async #post(
    url: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<DeliveryAnswer | null> {
    try {
      const answer = await this.egress.post(url, body, headers, { signal, traced: true });
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
}

/** `webhook-id`: that of the only batch, or one made of the first events of all. */
function requestId(deliveries: readonly Delivery[]): string {
  const [first] = deliveries;
  if (first && deliveries.length === 1) return batchId(first.row.gateId, first.batch);
  return uuidOf(deliveries.map(({ batch }) => batch.events[0]?.id).join('/'));
}
