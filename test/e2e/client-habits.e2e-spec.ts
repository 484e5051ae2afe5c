import net from 'node:net';
import { text } from 'node:stream/consumers';
import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const bo = { email: 'bo@example.test' };
const later = () => Math.floor(Date.now() / 1000) + 7200;

describe('requests and responses, as the official clients send and read them', () => {
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

  describe('the media type of JSON', () => {
    it.each([
      ['a list', () => client().get('/job-statuses').set(ada.bearer), 200],
      ['an object', () => client().get('/account').set(ada.bearer), 200],
      [
        'a new message',
        () =>
          client()
            .post('/v2/outbox')
            .set(ada.bearer)
            .send({ to: [bo], send_at: later() }),
        202,
      ],
      ['an error', () => client().get('/nothing-here'), 404],
      ['a refused token', () => client().get('/account'), 401],
      [
        'a refused body',
        () => client().post('/calendars').set(ada.bearer).type('json').send('{'),
        400,
      ],
      ['an error of the integrations address', () => client().get('/connect/grants'), 401],
      [
        'a list of the integrations address',
        () => client().get('/connect/grants').set(application.basic),
        200,
      ],
      [
        'an application',
        () => client().get(`/a/${application.clientId}`).set(application.secretBasic),
        200,
      ],
      ['a health check', () => client().get('/health/ready'), 200],
      ['the API document', () => client().get('/openapi.json'), 200],
      [
        'a request with headers that are too long',
        () => client().get(`/account?x=${'x'.repeat(20_000)}`),
        431,
      ],
    ] as const)('is exactly application/json in the response to %s', async (_, send, status) => {
      const response = await send();
      expect(response.status).toBe(status);
      expect(response.headers['content-type']).toBe('application/json');
      expect(response.headers['content-length']).toBe(String(Buffer.byteLength(response.text)));
      expect(() => JSON.parse(response.text) as unknown).not.toThrow();
    });

    it('is exactly application/json in the response to something that is not HTTP', async () => {
      const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.write('no request at all\r\n\r\n');
      expect(await text(socket)).toContain('\r\nContent-Type: application/json\r\n');
    });

    it('goes with a length and no body in the response to HEAD', async () => {
      const { headers, text: body } = await client().head('/account').set(ada.bearer).expect(200);
      expect(headers['content-type']).toBe('application/json');
      expect(Number(headers['content-length'])).toBeGreaterThan(0);
      expect(body ?? '').toBe('');
    });
  });

  describe('the charset of a request', () => {
    const create = async (type: string, bytes: Buffer) => {
      const headers = { ...ada.bearer, 'content-type': type };
      const response = await fetch(`${server.url}/calendars`, {
        method: 'POST',
        headers,
        body: new Uint8Array(bytes),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };

    it.each(['utf', 'UTF8', 'utf-8', 'UTF-8', '"utf-8"', 'klingon', 'utf-16', ''])(
      'is ignored if it says %s: JSON is UTF-8',
      async (charset) => {
        const bytes = Buffer.from('{"name":"Grüße 🙂"}');
        const response = await create(`application/json; charset=${charset}`, bytes);
        expect(response.status).toBe(200);
        expect(response.body['name']).toBe('Grüße 🙂');
      },
    );

    it('does not matter to a body that begins with a byte order mark', async () => {
      const response = await create('application/json', Buffer.from('\ufeff{"name":"Marked"}'));
      expect(response.body['name']).toBe('Marked');
    });

    it('cannot be another one: bytes that are not UTF-8 are refused, and nothing is created', async () => {
      const count = async () =>
        ((await client().get('/calendars').set(ada.bearer)).body as { name: string }[]).length;
      const before = await count();
      for (const type of ['application/json', 'application/json; charset=iso-8859-1']) {
        const response = await create(type, Buffer.from('{"name":"Gr\u00fc\u00dfe"}', 'latin1'));
        expect(response.status).toBe(400);
        expect(response.body).toEqual({
          message: 'The request body must be encoded in UTF-8',
          type: 'invalid_request_error',
        });
      }
      expect(await count()).toBe(before);
    });
  });

  describe('a repeated query parameter', () => {
    it('counts with its last value', async () => {
      const list = (query: string) => client().get(`/threads?${query}`).set(ada.bearer);
      const { body } = await list('view=expanded&not_in=trash&view=count').expect(200);
      expect(body).toEqual({ count: 0 });
      expect((await list('view=count&limit=1000000&limit=1').expect(200)).body).toEqual({
        count: 0,
      });
      expect((await list('unread=maybe&unread=true').expect(200)).body).toEqual([]);
      expect((await list('unread=true&unread=maybe')).status).toBe(400);
    });

    it('stays a list if it is one', async () => {
      for (const name of ['One', 'Two', 'Three'])
        await client().post('/calendars').set(ada.bearer).send({ name, metadata: { name } });
      const query = 'metadata_pair=name:One&metadata_pair=name:Two&view=count';
      const { body } = await client().get(`/calendars?${query}`).set(ada.bearer).expect(200);
      expect(body).toEqual({ count: 2 });
    });

    it('is refused where OAuth is spoken, which does not allow it', async () => {
      const { clientId: client_id, clientSecret: client_secret } = application;
      const query = new URLSearchParams({ client_id, client_secret, code: 'a' });
      query.append('code', 'b');
      const { status, body } = await client().get(`/oauth/token?${query.toString()}`);
      expect(status).toBe(400);
      expect(body.message).toMatch(/^code: /);
    });
  });

  describe('/outbox without /v2', () => {
    it('lists, creates, changes and cancels messages like /v2/outbox', async () => {
      const created = await client()
        .post('/outbox')
        .set(ada.bearer)
        .set('Idempotency-Key', 'short-path')
        .send({ to: [bo], subject: 'One', send_at: later() });
      expect(created.status).toBe(202);
      const id = created.body.job_status_id as string;
      const changed = await client().put(`/outbox/${id}`).set(ada.bearer).send({ subject: 'Two' });
      expect(changed.body.original_data.subject).toBe('Two');
      const patched = await client()
        .patch(`/outbox/${id}`)
        .set(ada.bearer)
        .send({ subject: 'Three' });
      expect(patched.status).toBe(200);
      const listed = await client().get('/outbox?limit=1000').set(ada.bearer).expect(200);
      expect(listed.body).toContainEqual(expect.objectContaining({ job_status_id: id }));
      expect(listed.body).toEqual(
        (await client().get('/v2/outbox?limit=1000').set(ada.bearer)).body,
      );
      await client().delete(`/outbox/${id}`).set(ada.bearer).expect(200);
      const status = await client().get(`/job-statuses/${id}`).set(ada.bearer);
      expect(status.body.status).toBe('cancelled');
      await client().get('/outbox/onboard/verified_status').set(ada.bearer).expect(200);
    });

    it('is the same request for an Idempotency-Key', async () => {
      const body = { to: [bo], subject: 'Once', send_at: later() };
      const post = (path: string) =>
        client().post(path).set(ada.bearer).set('Idempotency-Key', 'both-paths').send(body);
      const first = await post('/outbox');
      const second = await post('/v2/outbox');
      expect(second.headers['idempotent-replayed']).toBe('true');
      expect(second.body.job_status_id).toBe(first.body.job_status_id);
    });

    it('needs the same credentials, and says the same about methods', async () => {
      await client().get('/outbox').expect(401);
      const { status, headers } = await client().delete('/outbox').set(ada.bearer);
      expect(status).toBe(405);
      expect(headers['allow']).toBe('GET, POST');
      await client().get('/outboxes').set(ada.bearer).expect(404);
      await client().get('/v2/v2/outbox').set(ada.bearer).expect(404);
    });
  });
});
