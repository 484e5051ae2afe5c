import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const KB = 1024;
const names = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `"n${index}":0`).join(',')}}`;

describe('request bodies', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', TRUST_PROXY: '1' });
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    request(server.url)
      .post(path)
      .set({ 'content-type': 'application/json', ...headers })
      .send(body);

  it.each([
    ['account', '/drafts'],
    ['application', '/connect/integrations'],
    ['application in the path', '/a/unknown/webhooks'],
    ['operator', '/admin/accounts/unknown/pause'],
  ])('are not read for a wrong %s', async (_, path) => {
    for (const body of ['{', names(99_000)])
      expect((await post(path, body, { authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('are read for an account, up to the usual size, if it sends them in chunks', async () => {
    const body = JSON.stringify({ subject: 'x', body: 'y'.repeat(5 * KB * KB) });
    const response = await fetch(`${server.url}/drafts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...ada.bearer },
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(200);
    expect(((await response.json()) as { body: string }).body).toHaveLength(5 * KB * KB);
  });

  it('may have 300,000 values, of which each name of a field counts as five', async () => {
    const refused = await post('/drafts', names(61_000), ada.bearer);
    expect(refused.status).toBe(413);
    expect(refused.body.message).toContain('each name of a field counts as 5');
    expect((await post('/drafts', names(59_000), ada.bearer)).status).not.toBe(413);
  });

  it('may have 64 kB on routes without credentials', async () => {
    const body = (length: number) =>
      JSON.stringify({ client_id: application.clientId, name: 'x'.repeat(length) });
    const large = await post('/connect/authorize', body(64 * KB));
    expect(large.status).toBe(413);
    expect(large.body).toEqual({
      message: 'The request body is too large',
      type: expect.any(String),
    });
    expect((await post('/connect/authorize', body(60 * KB))).status).toBe(400);
  });

  it('are limited to 4 MB a second from one client address without credentials', async () => {
    const send = (address: string) =>
      post('/connect/authorize', JSON.stringify({ name: 'x'.repeat(63 * KB) }), {
        'x-forwarded-for': address,
      });
    // A slow machine needs several rounds until 4 MB arrive within one second.
    const refused: request.Response[] = [];
    for (let rounds = 0; rounds < 20 && refused.length === 0; rounds += 1) {
      const sent = Array.from({ length: 100 }, () => send('198.51.100.7'));
      refused.push(...(await Promise.all(sent)).filter(({ status }) => status === 429));
    }
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect((await send('198.51.100.8')).status).toBe(400);
  });
});
