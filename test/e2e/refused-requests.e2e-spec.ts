import request from 'supertest';
import { OverviewService } from '../../src/operator/overview/overview.service.ts';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { pruneRefusals, RefusalRecorder } from '../../src/platform/refusals/refusal-recorder.ts';
import { refusals } from '../../src/platform/refusals/refusals.ts';
import { rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { loggedLines, secret } from '../support/log-watch.ts';
import { createOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('refused requests', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    // What other tests of this process have counted.
    refusals.take();
    server = await startTestApp({ ROLES: 'api', RATE_LIMIT_ACCOUNT: '3', TRUST_PROXY: '1' });
    application = await createApplication(server.app, { name: 'Acme CRM' });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
  });
  afterEach(async () => {
    await server.app.get(RefusalRecorder, { strict: false }).store();
    await rowsOf(server, 'delete from refusal');
  });

  const store = () => server.app.get(RefusalRecorder, { strict: false }).store();
  const bearer = (token: string) => ({ authorization: `Bearer ${secret('a token', token)}` });
  const times = <T>(count: number, work: () => Promise<T>) =>
    Promise.all(Array.from({ length: count }, work));
  const get = async (headers: Record<string, string>, path = '/account', from = '192.0.2.7') =>
    (await request(server.url).get(path).set(headers).set('x-forwarded-for', from)).status;
  /** Stores what was counted, and reads it as operators see it. */
  const seen = async () => {
    await store();
    // The service keeps what it has read for some seconds.
    const overview = new OverviewService(
      server.app.get(Database) as never,
      { disk: async () => null } as never,
      { worrying: async () => [] } as never,
      { failing: async () => [] } as never,
      server.app.get<AppConfig>(APP_CONFIG),
    );
    return (await overview.read()).refusals;
  };

  it('above the limit of an account name the account and its application', async () => {
    const statuses = await times(40, () => get(ada.bearer));
    const refused = statuses.filter((status) => status === 429).length;
    expect(await seen()).toEqual([
      {
        kind: 'limit',
        refused,
        beganAt: expect.any(Date),
        seenAt: expect.any(Date),
        account: { id: ada.id, email: ada.email },
        application: { clientId: application.clientId, name: 'Acme CRM' },
        client: null,
      },
    ]);
  });

  it('with a revoked token name the account whose token it was', async () => {
    await rowsOf(server, 'update access_token set revoked_at = now() where grant_id = $1', [
      ada.id,
    ]);
    expect(await times(6, () => get(ada.bearer))).toEqual(Array(6).fill(401));
    await store();
    const logged = loggedLines().map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(logged).toContainEqual(
      expect.objectContaining({
        incident: 'login.refused',
        account: ada.id,
        client: '192.0.2.7',
        msg: expect.stringContaining('6 requests with a token that was revoked or has expired'),
      }),
    );
    await times(6, () => get(ada.bearer, '/messages', '192.0.2.8'));
    expect(await seen()).toMatchObject([
      { kind: 'login', refused: 12, account: { id: ada.id }, client: null },
    ]);
  });

  it('with an unknown token name the network address', async () => {
    await times(12, () => get(bearer('no-such-token-of-anybody')));
    expect(await seen()).toMatchObject([
      { kind: 'login', refused: 12, account: null, application: null, client: '192.0.2.7' },
    ]);
  });

  it('with a wrong secret name the application that they name, and the network address', async () => {
    const wrong = Buffer.from(`${application.clientId}:wrong-secret`).toString('base64');
    const path = '/connect/integrations';
    await times(12, () => get({ authorization: `Basic ${wrong}` }, path));
    expect(await seen()).toMatchObject([
      { kind: 'login', refused: 12, application: { name: 'Acme CRM' }, client: '192.0.2.7' },
    ]);
  });

  it('are no concern if they are few, or over for five minutes', async () => {
    await times(9, () => get(bearer('few-wrong-tokens-here')));
    expect(await seen()).toEqual([]);
    await get(bearer('few-wrong-tokens-here'));
    expect(await seen()).toHaveLength(1);
    await rowsOf(server, `update refusal set seen_at = now() - interval '6 min'`);
    expect(await seen()).toEqual([]);
    // The count goes on if the sender comes back soon, and begins again after a quarter of an hour.
    await get(bearer('few-wrong-tokens-here'));
    expect(await seen()).toMatchObject([{ refused: 11 }]);
    await rowsOf(server, `update refusal set seen_at = now() - interval '16 min'`);
    await get(bearer('few-wrong-tokens-here'));
    expect(await seen()).toEqual([]);
  });

  it('of very many senders are stored for the worst twenty only, and for an hour', async () => {
    await times(30, async () => get(bearer('a-token-of-many-clients'), '/account', address()));
    await store();
    const rows = () => rowsOf<{ client: string }>(server, 'select client from refusal');
    expect(await rows()).toHaveLength(20);
    await rowsOf(server, `update refusal set seen_at = now() - interval '61 min'`);
    expect(await pruneRefusals(server.app.get(Database), new Date())).toBe(20);
  });

  it('need no statement while nothing is refused, and survive texts that the database refuses', async () => {
    await store();
    const never = { query: () => Promise.reject(new Error('a statement')) };
    await new RefusalRecorder(never as never, {} as never).store();
    const strange = Buffer.from('a\0b:wrong').toString('base64');
    await get({ authorization: `Basic ${strange}` }, '/connect/integrations');
    await store();
    expect(await rowsOf(server, 'select client from refusal')).toEqual([{ client: '192.0.2.7' }]);
  });

  it('are shown to operators on the overview of the console', async () => {
    const { cookie } = await createOperator(server);
    await times(40, () => get(ada.bearer));
    await store();
    const page = await request(server.url).get('/console').set(cookie).expect(200);
    expect(page.text).toMatch(/\d+ requests above a limit within 1 min: account /);
    expect(page.text).toContain(`/console/accounts/${ada.id}`);
  });

  let clients = 0;
  const address = () => `198.51.100.${(clients += 1)}`;
});
