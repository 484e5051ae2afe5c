import { createHmac } from 'node:crypto';
import { Database } from '../../src/platform/database/sql.ts';
import type { DeliveryResult } from '../../src/platform/webhooks/delivery/delivery-results.ts';
import type { WebhookDeliveryRow } from '../../src/platform/webhooks/delivery/batches.ts';
import { WebhookDispatcher } from '../../src/platform/webhooks/delivery/webhook-dispatcher.ts';
import type { Settled } from '../../src/platform/work/queue/dispatcher.ts';
import { EventObjects } from '../../src/deltas/event-objects.ts';
import { ObjectStoreUnavailableError } from '../../src/platform/objects/object-errors.ts';
import { EventContents } from '../../src/platform/webhooks/contents/event-contents.ts';
import { requeueEvent } from '../../src/platform/webhooks/events/requeue-events.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { Receiver, type ReceiverBehaviour } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('WebhookDispatcher', () => {
  let server: TestApp;
  let clock: TestClock;
  let receiver: Receiver;
  let application: TestApplication;
  let dispatcher: WebhookDispatcher;
  let database: Database;
  let steps: EngineSteps<WebhookDeliveryRow, DeliveryResult>;

  beforeAll(async () => {
    clock = new TestClock();
    // There is no engine. The tests claim and settle rows themselves.
    server = await startTestApp({ ROLES: 'api' }, { clock });
    dispatcher = server.app.get(WebhookDispatcher, { strict: false });
    database = server.app.get(Database);
    steps = new EngineSteps(database, () => dispatcher);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    receiver = await Receiver.start();
    application = await createApplication(server.app);
  });
  afterEach(() => receiver.stop());

  const queued = (webhookId: string) =>
    database.query<{ id: string }>('select id from hook_job where webhook_id = $1 order by id', [
      webhookId,
    ]);

  /** Leaves one row: a stored event that is to be delivered again. */
  async function requeued(webhookId: string): Promise<void> {
    await recordEvent(server.app, application);
    await attempt(await claimOne(webhookId));
    receiver.received.length = 0;
    const [event] = await database.query<{ id: string }>(
      'select id from webhook_event where application_id = $1',
      [application.id],
    );
    expect(await requeueEvent(database, webhookId, event?.id ?? '')).toBe(true);
  }

  async function claimOne(webhookId: string, attempt = 1): Promise<WebhookDeliveryRow> {
    const [row] = await queued(webhookId);
    return steps.claim(row?.id ?? '', { attempt });
  }

  /** Makes one attempt, and settles it as the engine does. */
  async function attempt(job: WebhookDeliveryRow) {
    const outcome = outcomeOf(await steps.run(job));
    await steps.settle(job, outcome);
    return outcome;
  }

  const webhookRow = async (id: string) => {
    const [row] = await database.query<{
      state: string;
      failingSince: Date | null;
      failures: number;
    }>(`select state, failing_since as "failingSince", failures from webhook where id = $1`, [id]);
    return row;
  };
  const evidenceOf = (id: string) =>
    database.query<{
      outcome: string;
      httpStatus: number | null;
      detail: string | null;
      nextAt: Date | null;
    }>(
      `select outcome, http_status as "httpStatus", detail, next_at as "nextAt", attempt
       from webhook_attempt where webhook_id = $1 order by id`,
      [id],
    );

  it('posts the stored event with its numbers, signed with the client secret', async () => {
    const id = await createWebhook(server.app, application, `${receiver.origin}/hooks?x=1`);
    expect(await recordEvent(server.app, application)).toBe(true);
    const job = await claimOne(id);
    expect(await attempt(job)).toMatchObject({
      next: { kind: 'done' },
      result: { attempts: [{ effect: 'delivered' }] },
    });
    const [delivery] = receiver.posted;
    const [stored] = await database.query<{ id: string; seq: number; body: Buffer }>(
      'select id, seq, body from webhook_event where account_id = $1',
      [job.subjectId],
    );
    expect(delivery?.url).toBe('/hooks?x=1');
    const [delta] = (JSON.parse(stored?.body.toString() ?? '') as { deltas: object[] }).deltas;
    expect(JSON.parse(delivery?.body.toString() ?? '')).toEqual({
      deltas: [{ ...delta, event_id: stored?.id, sequence: stored?.seq, previous_sequence: null }],
    });
    const hmac = (data: Buffer | string, encoding: 'hex' | 'base64') =>
      createHmac('sha256', application.clientSecret).update(data).digest(encoding);
    const timestamp = String(Math.floor(clock.now().getTime() / 1000));
    expect(delivery?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-nylas-signature': hmac(delivery?.body ?? '', 'hex'),
      'webhook-id': stored?.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${hmac(`${stored?.id}.${timestamp}.${delivery?.body.toString()}`, 'base64')}`,
      'user-agent': expect.stringMatching(/^Carillon/),
    });
    expect(await evidenceOf(id)).toMatchObject([
      { outcome: 'delivered', httpStatus: 200, detail: null },
    ]);
    expect(await webhookRow(id)).toEqual({ state: 'active', failingSince: null, failures: 0 });
  });

  const answer =
    (status: number, headers: Record<string, string> = {}): ReceiverBehaviour =>
    (response) =>
      response.writeHead(status, headers).end('no');
  it.each<[string, ReceiverBehaviour, number | null, RegExp, [number, number]]>([
    ['500', answer(500), 500, /answered 500/, [4, 6]],
    ['404', answer(404), 404, /answered 404/, [4, 6]],
    [
      'a redirect',
      answer(302, { location: '/elsewhere' }),
      302,
      /redirects are not followed/,
      [4, 6],
    ],
    [
      '429 with Retry-After',
      answer(429, { 'retry-after': '1800' }),
      429,
      /answered 429/,
      [1799, 1801],
    ],
    [
      '503 with a date to retry after',
      answer(503, { 'retry-after': 'Fri, 31 Dec 9999 00:00:00 GMT' }),
      503,
      /503/,
      [3600, 3600],
    ],
    [
      'a reset',
      (_response, _request, socket) => socket.resetAndDestroy(),
      null,
      /connection broke/,
      [4, 6],
    ],
  ])('retries after %s, and records why', async (_, behave, status, detail, [least, most]) => {
    receiver.behave = behave;
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    const job = await claimOne(id);
    const { next, result } = await attempt(job);
    if (next.kind !== 'again') throw new Error('the delivery was given up');
    const pause = (next.at.getTime() - clock.now().getTime()) / 1000;
    expect(pause).toBeGreaterThanOrEqual(least);
    expect(pause).toBeLessThanOrEqual(most);
    expect(result.attempts).toMatchObject([{ effect: 'failed' }]);
    expect(await evidenceOf(id)).toMatchObject([
      {
        outcome: 'retry',
        httpStatus: status,
        detail: expect.stringMatching(detail),
        nextAt: next.at,
      },
    ]);
    expect(await webhookRow(id)).toEqual({
      state: 'active',
      failingSince: clock.now(),
      failures: 1,
    });
    expect(receiver.received).toHaveLength(1); // the redirect was not followed
  });

  it('sends the same bytes and the same id again, with a new timestamp', async () => {
    receiver.behave = answer(500);
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    await attempt(await claimOne(id, 1));
    clock.advance(5 * MINUTE);
    await attempt(await claimOne(id, 2));
    const [first, second] = receiver.posted;
    expect(second?.body).toEqual(first?.body);
    for (const name of ['webhook-id', 'x-nylas-signature'])
      expect(second?.headers[name]).toBe(first?.headers[name]);
    expect(
      Number(second?.headers['webhook-timestamp']) - Number(first?.headers['webhook-timestamp']),
    ).toBe(300);
  });

  it('ends an attempt after ten seconds without a response, and delivers to others meanwhile', async () => {
    receiver.behave = () => undefined;
    const other = await Receiver.start();
    try {
      const [hanging, well] = [
        await createWebhook(server.app, application, receiver.origin),
        await createWebhook(server.app, application, other.origin),
      ];
      await recordEvent(server.app, application);
      let hung = true;
      const slow = attempt(await claimOne(hanging)).finally(() => (hung = false));
      expect(await attempt(await claimOne(well))).toMatchObject({
        result: { attempts: [{ effect: 'delivered' }] },
      });
      expect(hung).toBe(true);
      expect(await slow).toMatchObject({
        next: { kind: 'again' },
        result: {
          attempts: [
            {
              effect: 'failed',
              evidence: { httpStatus: null, detail: expect.stringContaining('10000 ms') },
            },
          ],
        },
      });
    } finally {
      await other.stop();
    }
  });

  it('releases the row when the process stops', async () => {
    receiver.behave = () => abort.abort(new Error('stopping'));
    const abort = new AbortController();
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    expect(await steps.run(await claimOne(id), { signal: abort.signal })).toBeNull();
  });

  it('makes a webhook failing after 15 minutes of failures only, failed after 72 hours, and then stops', async () => {
    receiver.behave = answer(500);
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    const step = async (advanceMs: number, number: number) => {
      clock.advance(advanceMs);
      await attempt({
        ...(await claimOne(id, number)),
        gateFailures: 0,
      });
      return (await webhookRow(id))?.state;
    };
    expect(await step(0, 1)).toBe('active');
    expect(await step(14 * MINUTE, 2)).toBe('active');
    expect(await step(2 * MINUTE, 3)).toBe('failing');
    expect(await step(71 * HOUR, 4)).toBe('failing');
    // events are still queued for a failing webhook
    expect(await recordEvent(server.app, application)).toBe(true);
    expect(await step(HOUR, 5)).toBe('failed');
    // its rows rest without attempts, and keep their place
    const before = receiver.posted.length;
    const [attempts, rows] = [await evidenceOf(id), await queued(id)];
    for (const row of rows)
      expect(await attempt(await steps.claim(row.id))).toMatchObject({
        next: { kind: 'again', at: new Date(clock.now().getTime() + 24 * HOUR) },
        result: { attempts: [] },
      });
    expect(receiver.posted).toHaveLength(before);
    expect(await evidenceOf(id)).toEqual(attempts);
    // later events get lanes, too
    expect(await recordEvent(server.app, application)).toBe(true);
    expect(await queued(id)).toHaveLength(rows.length + 1);
  });

  it.each([
    ['lets a failing webhook recover', 'failing', 71 * HOUR],
    ['ends the failures of an active webhook', 'active', 14 * MINUTE],
  ] as const)('%s with the first success', async (_does, state, failingForMs) => {
    const id = await createWebhook(server.app, application, receiver.origin, {
      state,
      failingSince: new Date(clock.now().getTime() - failingForMs),
      failures: 20,
    });
    await recordEvent(server.app, application);
    await attempt(await claimOne(id));
    expect(await webhookRow(id)).toEqual({ state: 'active', failingSince: null, failures: 0 });
  });

  it('stops at once when the receiver answers 410, and keeps the event for its activation', async () => {
    receiver.behave = answer(410);
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    expect(await attempt(await claimOne(id))).toMatchObject({
      next: { kind: 'again' },
      result: { attempts: [{ effect: 'gone', evidence: { outcome: 'dropped', httpStatus: 410 } }] },
    });
    expect((await webhookRow(id))?.state).toBe('failed');
    expect(await queued(id)).toHaveLength(1);
  });

  it('drops deliveries that become due while the webhook is inactive, without calling it', async () => {
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    await database.query(`update webhook set state = 'inactive' where id = $1`, [id]);
    expect(await attempt(await claimOne(id))).toMatchObject({
      next: { kind: 'done' },
      result: {
        attempts: [
          { effect: null, evidence: { outcome: 'dropped', detail: 'the webhook is inactive' } },
        ],
      },
    });
    expect(receiver.received).toHaveLength(0);
    expect(await webhookRow(id)).toMatchObject({ state: 'inactive', failures: 0 });
  });

  it('refuses a stored private address, and counts it as a failure', async () => {
    const id = await createWebhook(server.app, application, 'http://10.0.0.1/');
    await recordEvent(server.app, application);
    expect(await attempt(await claimOne(id))).toMatchObject({
      next: { kind: 'again' },
      result: { attempts: [{ effect: 'failed', evidence: { httpStatus: null } }] },
    });
  });

  it('waits, without an attempt, while the content that the webhook wants cannot be read', async () => {
    const id = await createWebhook(server.app, application, receiver.origin);
    await database.query(`update webhook set content = 'full' where id = $1`, [id]);
    await recordEvent(server.app, application);
    const away = new ObjectStoreUnavailableError('is away', 7);
    server.app.get(EventContents).register(() => Promise.reject(away));
    try {
      await expect(steps.run(await claimOne(id))).rejects.toMatchObject({ waitMs: 7_000 });
    } finally {
      server.app.get(EventObjects).onModuleInit();
    }
    expect(receiver.received).toEqual([]);
    expect(await evidenceOf(id)).toEqual([]);
  });

  it('does nothing for a deleted webhook, and ends a lane whose events are deleted', async () => {
    const id = await createWebhook(server.app, application, receiver.origin);
    await recordEvent(server.app, application);
    const job = await claimOne(id);
    await database.query('delete from webhook_event where account_id = $1', [job.subjectId]);
    const nothing = { next: { kind: 'done' }, result: { attempts: [], change: null } };
    expect(await attempt(job)).toMatchObject(nothing);
    await database.query('delete from webhook where id = $1', [id]);
    expect(await steps.run(job)).toMatchObject(nothing);
    expect(receiver.received).toHaveLength(0);
  });

  it('drops an event that is to be delivered again but is no longer stored', async () => {
    const id = await createWebhook(server.app, application, receiver.origin);
    await requeued(id);
    await database.query('delete from webhook_event where application_id = $1', [application.id]);
    expect(await attempt(await claimOne(id))).toMatchObject({
      next: { kind: 'done' },
      result: { attempts: [{ effect: null, evidence: { outcome: 'dropped' } }] },
    });
    expect(receiver.received).toHaveLength(0);
  });

  it('counts neither our own errors nor crashes of its worker against the receiver', async () => {
    const id = await createWebhook(server.app, application, receiver.origin);
    await requeued(id);
    const job = await claimOne(id);
    await database.query(`update application set secret_sealed = 'v1.gone.x.y' where id = $1`, [
      application.id,
    ]);
    await expect(steps.run(job)).rejects.toThrow('ENCRYPTION_KEYS');
    expect(dispatcher.onError(job)).toMatchObject({
      next: { kind: 'again', at: new Date(clock.now().getTime() + MINUTE) },
      result: { attempts: [], change: { attempt: 0 } },
    });
    expect(dispatcher.onError({ ...job, giveUpAt: clock.now() })).toMatchObject({
      next: { kind: 'done' },
      result: { attempts: [{ effect: null, evidence: { outcome: 'dropped' } }] },
    });
    expect(dispatcher.onPoison(job)).toMatchObject({
      next: { kind: 'done' },
      result: { attempts: [{ effect: null }] },
    });
    expect(receiver.received).toHaveLength(0);
  });

  it('records results of several webhooks at once, from two workers in opposite order', async () => {
    const ids = [
      await createWebhook(server.app, application, `${receiver.origin}/a`),
      await createWebhook(server.app, application, `${receiver.origin}/b`),
    ];
    receiver.behave = (response, { url }) => response.writeHead(url === '/a' ? 200 : 500).end();
    for (let round = 0; round < 10; round++) await recordEvent(server.app, application);
    const rows = (await Promise.all(ids.map((id) => queued(id)))).flat();
    const settled: Settled<WebhookDeliveryRow, DeliveryResult>[] = [];
    // One after the other, so that each has a request of its own.
    for (const { id } of rows) {
      const row = await steps.claim(id);
      settled.push({ row, ...outcomeOf(await steps.run(row)) });
    }
    const half = (odd: number) => settled.filter((_, index) => index % 2 === odd);
    await Promise.all([
      database.transaction((sql) => dispatcher.record(sql, half(0))),
      database.transaction((sql) => dispatcher.record(sql, half(1).toReversed())),
    ]);
    expect(await webhookRow(ids[0] ?? '')).toMatchObject({ failures: 0, failingSince: null });
    expect(await webhookRow(ids[1] ?? '')).toMatchObject({ failures: 10 });
    expect(await evidenceOf(ids[0] ?? '')).toHaveLength(10);
  });
});
