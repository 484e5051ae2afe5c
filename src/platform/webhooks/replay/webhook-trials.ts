import { Injectable } from '@nestjs/common';
import { recordAudit } from '../../audit/record-audit.ts';
import { ConflictError, InvalidInputError, NotFoundError } from '../../base/errors/domain-error.ts';
import { isId, newId } from '../../base/ids/ids.ts';
import { Clock, monotonicMs } from '../../base/time/clock.ts';
import { toUnixSeconds } from '../../base/time/unix-seconds.ts';
import { Database } from '../../database/sql.ts';
import { writerKey } from '../../database/writer-keys.ts';
import { EgressClient } from '../../egress/egress-client.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { deltasJson } from '../contents/deltas.ts';
import { TEST_TYPE } from '../events/matching.ts';
import { publishEvents } from '../events/publish-events.ts';
import { exampleDelivery } from '../payloads/example-delivery.ts';
import { DeliverySigner, SEALED_SECRETS, type SealedSecrets } from '../secrets/delivery-signer.ts';
import type { Trigger } from '../webhook-state.ts';
import {
  previewReplay,
  replayEvents,
  type ReplayRequest,
  type ReplayResult,
} from './replay-events.ts';
import { readTarget, type ReplayTarget } from './replay-rows.ts';

/** Most events that an application may replay with one request. */
export const MOST_REPLAYED = 100_000;

/** Result of a test event. */
export interface TestResult {
  eventId: string;
  /** `null` if the event was stored in the feed of a pull webhook. */
  delivery: {
    delivered: boolean;
    /** `null` if there was no response. */
    httpStatus: number | null;
    tookMs: number;
    /** Why it was not delivered; `null` if it was. */
    detail: string | null;
  } | null;
}

// `storing` announces the transaction before the number is drawn (`events/publish-events.ts`).
const STORE_TEST = `
  with storing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('$2::uuid', 'webhook_event_seq_seq')}))
  insert into webhook_event (id, application_id, type, body, dedupe)
  select $1, $2, '${TEST_TYPE}' || $3::uuid, $4, '${TEST_TYPE}' || $1::uuid from (select count(*) from storing) announced`;

const SECRETS = `
  select ${SEALED_SECRETS} from webhook w join application a on a.id = w.application_id where w.id = $1`;

/** Sends events again or as a test, on request of the application. */
@Injectable()
export class WebhookTrials {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly egress: EgressClient,
    private readonly signer: DeliverySigner,
  ) {}

  /**
   * Sends stored events again, as `replayEvents` does.
   * @throws {NotFoundError} if the webhook or the event is not stored
   * @throws {ConflictError} if nothing is delivered to the webhook
   * @throws {InvalidInputError} if more than `MOST_REPLAYED` events match
   */
  async replay(applicationId: string, id: string, which: ReplayRequest): Promise<ReplayResult> {
    const target = await this.#target(applicationId, id);
    const now = this.clock.now();
    const most = MOST_REPLAYED + 1;
    const { matched } = await previewReplay(this.database, target, which, now, most);
    if (matched > MOST_REPLAYED)
      throw new InvalidInputError(
        `since: more than ${MOST_REPLAYED} events match; ask for a shorter time with since and until`,
      );
    return replayEvents(this.database, target, which, {
      now,
      record: (sql, details) =>
        recordAudit(sql, {
          action: 'webhook.replay',
          target: { type: 'webhook', id },
          applicationId,
          details,
        }),
    });
  }

  /**
   * Sends an example event of a trigger to a push webhook at once and once, or stores it in the
   * feed of a pull webhook. The webhook need not be subscribed to the trigger.
   * @throws {NotFoundError} @throws {ConflictError} if the webhook is inactive
   */
  async test(applicationId: string, id: string, trigger: Trigger): Promise<TestResult> {
    const { callbackUrl, state } = await this.#target(applicationId, id);
    if (state === 'inactive')
      throw new ConflictError('webhook.inactive', 'The webhook is inactive: activate it first');
    const eventId = newId();
    const body = exampleBody(trigger, this.clock.now());
    if (callbackUrl !== null)
      return { eventId, delivery: await this.#send(id, callbackUrl, eventId, body) };
    await this.database.transaction((sql) =>
      sql.query(STORE_TEST, [eventId, applicationId, id, body]),
    );
    await publishEvents(this.database);
    return { eventId, delivery: null };
  }

  async #send(
    webhookId: string,
    callbackUrl: string,
    eventId: string,
    stored: Buffer,
  ): Promise<TestResult['delivery']> {
    // A test event is in no order.
    const body = deltasJson([{ id: eventId, seq: null, previousSeq: null, body: stored }]);
    const [sealed] = await this.database.query<SealedSecrets>(SECRETS, [webhookId]);
    if (!sealed) throw new NotFoundError('webhook', webhookId); // deleted meanwhile
    const headers = this.signer.headers(sealed, { eventId, body, at: this.clock.now() });
    const begun = monotonicMs();
    const tookMs = () => Math.round(monotonicMs() - begun);
    try {
      const { status } = await this.egress.post(callbackUrl, body, headers);
      const delivered = status >= 200 && status < 300;
      const detail = delivered ? null : `the receiver answered ${status}`;
      return { delivered, httpStatus: status, tookMs: tookMs(), detail };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      return { delivered: false, httpStatus: null, tookMs: tookMs(), detail: error.message };
    }
  }

  async #target(applicationId: string, id: string): Promise<ReplayTarget> {
    const target = isId(id) ? await readTarget(this.database, id) : undefined;
    if (target?.applicationId !== applicationId) throw new NotFoundError('webhook', id);
    return target;
  }
}

/** The body of a delivery with one example event, marked with `test: true`. */
function exampleBody(trigger: Trigger, at: Date): Buffer {
  const { deltas } = exampleDelivery(trigger);
  const date = toUnixSeconds(at);
  return Buffer.from(
    JSON.stringify({ deltas: deltas.map((delta) => ({ ...delta, date, test: true })) }),
  );
}
