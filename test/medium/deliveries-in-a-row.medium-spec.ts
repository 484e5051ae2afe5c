import { readWebhooks } from '../../src/operator/webhooks/webhook-rows.ts';
import {
  countReplayable,
  readStoredEvent,
} from '../../src/platform/webhooks/replay/replay-rows.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { pruneWebhookEvidence } from '../../src/platform/webhooks/events/prune-webhook-evidence.ts';
import { requeueEvent, requeueEvents } from '../../src/platform/webhooks/events/requeue-events.ts';
import type { DeliveryResult } from '../../src/platform/webhooks/delivery/delivery-results.ts';
import {
  type WebhookDeliveryRow,
  WebhookDispatcher,
} from '../../src/platform/webhooks/delivery/webhook-dispatcher.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';
import { createWebhook, recordEvents } from '../support/webhook-fixture.ts';

const DAY = 24 * 3_600_000;
const FIRST_ID = '00000000-0000-7000-8000-000000000000';

interface QueuedRow {
  id: string;
  events: string[];
  attempt: number;
  inMs: number;
}

describe('queue rows with several deliveries', () => {
  let server: TestApp;
  let clock: TestClock;
  let receiver: Receiver;
  let application: TestApplication;
  let dispatcher: WebhookDispatcher;
  let database: Database;
  let steps: EngineSteps<WebhookDeliveryRow, DeliveryResult>;
  let webhookId: string;

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
    clock.advance(Date.now() - clock.now().getTime());
    receiver = await Receiver.start();
    application = await createApplication(server.app);
    webhookId = await createWebhook(server.app, application, receiver.origin);
  });
  afterEach(() => receiver.stop());

  const queued = (id = webhookId) =>
    database.query<QueuedRow>(
      `select id, event_id || more_events as events, attempt,
         (extract(epoch from run_at - now()) * 1000)::float8 as "inMs"
       from hook_job where webhook_id = $1 order by run_at, event_id`,
      [id],
    );
  const storedIds = async () =>
    (
      await database.query<{ id: string }>(
        'select id from webhook_event where application_id = $1 order by id',
        [application.id],
      )
    ).map(({ id }) => id);
  const attempts = () =>
    database.query<{ eventId: string; outcome: string; attempt: number }>(
      'select event_id as "eventId", outcome, attempt from webhook_attempt where webhook_id = $1 order by id',
      [webhookId],
    );
  /** Milliseconds from the failed attempt of each queued event to its next one. */
  const waits = async () => {
    const rows = await database.query<{ waitMs: number }>(
      `select (extract(epoch from j.run_at - a.started_at) * 1000)::float8 as "waitMs"
       from hook_job j join webhook_attempt a using (webhook_id, event_id) where j.webhook_id = $1`,
      [webhookId],
    );
    expect(rows).toHaveLength((await queued()).length);
    return rows.map(({ waitMs }) => waitMs);
  };
  const sent = () => receiver.posted.map(({ headers }) => headers['webhook-id']);

  async function claimFirst(): Promise<WebhookDeliveryRow> {
    const [row] = await queued();
    return steps.claim(row?.id ?? '');
  }

  /** Runs the first row, and settles it as the engine does. */
  async function runFirst(changes: Parameters<typeof steps.run>[1] = {}): Promise<void> {
    const job = await claimFirst();
    await steps.settle(job, outcomeOf(await steps.run(job, changes)));
  }

  /**
   * Runs rows until none is due. On a slow machine, a delivery may take so long that the others get
   * rows of their own.
   */
  async function runDue(): Promise<void> {
    for (;;) {
      const row = (await queued()).find(({ inMs }) => inMs <= 0);
      if (!row) return;
      await steps.attempt(row.id);
    }
  }

  it('have up to 16 events that were recorded together, and follow at the pace of the webhook', async () => {
    await recordEvents(server.app, application, 20);
    const rows = await queued();
    expect(rows.map(({ events }) => events.length)).toEqual([16, 4]);
    expect(rows.flatMap(({ events }) => events)).toEqual(await storedIds());
    // 2 ms for each delivery of the first row.
    expect((rows[1]?.inMs ?? 0) - (rows[0]?.inMs ?? 0)).toBeCloseTo(32, 1);
  });

  it('are delivered one after the other, in the order of their events', async () => {
    await recordEvents(server.app, application, 5);
    let open = 0;
    let most = 0;
    receiver.onRequest = async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
    };
    await runDue();
    expect(sent()).toEqual(await storedIds());
    expect(most).toBe(1);
    expect(await queued()).toEqual([]);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 5 }, () => 'delivered'),
    );
  });

  it('leave a row for each event that has to be delivered again', async () => {
    await recordEvents(server.app, application, 4);
    const [, second = '', , fourth = ''] = await storedIds();
    receiver.behave = (response, { headers }) =>
      response
        .writeHead([second, fourth].includes(String(headers['webhook-id'])) ? 500 : 200)
        .end();
    await runDue();
    const rows = await queued();
    expect(new Set(rows.map(({ events }) => events.join()))).toEqual(new Set([second, fourth]));
    expect(rows.map(({ attempt }) => attempt)).toEqual([1, 1]);
    for (const waitMs of await waits()) expect(waitMs).toBeGreaterThan(3_000);
    receiver.behave = (response) => response.writeHead(200).end();
    const job = await claimFirst();
    expect(job.attempt).toBe(2);
    await steps.settle(job, outcomeOf(await steps.run(job)));
    expect(await queued()).toHaveLength(1);
  });

  it('give their other events rows of their own after a slow delivery, and at an orderly stop', async () => {
    await recordEvents(server.app, application, 3);
    receiver.onRequest = () => new Promise((resolve) => setTimeout(resolve, 150));
    await runFirst();
    expect(receiver.posted).toHaveLength(1);
    let rows = await queued();
    expect(rows.map(({ events, attempt }) => [events.length, attempt])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    await database.query('delete from hook_job where webhook_id = $1', [webhookId]);

    receiver.onRequest = () => Promise.resolve();
    await recordEvents(server.app, application, 3);
    await runFirst({ stopping: () => true });
    rows = await queued();
    expect(rows.map(({ events, attempt }) => [events.length, attempt])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(receiver.posted).toHaveLength(2);
  });

  it('go back unchanged if the process ends before the first answer, and keep what was answered', async () => {
    await recordEvents(server.app, application, 3);
    const abort = new AbortController();
    receiver.behave = () => abort.abort(new Error('stopping'));
    const before = await queued();
    const job = await claimFirst();
    const outcome = await steps.run(job, { signal: abort.signal });
    expect(outcome).toBeNull();
    await steps.settle(job, outcome);
    expect((await queued()).map(({ id, events }) => ({ id, events }))).toEqual(
      before.map(({ id, events }) => ({ id, events })),
    );

    const later = new AbortController();
    receiver.answers.push({ status: 200 });
    receiver.behave = () => later.abort(new Error('stopping'));
    await runFirst({ signal: later.signal });
    expect(await attempts()).toHaveLength(1);
    expect((await queued()).map(({ events, attempt }) => [events.length, attempt])).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });

  it('end at 410, and drop what the webhook does not get any more', async () => {
    await recordEvents(server.app, application, 3);
    receiver.behave = (response) => response.writeHead(410).end();
    await runFirst();
    expect(receiver.posted).toHaveLength(1);
    await runFirst();
    await runFirst();
    expect(receiver.posted).toHaveLength(1);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual([
      'dropped',
      'dropped',
      'dropped',
    ]);
    expect(await queued()).toEqual([]);
  });

  it('deliver the stored events if one is no longer stored', async () => {
    await recordEvents(server.app, application, 3);
    const [first, second, third] = await storedIds();
    await database.query('delete from webhook_event where id = $1', [second]);
    await runDue();
    expect(sent()).toEqual([first, third]);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual([
      'delivered',
      'dropped',
      'delivered',
    ]);
  });

  it('are split if their workers died three times: only one event may be the cause', async () => {
    await recordEvents(server.app, application, 3);
    const job = await claimFirst();
    await steps.settle(job, dispatcher.onPoison(job));
    const rows = await queued();
    expect(rows.map(({ events, attempt }) => [events.length, attempt])).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
    for (const { id } of rows) await steps.attempt(id);
    expect(new Set(sent())).toEqual(new Set(await storedIds()));
  });

  it('wait as a whole after an error of Carillon, with an attempt for each event', async () => {
    await recordEvents(server.app, application, 2);
    const job = await claimFirst();
    await steps.settle(job, dispatcher.onError(job));
    const rows = await queued();
    expect(rows.map(({ events, attempt }) => [events.length, attempt])).toEqual([[2, 1]]);
    expect(rows[0]?.inMs).toBeGreaterThan(50_000);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['retry', 'retry']);
    await database.query('update hook_job set run_at = now() where webhook_id = $1', [webhookId]);
    await runDue();
    expect(sent()).toEqual(await storedIds());
  });

  it('are counted and repeated by their events in a replay', async () => {
    await recordEvents(server.app, application, 3);
    await database.query(
      `update hook_job set run_at = now() + interval '1 hour' where webhook_id = $1`,
      [webhookId],
    );
    expect(
      await database.transaction((sql) =>
        requeueEvents(sql, webhookId, FIRST_ID, { undeliveredOnly: true }),
      ),
    ).toMatchObject({ count: 3, queued: 3 });
    expect((await queued()).map(({ events, inMs }) => [events.length, inMs <= 0])).toEqual([
      [3, true],
    ]);
    const [, second = ''] = await storedIds();
    expect(await requeueEvent(database, webhookId, second)).toBe(true);
    expect(await queued()).toHaveLength(1);

    expect(await countReplayable(database, webhookId, FIRST_ID, { undeliveredOnly: true })).toEqual(
      {
        matched: 3,
        running: 0,
      },
    );
    expect(await readStoredEvent(database, webhookId, second)).toMatchObject({ running: false });
    const page = { limit: 10, offset: 0 };
    expect(await readWebhooks(database, { application: application.id }, page)).toMatchObject([
      { backlog: 3, backlogIsMore: false },
    ]);

    // A worker is delivering them, so they are left alone.
    const job = await claimFirst();
    expect(await countReplayable(database, webhookId, FIRST_ID, { undeliveredOnly: true })).toEqual(
      {
        matched: 3,
        running: 3,
      },
    );
    expect(await readStoredEvent(database, webhookId, second)).toMatchObject({ running: true });
    expect(
      await database.transaction((sql) =>
        requeueEvents(sql, webhookId, FIRST_ID, { undeliveredOnly: true }),
      ),
    ).toMatchObject({ count: 3, queued: 0 });
    expect(await requeueEvent(database, webhookId, second)).toBe(false);
    await steps.settle(job, outcomeOf(await steps.run(job)));
    await runDue();
    expect(sent()).toEqual(await storedIds());
    expect(await requeueEvent(database, webhookId, second)).toBe(true);
    expect((await queued()).map(({ events }) => events)).toEqual([[second]]);
  });

  it('keep their events from being deleted as old ones', async () => {
    await recordEvents(server.app, application, 3);
    await pruneWebhookEvidence(database, new Date(Date.now() + 8 * DAY));
    expect(await storedIds()).toHaveLength(3);
    await runDue();
    await pruneWebhookEvidence(database, new Date(Date.now() + 8 * DAY));
    expect(await storedIds()).toHaveLength(0);
  });

  it('lose no event if a process of the release before delivers the first one and deletes the row', async () => {
    await recordEvents(server.app, application, 3);
    const [first, ...others] = await storedIds();
    // The release before knows neither `more_events` nor the setting.
    await database.query('delete from hook_job where webhook_id = $1 and event_id = $2', [
      webhookId,
      first,
    ]);
    expect((await queued()).map(({ events }) => events)).toEqual(others.map((id) => [id]));
  });

  it('take their events with them when the webhook is deleted', async () => {
    await recordEvents(server.app, application, 3);
    const gone = await fetch(`${server.url}/a/${application.clientId}/webhooks/${webhookId}`, {
      method: 'DELETE',
      headers: application.secretBasic,
    });
    expect(gone.status).toBe(200);
    expect(await queued()).toEqual([]);
  });
});
