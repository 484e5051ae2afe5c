import request from 'supertest';
import { PushUpkeep } from '../../src/accounts/push/push-upkeep.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { PushReceipt } from '../../src/providers/port/connector.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { PushProvider, type RemoteSubscription } from '../support/push-provider.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PER_SECOND = 40;

describe('forged notifications of a provider', () => {
  let server: TestApp;
  let database: Database;
  let provider: PushProvider;
  let account: TestAccount;
  let live: RemoteSubscription;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', PUSH_URL: 'https://carillon.example.com' });
    database = server.app.get(Database);
    provider = await PushProvider.start();
    provider.target = server.url;
    server.app.get(ConnectorRegistry).replace(provider.connector());
    account = await createAccount(server.app, await createApplication(server.app));
    const dispatcher = server.app.get(MailboxSyncDispatcher);
    await syncAccount(server.app, dispatcher, account.id);
    await server.app.get(PushUpkeep).run();
    await syncAccount(server.app, dispatcher, account.id);
    live = provider.first(account.email);
  });
  afterAll(async () => {
    await server.close();
    await provider.stop();
  });

  const state = async () => [
    await database.query('select * from push_subscription order by id'),
    await database.query('select * from sync_job order by id'),
    await database.query('select * from push_pull'),
    [...provider.requests],
    [...provider.reads],
  ];
  const post = (body: string | Buffer, path = '/push/sandbox') =>
    request(server.url).post(path).set('content-type', 'application/json').send(body);
  const about = (subscription: unknown, secret: unknown, event: unknown = 'removed') =>
    JSON.stringify({ notifications: [{ subscription, secret, event }] });

  it('with an unknown subscription and with a wrong secret get the same answer and change nothing', async () => {
    const before = await state();
    const wrong = [
      '',
      'x',
      live.secret.slice(0, -1),
      `${live.secret} `,
      live.secret.toUpperCase(),
      '\0'.repeat(43),
      'x'.repeat(100_000),
    ];
    for (const secret of wrong) {
      const response = await post(about(live.id, secret));
      expect([response.status, response.text]).toEqual([410, '']);
    }
    for (const id of [
      newId(),
      '',
      '\0',
      '\ud800',
      'x'.repeat(100_000),
      `${live.id} `,
      "' or 1=1",
    ]) {
      const response = await post(about(id, live.secret));
      expect([response.status, response.text]).toEqual([410, '']);
    }
    expect(await state()).toEqual(before);
  });

  it('that cannot be read change nothing', async () => {
    const before = await state();
    const bodies = [
      '',
      'null',
      '[]',
      '{',
      '\0',
      '{"notifications":{}}',
      '{"notifications":[null]}',
      about({ $ne: null }, live.secret),
      about(live.id, [live.secret]),
      about(live.id, live.secret, '__proto__'),
      `{"notifications":${'['.repeat(50_000)}`,
    ];
    for (const body of bodies) expect((await post(body)).status).toBe(400);
    expect((await post(Buffer.from([0xff, 0xfe, 0x00]))).status).toBe(400);
    expect((await post(Buffer.alloc(1024 * 1024 + 1, ' '))).status).toBe(413);
    expect(await state()).toEqual(before);
  });

  it('in a batch do not hide a genuine one among the first thousand, and cost one query', async () => {
    const forged = Array.from({ length: 999 }, () => ({
      subscription: newId(),
      secret: 'x',
      event: 'removed',
    }));
    const genuine = { subscription: live.id, secret: live.secret, event: 'changed' };
    const before = await database.query<{ id: string }>('select id from push_subscription');
    expect((await post(JSON.stringify({ notifications: [...forged, genuine] }))).status).toBe(202);
    expect(
      (await post(JSON.stringify({ notifications: [...forged, ...forged, genuine] }))).status,
    ).toBe(410);
    expect(
      await database.query('select id from push_subscription where expires_at > now()'),
    ).toEqual(before);
  });

  it.each(['imap', 'nylas', 'nobody', '__proto__', 'constructor', '%00', '..%2f..%2fconnect'])(
    'to /push/%s reach nothing',
    async (name) => {
      const before = await state();
      expect((await post(about(live.id, live.secret), `/push/${name}`)).status).toBe(404);
      expect((await request(server.url).get(`/push/${name}?challenge=x`)).status).toBe(404);
      expect(await state()).toEqual(before);
    },
  );

  it.each([newId(), 'x', '%00', "'", '..%2f..'])(
    'to an integration %s that does not exist reach nothing',
    async (id) => {
      const before = await state();
      expect((await post(about(live.id, live.secret), `/push/sandbox/${id}`)).status).toBe(404);
      expect(await state()).toEqual(before);
    },
  );

  it('of a handshake are echoed as text, which no browser takes for a page', async () => {
    const text = '<script>alert(1)</script>';
    for (const method of ['get', 'post'] as const) {
      const response = await request(server.url)
        [method]('/push/sandbox')
        .query({ challenge: text });
      expect(response.text).toBe(text);
      expect(response.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
    }
  });

  it('are refused while many others are handled, and later accepted again', async () => {
    const { promise, resolve } = Promise.withResolvers<PushReceipt>();
    const registry = server.app.get(ConnectorRegistry);
    const { push, ...connector } = provider.connector();
    let running = 0;
    const receive = () => {
      running += 1;
      return promise;
    };
    registry.replace({
      ...connector,
      push: Object.assign(Object.create(push ?? null), { receive }),
    });
    const held = Array.from({ length: 16 }, () => post('{}').then(({ status }) => status));
    try {
      await until('all to be handled', async () => running === 16);
      expect((await post('{}')).status).toBe(503);
    } finally {
      resolve({ signals: [], answer: { status: 202 } });
    }
    expect(new Set(await Promise.all(held))).toEqual(new Set([202]));
    registry.replace(provider.connector());
    expect((await post(about(live.id, live.secret, 'changed'))).status).toBe(202);
  });

  it('are limited for each network address', async () => {
    const limited = await startTestApp({
      ROLES: 'api',
      RATE_LIMIT_APPLICATION: String(PER_SECOND),
    });
    try {
      limited.app.get(ConnectorRegistry).replace(provider.connector());
      const sent = Array.from({ length: PER_SECOND * 3 }, () =>
        request(limited.url).post('/push/sandbox').send('{'),
      );
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses).toContain(429);
    } finally {
      await limited.close();
    }
  });
});
