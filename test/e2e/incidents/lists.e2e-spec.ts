import request from 'supertest';
import { createWebhook, recordEvent } from '../../support/webhook-fixture.ts';
import { rowsOf } from '../../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../../support/factories.ts';
import { loggedLines } from '../../support/log-watch.ts';
import { createOperator, readAsOperator, type TestOperator } from '../../support/operators.ts';
import { overviewOf } from '../../support/operators-view.ts';
import { Receiver } from '../../support/receiver.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

/** Nothing listens there. */
const CLOSED_PORT = 9;
const IMAP = `127.0.0.1:${CLOSED_PORT} (IMAP)`;
const SMTP = `127.0.0.1:${CLOSED_PORT} (SMTP)`;

interface Item {
  id: string;
  health: string;
  reason: string | null;
}
interface List {
  items: Item[];
}

describe('what the overview names', () => {
  let server: TestApp;
  let application: TestApplication;
  let operator: TestOperator;
  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    operator = await createOperator(server);
  });
  afterAll(() => server.close());

  const unreachable = (): Promise<TestAccount> =>
    createAccount(server.app, application, {
      provider: 'imap',
      mirrored: true,
      settings: Object.fromEntries(
        ['imap', 'smtp'].flatMap((kind) => [
          [`${kind}_host`, '127.0.0.1'],
          [`${kind}_port`, CLOSED_PORT],
          [`${kind}_security`, 'none'],
          [`${kind}_username`, 'ada'],
          [`${kind}_password`, 'a password of this test'],
        ]),
      ),
    });
  const read = <T>(path: string) => readAsOperator<T>(server, operator, `/admin/${path}`);

  it('are accounts by the server that cannot be reached, and the list behind the link has the same ones at once', async () => {
    const accounts = [await unreachable(), await unreachable()];
    const [ada] = accounts;
    const line = await until('both passes have failed', async () =>
      (await overviewOf(server, operator)).find(
        ({ title }) => title === `2 accounts at ${IMAP} cannot be synced`,
      ),
    );
    const { searchParams } = new URL(line.link ?? '', server.url);
    const { items } = await read<List>(`accounts?${searchParams}`);
    expect(items.map(({ id }) => id)).toEqual(accounts.map(({ id }) => id).toSorted());
    for (const { health, reason } of items)
      expect([health, reason]).toEqual([
        'sync-failing',
        expect.stringMatching(`^${escaped(IMAP)}: `),
      ]);
    const page = await request(server.url)
      .get(line.link ?? '')
      .set(operator.cookie);
    expect(page.text).toContain(ada?.email);
    const logged = loggedLines().map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(logged).toContainEqual(
      expect.objectContaining({ incident: 'sync.failed', account: ada?.id, server: IMAP }),
    );

    // A worse problem of the account does not take it off the list.
    await rowsOf(
      server,
      `insert into account_gate (account_id, closed_until, close_reason, failures)
      values ($1, now() + interval '1 hour', 'closed', 1)
      on conflict (account_id) do update set closed_until = excluded.closed_until`,
      [ada?.id],
    );
    const same = await read<List>(`accounts?${searchParams}`);
    expect(same.items.map(({ id }) => id)).toEqual(items.map(({ id }) => id));
    const gated = await read<List>('accounts?health=circuit-open');
    expect(gated.items.map(({ id }) => id)).toEqual([ada?.id]);
  });

  it('is a server of outgoing mail in the timeline of a job and in the log', async () => {
    const ada = await unreachable();
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ subject: 'Hello', to: [{ email: 'bo@example.test' }], body: 'Hello' })
      .expect(202);
    const jobId = String(body.job_status_id);
    const attempt = await until('the first attempt', async () => {
      const { timeline } = await read<{ timeline: { text: string; attempt?: object }[] }>(
        `jobs/${jobId}`,
      );
      return timeline.find((entry) => entry.attempt);
    });
    expect(attempt).toMatchObject({
      text: expect.stringContaining(`over the account's provider, ${SMTP}, failed`),
      attempt: { server: SMTP },
    });
    const logged = loggedLines().map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(logged).toContainEqual(
      expect.objectContaining({ incident: 'send.delayed', job: jobId, server: SMTP }),
    );
  });

  it('are deliveries that fail, and the list of unwell webhooks has their webhook at once', async () => {
    const receiver = await Receiver.start();
    receiver.behave = (response) => response.writeHead(500).end();
    const ids: string[] = [];
    for (const path of ['one', 'two', 'three'])
      ids.push(await createWebhook(server.app, application, `${receiver.origin}/${path}`));
    await recordEvent(server.app, application);
    const line = await until('the overview names the deliveries', async () =>
      (await overviewOf(server, operator)).find(({ title }) =>
        /to deliver webhooks failed/.test(title),
      ),
    );
    const { searchParams } = new URL(line.link ?? '', server.url);
    const { items } = await read<List>(`webhooks?${searchParams}`);
    expect(items.map((item) => item.id).toSorted()).toEqual(ids.toSorted());
    await receiver.stop();
  });

  it('are messages in quarantine, and the list of quarantined jobs has them while they are still tried', async () => {
    const ada = await createAccount(server.app, application);
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({
        subject: 'Later',
        to: [{ email: 'bo@sandbox.test' }],
        body: 'Later',
        send_at: Math.floor(Date.now() / 1000) + 3_600,
      })
      .expect(202);
    await rowsOf(server, 'update send_job set crashes = 1 where account_id = $1', [ada.id]);
    const line = (await overviewOf(server, operator)).find(({ title }) =>
      title.includes('in quarantine'),
    );
    const { searchParams } = new URL(line?.link ?? '', server.url);
    const { items } = await read<List>(`jobs?${searchParams}`);
    expect(items.map(({ id }) => id)).toEqual([body.job_status_id]);
  });
});

const escaped = (text: string): string => text.replaceAll(/[()]/g, String.raw`\$&`);
