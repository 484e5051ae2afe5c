import { readWebhooks } from '../../src/operator/webhooks/webhook-rows.ts';
import {
  countReplayable,
  readStoredEvent,
} from '../../src/platform/webhooks/replay/replay-rows.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { changeWebhookState } from '../../src/platform/webhooks/change-webhook-state.ts';
import { pruneWebhookEvidence } from '../../src/platform/webhooks/events/prune-webhook-evidence.ts';
import { requeueEvent, requeueEvents } from '../../src/platform/webhooks/events/requeue-events.ts';
import type { WebhookDeliveryRow } from '../../src/platform/webhooks/delivery/batches.ts';
import type { DeliveryResult } from '../../src/platform/webhooks/delivery/delivery-results.ts';
import { WebhookDispatcher } from '../../src/platform/webhooks/delivery/webhook-dispatcher.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';
import { createWebhook, recordEvents } from '../support/webhook-fixture.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FIRST_ID = '00000000-0000-7000-8000-000000000000';

interface QueuedRow {
  id: string;
  subject: string;
  isLane: boolean;
  attempt: number;
  inMs: number;
}
interface Delta {
  event_id: string;
  sequence: number;
  previous_sequence: number | null;
}

describe('lanes of webhook deliveries', () => {
  let server: TestApp;
  let clock: TestClock;
  let receiver: Receiver;
  let application: TestApplication;
  let dispatcher: WebhookDispatcher;
  let database: Database;
  let steps: EngineSteps<WebhookDeliveryRow, DeliveryResult>;
  let webhookId: string;
  let accountId: string;

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
    accountId = newId();
  });
  afterEach(() => receiver.stop());

  const record = (count: number, account = accountId) =>
    recordEvents(server.app, application, count, { accountId: account });
  const queued = (id = webhookId) =>
    database.query<QueuedRow>(
      `select id, event_id as subject, wanted_seq is not null as "isLane", attempt,
         (extract(epoch from run_at - now()) * 1000)::float8 as "inMs"
       from hook_job where webhook_id = $1 order by run_at, id`,
      [id],
    );
  const storedIds = async (account = accountId) =>
    (
      await database.query<{ id: string }>(
        'select id from webhook_event where account_id = $1 order by seq',
        [account],
      )
    ).map(({ id }) => id);
  const attempts = () =>
    database.query<{ outcome: string; attempt: number; deltas: number }>(
      'select outcome, attempt, deltas from webhook_attempt where webhook_id = $1 order by id',
      [webhookId],
    );
  const deltasOf = ({ body }: { body: Buffer }) =>
    (JSON.parse(body.toString()) as { deltas: Delta[] }).deltas;
  /** The events of each request. */
  const sent = () => receiver.posted.map((post) => deltasOf(post).map(({ event_id: id }) => id));

  /** Runs the first row, and settles it as the engine does. */
  async function runFirst(changes: Partial<WebhookDeliveryRow> = {}): Promise<void> {
    const [row] = await queued();
    await steps.attempt(row?.id ?? '', changes);
  }

  /** Runs rows until none is due. */
  async function runDue(): Promise<void> {
    for (;;) {
      const row = (await queued()).find(({ inMs }) => inMs <= 0);
      if (!row) return;
      await steps.attempt(row.id);
    }
  }

  it('begin for each account, and become due at the pace of the webhook', async () => {
    await recordEvents(server.app, application, 3);
    const rows = await queued();
    expect(rows.map(({ isLane }) => isLane)).toEqual([true, true, true]);
    expect((rows[2]?.inMs ?? 0) - (rows[0]?.inMs ?? 0)).toBeCloseTo(4, 1);
  });

  it('deliver the waiting events of an account as one request, in order and numbered', async () => {
    await record(3);
    await record(2);
    expect(await queued()).toHaveLength(1);
    await runDue();
    expect(sent()).toEqual([await storedIds()]);
    const deltas = receiver.posted.flatMap(deltasOf);
    const numbers = deltas.map(({ sequence }) => sequence);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(deltas.map((delta) => delta.previous_sequence)).toEqual([null, ...numbers.slice(0, -1)]);
    expect(await queued()).toEqual([]);
    expect(await attempts()).toEqual([{ outcome: 'delivered', attempt: 1, deltas: 5 }]);
    // The next one continues the numbers.
    await record(1);
    await runDue();
    expect(receiver.posted.flatMap(deltasOf).at(-1)?.previous_sequence).toBe(numbers.at(-1));
  });

  it('deliver at most 100 events and 256 kB in a request', async () => {
    await record(230);
    await runDue();
    expect(sent().map(({ length }) => length)).toEqual([100, 100, 30]);
    expect(sent().flat()).toEqual(await storedIds());
    receiver.received.length = 0;
    await record(3);
    await database.query(
      `update webhook_event set body = convert_to('{"deltas":[{"a":"' || repeat('x', 150000) || '"}]}', 'utf8')
       where account_id = $1`,
      [accountId],
    );
    await runDue();
    expect(sent().map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('are extended while a worker delivers, and go on with the new events', async () => {
    await record(1);
    receiver.onRequest = async () => {
      receiver.onRequest = () => Promise.resolve();
      await record(2);
    };
    await runDue();
    const [first, ...others] = await storedIds();
    expect(sent()).toEqual([[first], others]);
    expect(await queued()).toEqual([]);
  });

  it('lose no event if they end at the moment at which they are extended', async () => {
    await record(1);
    const [row] = await queued();
    const job = await steps.claim(row?.id ?? '');
    const outcome = outcomeOf(await steps.run(job));
    await Promise.all([steps.settle(job, outcome), record(1)]);
    await runDue();
    expect(sent().flat()).toEqual(await storedIds());
    expect(await queued()).toEqual([]);
  });

  it('repeat a failed request with the same events and id, and later events wait behind it', async () => {
    await record(2);
    receiver.answers.push({ status: 500 });
    await runFirst();
    await record(3);
    expect((await queued()).map(({ attempt }) => attempt)).toEqual([1]);
    await runFirst();
    const [failed, repeated] = receiver.posted;
    expect(repeated?.body).toEqual(failed?.body);
    expect(repeated?.headers['webhook-id']).toBe(failed?.headers['webhook-id']);
    await runDue();
    const ids = await storedIds();
    expect(sent()).toEqual([ids.slice(0, 2), ids.slice(0, 2), ids.slice(2)]);
    expect((await attempts()).map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
  });

  it('repeat a request with the same events if its worker died, although more are wanted', async () => {
    await record(2);
    const [row] = await queued();
    await steps.run(await steps.claim(row?.id ?? ''));
    await record(3);
    await steps.sweep();
    await runDue();
    const ids = await storedIds();
    expect(sent()).toEqual([ids.slice(0, 2), ids.slice(0, 2), ids.slice(2)]);
  });

  it('of other accounts do not wait for one that fails', async () => {
    await record(1);
    receiver.answers.push({ status: 500 });
    await runFirst();
    await record(2, newId());
    await runDue();
    expect(sent().map(({ length }) => length)).toEqual([1, 2]);
    expect((await queued()).map(({ subject }) => subject)).toEqual([accountId]);
  });

  it('halve a request that the receiver finds too large, without counting a failure', async () => {
    await record(4);
    receiver.behave = (response, { body }) =>
      response.writeHead(deltasOf({ body }).length > 1 ? 413 : 200).end();
    await runDue();
    const ids = await storedIds();
    expect(
      sent()
        .filter(({ length }) => length === 1)
        .flat(),
    ).toEqual(ids);
    expect(await queued()).toEqual([]);
    const [webhook] = await database.query('select failing_since from webhook where id = $1', [
      webhookId,
    ]);
    expect(webhook).toEqual({ failing_since: null });
  });

  it('set aside an event that makes a healthy receiver fail, and go on without it', async () => {
    await record(30);
    const ids = await storedIds();
    const poison = ids[3] ?? '';
    receiver.behave = (response, { body }) =>
      response
        .writeHead(deltasOf({ body }).some(({ event_id: id }) => id === poison) ? 500 : 200)
        .end();
    // Each claim finds that other deliveries have succeeded since.
    for (let round = 0; round < 40; round += 1) {
      const lane = (await queued()).find(({ isLane }) => isLane);
      if (!lane) break;
      await steps.attempt(lane.id);
    }
    const [row, ...others] = await queued();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ subject: poison, isLane: false, attempt: 4 });
    const seen = new Set(sent().flat());
    expect(ids.filter((id) => !seen.has(id))).toEqual([]);
    receiver.behave = (response) => response.writeHead(200).end();
    await runFirst();
    expect(sent().at(-1)).toEqual([poison]);
    expect(await queued()).toEqual([]);
  });

  it('keep their order while their webhook is in trouble as a whole, and use up no attempts', async () => {
    await record(2);
    receiver.behave = (response) => response.writeHead(500).end();
    for (let round = 0; round < 20; round += 1) await runFirst({ gateFailures: 5 });
    expect((await queued()).map(({ isLane, attempt }) => [isLane, attempt])).toEqual([[true, 0]]);
    receiver.behave = (response) => response.writeHead(200).end();
    await runFirst();
    expect(sent().at(-1)).toEqual(await storedIds());
  });

  it('all become due when the webhook recovers', async () => {
    for (let n = 0; n < 3; n += 1) await record(1, newId());
    await database.query(
      `update hook_job set run_at = now() + interval '1 h' where webhook_id = $1`,
      [webhookId],
    );
    await runFirst({ gateFailures: 3 });
    expect((await queued()).map(({ inMs }) => inMs <= 0)).toEqual([true, true]);
  });

  it('drop events that are older than 76 hours when they fail, and go on with the others', async () => {
    await record(3);
    const ids = await storedIds();
    await database.query(
      `update webhook_event set created_at = now() - interval '77 hours' where id = any($1)`,
      [ids.slice(0, 2)],
    );
    receiver.answers.push({ status: 500 });
    await runFirst();
    expect(await attempts()).toMatchObject([{ outcome: 'dropped', deltas: 2 }]);
    await runDue();
    expect(sent()).toEqual([ids, ids.slice(2)]);
  });

  it('go on in order after a failed webhook is activated, with the events of 72 hours', async () => {
    await record(3);
    receiver.answers.push({ status: 410 });
    await runFirst();
    await record(2);
    const ids = await storedIds();
    await database.query(
      `update webhook_event set id = overlay(id::text placing '01800000-0000' from 1 for 13)::uuid where id = $1`,
      [ids[0]],
    );
    await database.transaction((sql) =>
      changeWebhookState(sql, { id: webhookId, before: 'failed', to: 'active', at: new Date() }),
    );
    await runDue();
    expect(sent().slice(1)).toEqual([ids.slice(1)]);
    expect(await queued()).toEqual([]);
  });

  it('deliver their next event alone after their workers died three times, and then set it aside', async () => {
    await record(3);
    const ids = await storedIds();
    for (let deaths = 0; deaths < 2; deaths += 1) {
      const [row] = (await queued()).filter(({ isLane }) => isLane);
      const job = await steps.claim(row?.id ?? '');
      await steps.settle(job, dispatcher.onPoison(job));
    }
    await database.query('update hook_job set run_at = now() where webhook_id = $1', [webhookId]);
    await runDue();
    expect(
      sent()
        .map((events) => events.join())
        .toSorted(),
    ).toEqual([ids.slice(0, 1).join(), ids.slice(1).join()].toSorted());
  });

  it('wait after an error of Carillon without using up an attempt', async () => {
    await record(2);
    const [row] = await queued();
    const job = await steps.claim(row?.id ?? '');
    await steps.settle(job, dispatcher.onError(job));
    const [waiting] = await queued();
    expect(waiting?.attempt).toBe(0);
    expect(waiting?.inMs).toBeGreaterThan(50_000);
    await database.query('update hook_job set run_at = now() where webhook_id = $1', [webhookId]);
    await runDue();
    expect(sent()).toEqual([await storedIds()]);
  });

  it('are counted and made due by their events in a replay', async () => {
    await record(3);
    await database.query(
      `update hook_job set run_at = now() + interval '1 hour' where webhook_id = $1`,
      [webhookId],
    );
    const replay = () =>
      database.transaction((sql) =>
        requeueEvents(sql, webhookId, FIRST_ID, { undeliveredOnly: true }),
      );
    expect(await replay()).toMatchObject({ count: 3, queued: 3 });
    expect((await queued()).map(({ inMs }) => inMs <= 0)).toEqual([true]);
    const [, second = ''] = await storedIds();
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
    const [row] = await queued();
    const job = await steps.claim(row?.id ?? '');
    expect(await countReplayable(database, webhookId, FIRST_ID, { undeliveredOnly: true })).toEqual(
      {
        matched: 3,
        running: 3,
      },
    );
    expect(await readStoredEvent(database, webhookId, second)).toMatchObject({ running: true });
    expect(await replay()).toMatchObject({ count: 3, queued: 0 });
    expect(await requeueEvent(database, webhookId, second)).toBe(false);
    await steps.settle(job, outcomeOf(await steps.run(job)));
    // They were confirmed as one request.
    expect(await replay()).toMatchObject({ count: 0, queued: 0 });
    expect(await requeueEvent(database, webhookId, second)).toBe(true);
    expect(await queued()).toMatchObject([{ subject: second, isLane: false }]);
    await runDue();
    expect(sent().at(-1)).toEqual([second]);
  });

  it('keep their events from being deleted as old ones', async () => {
    await record(3);
    await pruneWebhookEvidence(database, new Date(Date.now() + 8 * DAY));
    expect(await storedIds()).toHaveLength(3);
    await runDue();
    await pruneWebhookEvidence(database, new Date(Date.now() + 8 * DAY));
    expect(await storedIds()).toHaveLength(0);
  });

  it('lose no event if a process of the release before takes them for an event and deletes them', async () => {
    await record(3);
    // The release before knows no lanes and does not set what the trigger reads.
    await database.query('delete from hook_job where webhook_id = $1 and event_id = $2', [
      webhookId,
      accountId,
    ]);
    const ids = await storedIds();
    expect(new Set((await queued()).map(({ subject }) => subject))).toEqual(new Set(ids));
    await runDue();
    expect(new Set(sent().flat())).toEqual(new Set(ids));
  });

  it('end when the webhook is deleted', async () => {
    await record(3);
    const gone = await fetch(`${server.url}/a/${application.clientId}/webhooks/${webhookId}`, {
      method: 'DELETE',
      headers: application.secretBasic,
    });
    expect(gone.status).toBe(200);
    expect(await queued()).toEqual([]);
  });
});
