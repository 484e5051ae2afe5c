import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { createApplication } from '../support/factories.ts';
import {
  googleSide,
  microsoftSide,
  type StubSide,
  type WrittenAccount,
} from '../support/held-writes/write-side.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** Messages on which the provider has failed are requested again at once. */
const REQUEST_AGAIN = 'update sync_failure set retry_at = now() where retry_at > now()';
const FAILURES = 'select reason from sync_failure where retry_at is not null';

describe.each([
  ['Google', googleSide],
  ['Microsoft', microsoftSide],
])('a message that %s reports before it can be read', (_name, start) => {
  let side: StubSide;
  let server: TestApp;
  let account: WrittenAccount;

  beforeAll(async () => {
    side = await start();
    server = await startTestApp({ SYNC_POLL_SECONDS: '1', ...side.environment });
    account = await side.connect(server, await createApplication(server.app));
    await until('the folders', async () => (await list(`/${side.unit}s`)).length > 0);
  });
  afterAll(async () => {
    await server.close();
    await side.stop();
  });

  const list = async (path: string): Promise<{ subject: string }[]> =>
    (await request(server.url).get(path).set(account.bearer)).body;
  const failures = () => server.app.get(Database).query(FAILURES);

  it('appears when it is requested again, without an audit', async () => {
    await side.deliver('First');
    await until('the first', async () => (await list('/messages')).length === 1);
    const { stub, notFound } = side.side;
    const match = side.side.isContent.bind(side.side);
    stub.faults.add({ match, answer: notFound, times: 1e6 });
    await side.deliver('Late');
    await until('a failure', async () => (await failures()).length > 0);
    expect(await failures()).toEqual([
      { reason: 'the provider has reported the message, and does not find it' },
    ]);
    stub.faults.clear();
    await server.app.get(Database).query(REQUEST_AGAIN);
    await until('the second', async () => (await list('/messages')).length === 2);
    expect((await list('/messages')).map(({ subject }) => subject)).toEqual(['Late', 'First']);
    await until('no failure', async () => (await failures()).length === 0);
  });

  it('counts as gone when it is not found by two more requests', async () => {
    const { stub, notFound } = side.side;
    const match = side.side.isContent.bind(side.side);
    stub.faults.add({ match, answer: notFound, times: 1e6 });
    const reason = async () => String((await failures())[0]?.['reason']);
    await side.deliver('Gone');
    await until('a failure', async () => (await reason()).includes('has reported'));
    await server.app.get(Database).query(REQUEST_AGAIN);
    await until('a second failure', async () => (await reason()).includes('is asked once more'));
    await server.app.get(Database).query(REQUEST_AGAIN);
    await until('no failure', async () => (await failures()).length === 0);
    expect((await list('/messages')).map(({ subject }) => subject)).not.toContain('Gone');
    stub.faults.clear();
  });
});
