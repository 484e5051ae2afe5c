import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { loggedLines } from '../support/log-watch.ts';
import { createOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const IGNORED = 'x-carillon-ignored';

describe('query parameters that an endpoint does not know', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let earlierLines: number;

  beforeAll(async () => {
    earlierLines = loggedLines().length;
    server = await startTestApp();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);
  const lines = () => loggedLines().slice(earlierLines);
  const logged = (name: string) =>
    lines().filter((line) => line.includes(`ignored the unknown query parameter ${name} `));

  it('have no effect, and the response names them and the nearest known name', async () => {
    const { status, body, headers } = await get('/messages?unred=true&limit=5');
    expect({ status, body: body as unknown }).toEqual({ status: 200, body: [] });
    expect(headers[IGNORED]).toBe('unred');
    expect(headers['warning']).toBe(
      '299 - "Unknown query parameters were ignored: unred (did you mean unread?)"',
    );
  });

  it('are refused by the admin API, with the nearest known name', async () => {
    const operator = await createOperator(server);
    const { status, body } = await request(server.url)
      .get('/admin/jobs?recipent=bo@example.test')
      .set(operator.bearer);
    expect(status).toBe(400);
    expect((body as { message: string }).message).toMatch(
      /^Unknown query parameters: recipent \(did you mean recipient\?\); known here: /,
    );
  });

  it('are not reported if there are none', async () => {
    for (const path of [
      '/messages?unread=true',
      '/messages',
      '/account',
      '/delta/latest_cursor?',
    ]) {
      const { headers } = await get(path);
      expect([headers[IGNORED], headers['warning']]).toEqual([undefined, undefined]);
    }
  });

  it('do not include what official clients send with every read of deltas', async () => {
    const { body } = await request(server.url).post('/delta/latest_cursor').set(ada.bearer);
    const cursor = (body as { cursor: string }).cursor;
    const { status, headers } = await get(
      `/delta?cursor=${cursor}&includeTypes=message&limit=100&offset=0`,
    );
    expect([status, headers[IGNORED]]).toEqual([200, undefined]);
  });

  it('do not include the limit and offset with which official clients read one object', async () => {
    for (const path of [
      '/messages/nope',
      '/messages/nope,none',
      '/drafts/nope',
      '/contacts/nope',
    ]) {
      const { status, headers } = await get(`${path}?limit=100&offset=0`);
      expect([path, status, headers[IGNORED]]).toEqual([path, 404, undefined]);
    }
    const { headers } = await get('/account?limit=100');
    expect(headers[IGNORED]).toBe('limit');
  });

  it.each([
    ['an endpoint without parameters', '/account?view=ids', 200, 'view'],
    ['a refused request', '/messages?limit=-1&offsett=2', 400, 'offsett'],
    ['an object that does not exist', '/job-statuses/nope?expand=true', 404, 'expand'],
  ])('are reported by %s', async (_, path, status, name) => {
    const response = await get(path);
    expect([response.status, response.headers[IGNORED]]).toEqual([status, name]);
  });

  it('are reported for changes, and on the integrations address', async () => {
    const created = await request(server.url)
      .post('/calendars?notify=true')
      .set(ada.bearer)
      .send({ name: 'Team' });
    expect([created.status, created.headers[IGNORED]]).toEqual([200, 'notify']);
    const grants = await request(server.url)
      .get('/connect/grants?providr=sandbox')
      .set(application.basic);
    expect(grants.headers['warning']).toContain('providr (did you mean provider?)');
  });

  it('are reported to callers with valid credentials only', async () => {
    const { status, headers } = await request(server.url).get('/messages?unred=true');
    expect([status, headers[IGNORED]]).toEqual([401, undefined]);
  });

  it('are not reported by OAuth and by pages, which must ignore them', async () => {
    for (const path of [
      '/oauth/token?unred=1',
      '/oauth/authorize?unred=1',
      '/connect/login?unred=1',
    ])
      expect((await request(server.url).get(path)).headers[IGNORED]).toBeUndefined();
  });

  it('cannot put anything else into the headers, whatever they are called', async () => {
    const names = ['a"b', 'a, b', 'x\r\nSet-Cookie: y', 'é', '\u0000', '__proto__', '"; x="', ''];
    const query = names.map((name) => `${encodeURIComponent(name)}=1`).join('&');
    const { headers } = await get(`/account?${query}`);
    expect(headers[IGNORED]).toBe(
      'a%22b, a%2C%20b, x%0D%0ASet-Cookie%3A%20y, %C3%A9, %00, __proto__, %22%3B%20x%3D%22',
    );
    expect(headers['warning']).toMatch(/^299 - "[^"]*"$/);
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('take little room in the headers, however many and long they are', async () => {
    const long = await get(`/account?${'🙂'.repeat(500)}=1`);
    expect(long.status).toBe(200);
    expect(long.headers[IGNORED]?.length).toBeLessThanOrEqual(40 * 9);
    const many = Array.from({ length: 900 }, (_each, index) => `name${index}=1`).join('&');
    const { headers } = await get(`/messages?${many}`);
    expect(headers[IGNORED]?.split(', ')).toHaveLength(10);
    expect(headers['warning']?.length).toBeLessThan(1_000);
  });

  describe('in the log', () => {
    it('appear once for each endpoint and name, without their values', async () => {
      for (let time = 0; time < 3; time += 1) await get('/threads?unredd=value-of-it');
      await get('/drafts?unredd=value-of-it');
      expect(logged('unredd')).toHaveLength(2);
      expect(logged('unredd')[0]).toContain('ThreadsController.list');
      expect(lines().join('')).not.toContain('value-of-it');
    });

    it('appear at most twenty times for an endpoint', async () => {
      for (let at = 0; at < 50; at += 10) {
        const query = Array.from({ length: 10 }, (_each, index) => `flood${at + index}=1`);
        await get(`/files?${query.join('&')}`);
      }
      expect(lines().filter((line) => line.includes('parameter flood'))).toHaveLength(20);
    });

    it('do not appear if they may be secrets', async () => {
      const name = 'n0tAParameter'.repeat(4);
      await get(`/contacts?${name}`);
      expect(lines().join('')).not.toContain(name.slice(0, 30));
    });
  });

  it.each([
    ['events', 'starts_after', 'starts_before'],
    ['events', 'ends_after', 'ends_before'],
    ['events', 'starts_after', 'ends_before'],
    ['events', 'updated_at_after', 'updated_at_before'],
    ['messages', 'received_after', 'received_before'],
    ['messages', 'started_after', 'started_before'],
    ['drafts', 'last_message_after', 'last_message_before'],
    ['drafts', 'started_message_after', 'started_message_before'],
    ['threads', 'last_updated_after', 'last_updated_before'],
  ])(
    '%s: %s and %s may be equal, but are refused if no object can be between them',
    async (list, from, to) => {
      expect((await get(`/${list}?${from}=100&${to}=100`)).status).toBe(200);
      const refused = await get(`/${list}?${from}=100&${to}=99`);
      expect([refused.status, refused.body.message]).toEqual([
        400,
        `${to}: must not be earlier than ${from}`,
      ]);
    },
  );

  describe('with STRICT_REQUESTS=true', () => {
    let strict: TestApp;
    let bo: TestAccount;
    beforeAll(async () => {
      strict = await startTestApp({ STRICT_REQUESTS: 'true' });
      bo = await createAccount(strict.app, await createApplication(strict.app));
    });
    afterAll(() => strict.close());

    it('are refused with the nearest known name, and nothing is changed', async () => {
      const list = () => request(strict.url).get('/calendars?view=count').set(bo.bearer);
      const before = (await list()).body as unknown;
      const listed = await request(strict.url).get('/messages?unred=true').set(bo.bearer);
      expect(listed.status).toBe(400);
      expect(listed.body).toMatchObject({
        message: expect.stringMatching(
          /^Unknown query parameters: unred \(did you mean unread\?\); known here: limit, offset, view, /,
        ),
        type: 'invalid_request_error',
      });
      const created = await request(strict.url)
        .post('/calendars?x=1')
        .set(bo.bearer)
        .send({ name: 'Team' });
      expect(created.status).toBe(400);
      expect(created.body.message).toBe(
        'Unknown query parameters: x; this endpoint has no query parameters',
      );
      expect((await list()).body).toEqual(before);
    });

    it('are still ignored by OAuth, as its standard wants', async () => {
      const { status, body } = await request(strict.url).get('/oauth/token?unred=1');
      expect(status).toBe(400);
      expect(body.message).toMatch(/client_id is required/);
    });
  });
});
