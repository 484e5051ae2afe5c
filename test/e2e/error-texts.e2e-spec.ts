import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECONDS = 'must be between 0 and 253402300799';
const KEY = 'k'.repeat(41);
const to = [{ email: 'bo@example.test' }];

describe('the error text for a value out of range', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  it.each<[string, string, string, object]>([
    [
      'post',
      '/calendars',
      `metadata.${KEY}: keys must not be longer than 40 characters`,
      { name: 'x', metadata: { [KEY]: 'v' } },
    ],
    ['post', '/calendars', 'metadata.: must not be empty', { name: 'x', metadata: { '': 'v' } }],
    [
      'post',
      '/calendars',
      'metadata.a: values must not be longer than 500 characters',
      { name: 'x', metadata: { a: 'v'.repeat(501) } },
    ],
    ['post', '/v2/outbox', `send_at: ${SECONDS}`, { to, send_at: 1_900_000_000_000 }],
    ['post', '/v2/outbox', `send_at: ${SECONDS}`, { to, send_at: '12345678901234567890' }],
    ['post', '/v2/outbox', `send_at: ${SECONDS}`, { to, send_at: -1 }],
    [
      'post',
      '/v2/outbox',
      'subject: must not be longer than 2000 characters',
      { to, subject: 'x'.repeat(2_001) },
    ],
    ['post', '/delta/generate_cursor', `start: ${SECONDS}`, { start: 1e15 }],
    [
      'get',
      '/messages?limit=12345678901234567890',
      'limit: Cannot request more than 1000 resources at once.',
      {},
    ],
    [
      'get',
      '/messages?limit=-12345678901234567890',
      'limit: Limit parameter must be nonnegative.',
      {},
    ],
    [
      'get',
      '/messages?offset=12345678901234567890',
      'offset: must be between 0 and 9007199254740991',
      {},
    ],
    ['get', '/events?starts_after=12345678901234567890', `starts_after: ${SECONDS}`, {}],
    ['get', `/delta/longpoll?cursor=0&timeout=1801`, 'timeout: must be between 0 and 1800', {}],
    [
      'get',
      `/contacts?email=${'x'.repeat(256)}`,
      'email: must not be longer than 255 characters',
      {},
    ],
  ])('of %s %s names the field and the range: %s', async (verb, path, message, body) => {
    const response = await request(server.url)[verb as 'post'](path).set(ada.bearer).send(body);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(message);
  });

  it.each<[string, string, string, object]>([
    [
      'post',
      '/connect/grants',
      `metadata.${KEY}: keys must not be longer than 40 characters`,
      { provider: 'sandbox', settings: { email: 'x@sandbox.test' }, metadata: { [KEY]: 1 } },
    ],
    [
      'post',
      '/connect/integrations',
      'settings.imap_port: must be between 1 and 65535',
      { name: 'I', provider: 'imap', settings: { imap_port: 70_000 } },
    ],
    [
      'post',
      '/connect/integrations',
      'expires_in: must be between 61 and 315359999',
      { name: 'I', provider: 'sandbox', expires_in: 60 },
    ],
    [
      'get',
      '/connect/grants?limit=12345678901234567890',
      'limit: Cannot request more than 1000 resources at once.',
      {},
    ],
  ])(
    'of %s %s at the integrations address names the field and the range: %s',
    async (verb, path, message, body) => {
      const response = await request(server.url)
        [verb as 'post'](path)
        .set(application.basic)
        .send(body);
      expect(response.status).toBe(400);
      expect(response.body.error.message).toBe(message);
    },
  );

  it('names the field and the range of settings that belong to a kind of service', async () => {
    const settings = { host: 'smtp.example.test', port: 70_000, security: 'tls', portt: 1 };
    const response = await request(server.url)
      .put(`/a/${application.clientId}/relay`)
      .set(application.secretBasic)
      .send({ kind: 'smtp', settings });
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      'settings.port: must be between 1 and 65535; settings: must not contain portt (did you mean port?); allowed: host, port, security, username, password',
    );
  });
});
