import net from 'node:net';
import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { loggedLines } from '../support/log-watch.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** The timer functions that stay real: all except the clock and `setTimeout`. */
const NOT_TIMEOUTS = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
] as const;

describe('the HTTP interface', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });
  afterAll(() => server.close());
  const client = () => request(server.url);

  it('answers an unknown path with a flat 404 and a request id', async () => {
    const response = await client().get('/nothing-here').set('X-Request-Id', 'abc-1');
    expect(response.status).toBe(404);
    expect(response.body).toEqual({
      message: 'There is nothing at /nothing-here',
      type: 'invalid_request_error',
    });
    expect(response.headers['x-request-id']).toBe('abc-1');
  });

  it.each([
    [
      '/component/123',
      /^There is nothing at \/component\/123. Carillon has no settings of web components/,
    ],
    ['/manage/pages', /^There is nothing at \/manage\/pages. Carillon has no scheduling pages/],
    [
      '/schedule/x/timeslots',
      /^There is nothing at \/schedule\/x\/timeslots. Carillon has no scheduling pages/,
    ],
    ['/scheduled', /^There is nothing at \/scheduled$/],
  ])('says at %s what Carillon does not have', async (path, text) => {
    const { status, body } = await client().get(path).set(ada.bearer);
    expect([status, body.message]).toEqual([404, expect.stringMatching(text)]);
  });

  it.each([
    ['get', '/v3/grants/me/messages?limit=1'],
    ['post', '/v3/grants/me/messages/send'],
    ['put', '/v3/webhooks/1'],
    ['get', '/v3'],
  ] as const)(
    'answers %s %s in the shape that clients for version 3 show',
    async (method, path) => {
      const { status, body } = await client()
        [method](path)
        .set({ authorization: 'Bearer key', 'x-request-id': 'abc-3' });
      expect([status, body]).toEqual([
        404,
        {
          request_id: 'abc-3',
          error: {
            type: 'not_found_error',
            message: expect.stringMatching(/version 2.*docs\/migrating\/from-v3\.md/),
          },
        },
      ]);
    },
  );

  it.each(['/v3/connect/token', '/v3/connect/revoke'])(
    'answers %s as an OAuth error of version 3',
    async (path) => {
      const { status, body } = await client().post(path).send({ code: 'x' });
      expect([status, body]).toEqual([
        404,
        {
          request_id: expect.any(String),
          error: 'not_found_error',
          error_code: 404,
          error_description: expect.stringContaining('docs/migrating/from-v3.md'),
          error_uri: 'docs/migrating/from-v3.md',
        },
      ]);
    },
  );

  it('generates a request id if the client sent none or an invalid one', async () => {
    const none = await client().get('/account').set(ada.bearer);
    expect(none.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const strange = await client().get('/account').set('X-Request-Id', 'a b"c').set(ada.bearer);
    expect(strange.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(['/account', '/messages', '/calendars', '/events', '/v2/outbox', '/job-statuses'])(
    'refuses %s without credentials and with wrong or malformed ones: flat 401 and a challenge',
    async (path) => {
      const refused = [
        client().get(path),
        client().get(path).set('Authorization', 'Bearer nonsense'),
        client().get(path).set('Authorization', 'Bearer a b'),
        client().get(path).set('Authorization', 'Basic ???'),
        client()
          .get(path)
          .set('Authorization', `Basic ${Buffer.from(':').toString('base64')}`),
        client()
          .get(path)
          .set('Authorization', `Basic ${Buffer.from('a\0b:').toString('base64')}`),
        client().get(path).set('Authorization', `Digest ${ada.token}`),
        client().get(`${path}?access_token=${ada.token}`),
        client().get(path).set(application.basic),
      ];
      for (const response of await Promise.all(refused)) {
        expect(response.status).toBe(401);
        expect(response.body).toEqual({
          message: 'Could not verify access credential.',
          type: 'invalid_request_error',
        });
        expect(response.headers['www-authenticate']).toBe(
          'Basic realm="API Access Token Required"',
        );
      }
    },
  );

  it('accepts the authorization scheme in any case', async () => {
    for (const scheme of ['bearer', 'BEARER']) {
      await client().get('/account').set('Authorization', `${scheme} ${ada.token}`).expect(200);
    }
    const encoded = Buffer.from(`${ada.token}:`).toString('base64');
    await client().get('/account').set('Authorization', `basic ${encoded}`).expect(200);
  });

  it('returns errors in an envelope on the integrations address', async () => {
    const response = await client().get('/connect/integrations').set('X-Request-Id', 'r1');
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toMatch(/^Basic/);
    expect(response.body).toEqual({
      success: false,
      error: { type: 'api.authentication_error', message: 'Could not verify access credential.' },
      request_id: 'r1',
    });
  });

  it.each([
    ['PATCH', '/account', 'GET'],
    ['POST', '/job-statuses/1', 'GET'],
    ['DELETE', '/v2/outbox', 'GET, POST'],
    ['DELETE', '/connect/integrations', 'GET, POST'],
  ])('answers %s %s with 405 and lists the allowed methods', async (method, path, allowed) => {
    const response = await client()[method.toLowerCase() as 'patch'](path).set(ada.bearer);
    expect(response.status).toBe(405);
    expect(response.headers['allow']?.split(', ')).toEqual(
      expect.arrayContaining(allowed.split(', ')),
    );
  });

  it('accepts a trailing slash', async () => {
    await client().get('/job-statuses/').set(ada.bearer).expect(200);
  });

  it.each([
    ['limit=abc', /limit/i],
    ['limit=-1', /Limit parameter must be nonnegative/],
    ['limit=1001', /Cannot request more than 1000 resources at once/],
    ['limit=1.5', /limit/i],
    ['offset=-1', /Offset parameter must be nonnegative/],
    ['limit=1&limit=x', /limit/i],
  ])('refuses ?%s', async (query, message) => {
    const response = await client().get(`/job-statuses?${query}`).set(ada.bearer);
    expect(response.status).toBe(400);
    expect(response.body.message).toMatch(message);
  });

  it.each(['/Account', '/MESSAGES', '/CONNECT/grants', '/connect/GRANTS', '/Health/live'])(
    'matches paths by case: %s is unknown',
    async (path) => {
      await client().get(path).set(ada.bearer).expect(404);
    },
  );

  it('answers 400 for a path that cannot be decoded', async () => {
    const response = await client().get('/job-statuses/%E0%A4%A').set(ada.bearer);
    expect(response.status).toBe(400);
  });

  it('returns the request id even if it refuses the body before parsing', async () => {
    const flat = await client()
      .post('/calendars')
      .set({ ...ada.bearer, 'X-Request-Id': 'abc-2' })
      .type('json')
      .send('{');
    expect([flat.status, flat.headers['x-request-id']]).toEqual([400, 'abc-2']);
    const beta = await client()
      .post('/connect/grants')
      .set({ ...application.basic, 'X-Request-Id': 'abc-3' })
      .type('json')
      .send('{');
    expect(beta.body).toEqual({
      success: false,
      error: { type: 'api.invalid_request_payload', message: 'The request body is not valid JSON' },
      request_id: 'abc-3',
    });
  });

  it('refuses a field with too many values by name, before checking its schema', async () => {
    const to = `[${'0,'.repeat(200_000)}0]`;
    const response = await client()
      .post('/v2/outbox')
      .set(ada.bearer)
      .type('json')
      .send(`{"to":${to}}`);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe('to: has more than 100000 values');
  });

  it('answers malformed requests with JSON', async () => {
    const long = await client().get(`/account?x=${'x'.repeat(20_000)}`);
    expect(long.status).toBe(431);
    expect(long.body).toEqual({
      message: 'The address and the headers of the request are too long',
      type: 'invalid_request_error',
    });
    expect(long.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write('no request at all\r\n\r\n');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain(
      '{"message":"This is not an HTTP request","type":"invalid_request_error"}',
    );
  });

  it('forbids caching of its responses', async () => {
    const response = await client().get('/account').set(ada.bearer);
    expect(response.headers['cache-control']).toBe('no-store');
  });

  /** Stops the clock of the rate limits, so that all requests fall into the same second. */
  const withinOneSecond = () => jest.useFakeTimers({ doNotFake: [...NOT_TIMEOUTS] });

  it('limits requests per second, and reports when to retry', async () => {
    const limited = await startTestApp({ ROLES: 'api', RATE_LIMIT_ACCOUNT: '3' });
    try {
      const account = await createAccount(limited.app, await createApplication(limited.app));
      withinOneSecond();
      const responses = await Promise.all(
        Array.from({ length: 5 }, () =>
          request(limited.url).get('/job-statuses').set(account.bearer),
        ),
      );
      const refused = responses.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(2);
      const reported = loggedLines().filter((line) => line.includes('"request.limited"'));
      expect(reported.map((line) => (JSON.parse(line) as { account: string }).account)).toEqual([
        account.id,
      ]);
      expect(refused[0]?.headers['x-ratelimit-limit']).toBe('3');
      expect(refused[0]?.headers['x-ratelimit-reset']).toBe('1');
      expect(refused[0]?.body).toEqual({
        message: 'Too many requests',
        type: 'invalid_request_error',
      });
      // Another endpoint has its own limit.
      await request(limited.url).get('/account').set(account.bearer).expect(200);
      jest.advanceTimersByTime(1_000);
      await request(limited.url).get('/job-statuses').set(account.bearer).expect(200);
    } finally {
      jest.useRealTimers();
      await limited.close();
    }
  });

  it("counts requests with only a client id against the client's address, not against the application", async () => {
    const limited = await startTestApp({
      ROLES: 'api',
      RATE_LIMIT_APPLICATION: '3',
      TRUST_PROXY: '1',
    });
    try {
      const { clientId, secretBasic } = await createApplication(limited.app);
      withinOneSecond();
      const ask = (address: string, client_id: string) =>
        request(limited.url)
          .post('/connect/authorize')
          .set('X-Forwarded-For', address)
          .send({ client_id, name: 'x', provider: 'sandbox' });
      const statuses = await Promise.all(
        Array.from({ length: 5 }, async () => (await ask('198.51.100.7', clientId)).status),
      );
      expect(statuses.filter((status) => status === 429)).toHaveLength(2);
      expect((await ask('198.51.100.7', 'another')).status).toBe(429);
      expect((await ask('198.51.100.8', clientId)).status).not.toBe(429);
      const read = () =>
        request(limited.url).get(`/a/${clientId}?client_id=${clientId}`).set(secretBasic);
      await read().expect(200);
    } finally {
      jest.useRealTimers();
      await limited.close();
    }
  });

  it('serves only health checks in a worker, and only the API that SERVE selects', async () => {
    const worker = await startTestApp({ ROLES: 'worker' });
    const main = await startTestApp({ ROLES: 'api', SERVE: 'main' });
    try {
      await request(worker.url).get('/health/live').expect(200);
      await request(worker.url).get('/account').expect(404);
      await request(main.url).get('/account').expect(401);
      const elsewhere = await request(main.url).get('/connect/grants');
      expect(elsewhere.status).toBe(404);
      expect(elsewhere.body.error.message).toMatch(/is served at the integrations address/);
    } finally {
      await worker.close();
      await main.close();
    }
  });

  it("refuses an application at the other region's address, and names the application's own region", async () => {
    const regional = await startTestApp({
      INTEGRATIONS_URL_US: 'https://us.example.test',
      INTEGRATIONS_URL_EU: 'https://eu.example.test',
    });
    try {
      const { basic } = await createApplication(regional.app);
      const ask = (host: string) =>
        request(regional.url).get('/connect/integrations').set(basic).set('Host', host);
      await ask('us.example.test').expect(200);
      const refused = await ask('eu.example.test');
      expect(refused.status).toBe(403);
      expect(refused.body.error.message).toMatch(
        /belongs to the region us: use https:\/\/us\.example\.test/,
      );
    } finally {
      await regional.close();
    }
  });
});
