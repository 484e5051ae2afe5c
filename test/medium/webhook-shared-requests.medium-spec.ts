import { Webhook as StandardWebhook } from 'standardwebhooks';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database, idsOf } from '../../src/platform/database/sql.ts';
import type {
  LoadedBatch,
  WebhookDeliveryRow,
} from '../../src/platform/webhooks/delivery/batches.ts';
import type { DeliveryResult } from '../../src/platform/webhooks/delivery/delivery-results.ts';
import { WebhookDispatcher } from '../../src/platform/webhooks/delivery/webhook-dispatcher.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createWebhook, recordEvents } from '../support/webhook-fixture.ts';

interface Delta {
  event_id: string;
  object_data: { account_id: string };
}
interface Attempt {
  outcome: string;
  attempt: number;
  deltas: number;
}

describe('requests with the events of several accounts', () => {
  let server: TestApp;
  let receiver: Receiver;
  let application: TestApplication;
  let database: Database;
  let dispatcher: WebhookDispatcher;
  let steps: EngineSteps<WebhookDeliveryRow, DeliveryResult>;
  let webhookId: string;

  beforeAll(async () => {
    // There is no engine. The tests claim and settle rows themselves.
    server = await startTestApp({ ROLES: 'api' });
    dispatcher = server.app.get(WebhookDispatcher, { strict: false });
    database = server.app.get(Database);
    steps = new EngineSteps(database, () => dispatcher);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    receiver = await Receiver.start();
    application = await createApplication(server.app);
    webhookId = await createWebhook(server.app, application, receiver.origin);
  });
  afterEach(() => receiver.stop());

  const record = (count: number, accountId: string) =>
    recordEvents(server.app, application, count, { accountId });
  const queued = () =>
    database.query<{ id: string; subject: string; attempt: number; inMs: number }>(
      `select id, event_id as subject, attempt, (extract(epoch from run_at - now()) * 1000)::float8 as "inMs"
       from hook_job where webhook_id = $1 order by from_seq`,
      [webhookId],
    );
  const attempts = () =>
    database.query<Attempt>(
      'select outcome, attempt, deltas from webhook_attempt where webhook_id = $1 order by id',
      [webhookId],
    );
  const health = async () =>
    (await database.query('select failures from webhook where id = $1', [webhookId]))[0];
  /** The accounts of each event of each request. */
  const sent = () =>
    receiver.posted.map(({ body }) =>
      (JSON.parse(body.toString()) as { deltas: Delta[] }).deltas.map(
        ({ object_data: { account_id: id } }) => id,
      ),
    );

  /** Claims rows and runs them at the same moment, after all of them are loaded. */
  async function runTogether(ids: readonly string[], changes: Partial<WebhookDeliveryRow> = {}) {
    const claimed: { row: WebhookDeliveryRow; loaded: LoadedBatch | undefined }[] = [];
    for (const id of ids) {
      const row = await steps.claim(id, changes);
      claimed.push({ row, loaded: await steps.load<LoadedBatch>(row) });
    }
    return Promise.all(
      claimed.map(async ({ row, loaded }) => ({
        row,
        outcome: outcomeOf(await dispatcher.run(row, steps.lease(row), loaded)),
      })),
    );
  }

  /** Runs all rows of the webhook, and settles them. */
  async function runAll(changes: Partial<WebhookDeliveryRow> = {}) {
    const runs = await runTogether(idsOf(await queued()), changes);
    for (const { row, outcome } of runs) {
      await steps.settle(row, outcome);
      dispatcher.afterWriting(row);
    }
    return runs.map(({ outcome }) => outcome);
  }

  /** Two events of one account and one event of another. */
  async function recordOfTwo(): Promise<[string, string]> {
    const accounts: [string, string] = [newId(), newId()];
    await record(2, accounts[0]);
    await record(1, accounts[1]);
    return accounts;
  }

  it('are made if deliveries to a webhook run at the same moment', async () => {
    const [one, other] = await recordOfTwo();
    await runAll();
    expect(sent()).toEqual([[one, one, other]]);
    expect(await queued()).toEqual([]);
    expect(await attempts()).toEqual([
      { outcome: 'delivered', attempt: 1, deltas: 2 },
      { outcome: 'delivered', attempt: 1, deltas: 1 },
    ]);
  });

  it('are signed as a whole, with an id of their own', async () => {
    await recordOfTwo();
    await runAll();
    const [post] = receiver.posted;
    if (!post) throw new Error('nothing was sent');
    const library = new StandardWebhook(application.clientSecret, { format: 'raw' });
    const { deltas } = library.verify(post.body, post.headers as Record<string, string>) as {
      deltas: Delta[];
    };
    expect(deltas.map(({ event_id: id }) => id)).not.toContain(post.headers['webhook-id']);
  });

  it('go to one webhook only', async () => {
    const second = await Receiver.start();
    await createWebhook(server.app, application, second.origin);
    const accountId = newId();
    await record(1, accountId);
    const rows = await database.query<{ id: string }>('select id from hook_job order by id');
    await runTogether(idsOf(rows));
    expect([receiver.posted.length, second.posted.length]).toEqual([1, 1]);
    await second.stop();
  });

  it('have at most 100 events and 256 kB', async () => {
    for (let n = 0; n < 3; n += 1) await record(40, newId());
    await runAll();
    expect(sent().map(({ length }) => length)).toEqual([80, 40]);
    receiver.received.length = 0;
    const [one, other] = await recordOfTwo();
    await database.query(
      `update webhook_event set body = convert_to('{"deltas":[{"a":"' || repeat('x', 100000) || '","object_data":{"account_id":"' || account_id || '"}}]}', 'utf8')
       where account_id = any($1)`,
      [[one, other]],
    );
    await runAll();
    expect(new Set(sent())).toEqual(new Set([[one, one], [other]]));
  });

  it('that fail are one failure of the webhook, and each account is repeated alone', async () => {
    const [one, other] = await recordOfTwo();
    receiver.answers.push({ status: 500 });
    const outcomes = await runAll();
    expect(outcomes.map(({ gate }) => gate?.kind)).toEqual(['trouble', undefined]);
    expect(await health()).toEqual({ failures: 1 });
    expect((await queued()).map(({ attempt }) => attempt)).toEqual([1, 1]);
    await runAll();
    expect(sent()).toEqual([[one, one, other], [one, one], [other]]);
    expect(await queued()).toEqual([]);
  });

  it('that are too large are repeated at once, each account alone, and nothing is dropped', async () => {
    const [one, other] = await recordOfTwo();
    receiver.answers.push({ status: 413 });
    await runAll();
    expect((await queued()).filter(({ inMs }) => inMs > 1_000)).toEqual([]);
    expect(await health()).toEqual({ failures: 0 });
    await runAll();
    expect(sent()).toEqual([[one, one, other], [one, one], [other]]);
    expect(await queued()).toEqual([]);
  });

  it('that fail drop no event before it was tried alone', async () => {
    const [one, other] = await recordOfTwo();
    await database.query(`update webhook_event set created_at = now() - interval '77 hours'`);
    receiver.answers.push({ status: 500 }, { status: 500 }, { status: 200 });
    await runAll();
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['retry', 'retry']);
    await runAll();
    expect(new Set(sent().slice(1))).toEqual(new Set([[one, one], [other]]));
    const [, , ...later] = await attempts();
    expect(new Set(later.map(({ outcome }) => outcome))).toEqual(new Set(['delivered', 'dropped']));
  });

  it('that a receiver answers with 410 stop the webhook, and its events rest', async () => {
    const accounts = await recordOfTwo();
    receiver.answers.push({ status: 410 });
    await runAll();
    expect((await queued()).map(({ subject }) => subject)).toEqual(accounts);
    const [webhook] = await database.query('select state from webhook where id = $1', [webhookId]);
    expect(webhook).toEqual({ state: 'failed' });
  });

  it('are not made for a webhook in trouble, nor with contents', async () => {
    await recordOfTwo();
    await runAll({ gateFailures: 1 });
    expect(
      sent()
        .map(({ length }) => length)
        .toSorted((a, b) => a - b),
    ).toEqual([1, 2]);
    receiver.received.length = 0;
    await database.query(`update webhook set content = 'summary' where id = $1`, [webhookId]);
    await recordOfTwo();
    await runAll();
    expect(
      sent()
        .map(({ length }) => length)
        .toSorted((a, b) => a - b),
    ).toEqual([1, 2]);
  });
});
