import { createHmac } from 'node:crypto';
import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { agreeable, eventIds, Receiver, type ReceiverBehaviour } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

describe('webhooks', () => {
  let server: TestApp;
  let receiver: Receiver;
  let application: TestApplication;
  let database: Database;

  beforeAll(async () => {
    server = await startTestApp();
    database = server.app.get(Database);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    receiver = await Receiver.start();
    application = await createApplication(server.app);
  });
  afterEach(() => receiver.stop());

  const path = (suffix = '', of = application) => `/a/${of.clientId}/webhooks${suffix}`;
  const call = (method: 'get' | 'post' | 'put' | 'delete', suffix = '', as = application) =>
    request(server.url)[method](path(suffix, as)).set(as.secretBasic);
  const valid = (overrides: Record<string, unknown> = {}) => ({
    callback_url: `${receiver.origin}/hook`,
    triggers: ['job.successful', 'job.failed'],
    ...overrides,
  });
  const create = (body: object = valid(), as = application) => call('post', '', as).send(body);
  const stored = async () => {
    const rows = await database.query<{ callbackUrl: string; state: string }>(
      'select callback_url as "callbackUrl", state from webhook where application_id = $1 order by id',
      [application.id],
    );
    return rows.map(({ callbackUrl, state }) => `${state} ${callbackUrl}`);
  };
  const state = async (id: string) => (await call('get', `/${id}`)).body.state as string;
  const set = (id: string, to: string) => call('put', `/${id}`).send({ state: to });
  const rowOf = async (id: string) => {
    const [row] = await database.query('select * from webhook where id = $1', [id]);
    return row;
  };

  describe('management', () => {
    it('creates a webhook after the challenge, and lists, reads and deletes it', async () => {
      const { status, body } = await create();
      expect(status).toBe(200);
      expect(body).toEqual({
        id: expect.any(String),
        application_id: application.clientId,
        delivery: 'push',
        callback_url: `${receiver.origin}/hook`,
        state: 'active',
        triggers: ['job.successful', 'job.failed'],
        filters: null,
        content: 'ids',
        version: '2.0',
      });
      expect(receiver.received).toHaveLength(1);
      expect(receiver.received[0]).toMatchObject({ method: 'GET' });
      expect(receiver.received[0]?.url).toMatch(/^\/hook\?challenge=[0-9a-z]{40}$/);
      expect((await call('get')).body).toEqual([body]);
      expect((await call('get', `/${body.id}`)).body).toEqual(body);
      const deleted = await call('delete', `/${body.id}`).type('text/plain').send('{}');
      expect([deleted.status, deleted.body]).toEqual([200, { success: true }]);
      expect((await call('get', `/${body.id}`)).status).toBe(404);
      expect((await call('delete', `/${body.id}`)).status).toBe(404);
      expect((await call('get')).body).toEqual([]);
    });

    it('keeps the query of the address, drops its fragment and repeated triggers, and accepts JSON sent as text/plain', async () => {
      const { status, body } = await call('post')
        .type('text/plain')
        .send(
          JSON.stringify(
            valid({
              callback_url: `${receiver.origin}/h?a=b%20c#x`,
              triggers: ['job.failed', 'job.failed'],
            }),
          ),
        );
      expect(status).toBe(200);
      expect(body).toMatchObject({
        callback_url: `${receiver.origin}/h?a=b%20c`,
        triggers: ['job.failed'],
      });
      expect(receiver.received[0]?.url).toMatch(/^\/h\?a=b%20c&challenge=\w+$/);
    });

    it('accepts triggers under the names of the constants of the Java client', async () => {
      const { body } = await create(
        valid({ triggers: ['AccountSyncError', 'JobFailed', 'message.link_clicked'] }),
      );
      expect(body.triggers).toEqual(['account.sync_error', 'job.failed', 'message.link_clicked']);
    });

    it('stores an inactive webhook without a challenge', async () => {
      const { body } = await create(valid({ state: 'inactive' }));
      expect(body.state).toBe('inactive');
      expect(receiver.received).toHaveLength(0);
    });

    it('returns pages, ids and a count', async () => {
      const made: string[] = [];
      for (const name of ['a', 'b', 'c'])
        made.push(
          (await create(valid({ callback_url: `${receiver.origin}/${name}`, state: 'inactive' })))
            .body.id as string,
        );
      const list = async (query: string) => (await call('get', `?${query}`)).body as unknown;
      expect(await list('view=ids')).toEqual(made);
      expect(await list('view=ids&limit=1&offset=1')).toEqual([made[1]]);
      expect(await list('view=count&limit=1')).toEqual({ count: 3 });
      expect(await list('limit=2')).toMatchObject([{ id: made[0] }, { id: made[1] }]);
      expect(await list('limit=0')).toEqual([]);
      expect(await list('offset=9')).toEqual([]);
      for (const wrong of ['limit=-1', 'limit=x', 'limit=1001', 'offset=-1', 'view=expanded'])
        expect((await call('get', `?${wrong}`)).status).toBe(400);
    });

    it.each<[string, Record<string, unknown>, RegExp]>([
      ['no callback_url', { callback_url: undefined }, /^callback_url is required/],
      ['no triggers', { triggers: undefined }, /^triggers is required/],
      ['null callback_url', { callback_url: null }, /callback_url/],
      ['a number as callback_url', { callback_url: 5 }, /callback_url/],
      ['an empty callback_url', { callback_url: '' }, /^callback_url must be an https address/],
      [
        'a callback_url that is not an address',
        { callback_url: 'hooks' },
        /^callback_url must be an https address/,
      ],
      [
        'http to a public host',
        { callback_url: 'http://example.com/' },
        /^callback_url must be an https address/,
      ],
      [
        'a private address',
        { callback_url: 'https://10.0.0.1/' },
        /^callback_url must have a public host/,
      ],
      [
        'the metadata service',
        { callback_url: 'http://169.254.169.254/' },
        /^callback_url must have a public host/,
      ],
      [
        'credentials',
        { callback_url: 'https://a:b@example.com/' },
        /^callback_url must not contain a user name/,
      ],
      [
        'an address that is too long',
        { callback_url: `https://example.com/${'a'.repeat(3000)}` },
        /2048/,
      ],
      [
        'an unknown trigger',
        { triggers: ['job.failed', 'job.exploded'] },
        /triggers\.1.*unknown trigger "job\.exploded"/,
      ],
      ['a number as trigger', { triggers: [1] }, /unknown trigger 1/],
      ['an empty list of triggers', { triggers: [] }, /^triggers/],
      ['a string as triggers', { triggers: 'job.failed' }, /^triggers/],
      ['an unknown state', { state: 'sleeping' }, /^state/],
      ['a state that only the server sets', { state: 'failed' }, /^state/],
    ])('refuses %s', async (_, overrides, message) => {
      const { status, body } = await create(valid(overrides));
      expect(status).toBe(400);
      expect(body).toMatchObject({
        type: 'invalid_request_error',
        message: expect.stringMatching(message),
      });
      expect(await stored()).toEqual([]);
      expect(receiver.received).toHaveLength(0);
    });

    it('refuses bodies that are not objects', async () => {
      for (const wrong of ['[]', '"x"', '5', 'null', '{'])
        expect((await call('post').type('json').send(wrong)).status).toBe(400);
    });

    it('allows one webhook per address, even for simultaneous requests', async () => {
      await create();
      const again = await create(valid({ callback_url: `${receiver.origin.toUpperCase()}/hook` }));
      expect([again.status, again.body.type]).toEqual([409, 'invalid_request_error']);
      const other = valid({ callback_url: `${receiver.origin}/other` });
      const both = await Promise.all([create(other), create(other)]);
      expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
      expect(await stored()).toHaveLength(2);
      // another application may use the same address
      expect((await create(valid(), await createApplication(server.app))).status).toBe(200);
    });

    it("needs the application's credentials", async () => {
      const { body } = await create();
      const stranger = await createApplication(server.app);
      const account = await createAccount(server.app, application);
      const id = body.id as string;
      for (const [method, suffix] of [
        ['get', `/${id}`],
        ['put', `/${id}`],
        ['delete', `/${id}`],
        ['get', `/${id}/deliveries`],
      ] as const) {
        expect((await call(method, suffix, stranger).send({ state: 'inactive' })).status).toBe(404);
        for (const headers of [stranger.secretBasic, account.bearer, application.basic, {}])
          expect((await request(server.url)[method](path(suffix)).set(headers)).status).toBe(401);
      }
      expect((await call('get', '', stranger)).body).toEqual([]);
      expect(await state(id)).toBe('active');
    });

    it.each(['nope', '0', `${newId()}x`, newId(), '%00', encodeURIComponent("' or 1=1 --")])(
      'answers 404 for the id %s',
      async (id) => {
        expect((await call('get', `/${id}`)).status).toBe(404);
        expect((await set(id, 'active')).status).toBe(404);
        expect((await call('delete', `/${id}`)).status).toBe(404);
        expect((await call('get', `/${id}/deliveries`)).status).toBe(404);
      },
    );
  });

  describe('challenge', () => {
    const reply =
      (status: number, body: (challenge: string) => string): ReceiverBehaviour =>
      (response, { url }) =>
        response.writeHead(status).end(body(url.split('challenge=')[1] ?? ''));
    it.each<[string, ReceiverBehaviour, RegExp]>([
      ['another body', reply(200, () => 'hello'), /not exactly the challenge/],
      ['an empty body', reply(200, () => ''), /not exactly the challenge/],
      [
        'a line break after the challenge',
        reply(200, (challenge) => `${challenge}\n`),
        /not exactly the challenge/,
      ],
      [
        'the challenge as JSON',
        reply(200, (challenge) => JSON.stringify(challenge)),
        /not exactly the challenge/,
      ],
      ['status 201', reply(201, (challenge) => challenge), /answered 201 instead of 200/],
      ['status 404', reply(404, (challenge) => challenge), /answered 404 instead of 200/],
      [
        'a redirect',
        (response, { url }) =>
          response.writeHead(302, { location: url.replace('/hook', '/elsewhere') }).end(),
        /answered 302 instead of 200/,
      ],
      [
        'a connection reset',
        (_response, _request, socket) => socket.resetAndDestroy(),
        /connection broke/,
      ],
    ])(
      'answers 400 with the reason if the receiver responds with %s, stores nothing and does not try again',
      async (_, behave, reason) => {
        receiver.behave = behave;
        const { status, body } = await create();
        expect(status).toBe(400);
        expect(body).toMatchObject({
          type: 'invalid_request_error',
          message: expect.stringMatching(/^callback_url did not pass the challenge: /),
        });
        expect(body.message).toMatch(reason);
        expect(await stored()).toEqual([]);
        expect(receiver.received).toHaveLength(1);
      },
    );

    it('answers 400 after ten seconds if the receiver does not respond', async () => {
      receiver.behave = () => undefined;
      const { status, body } = await create();
      expect([status, body.message]).toEqual([
        400,
        'callback_url did not pass the challenge: no complete response within 10000 ms',
      ]);
      expect(await stored()).toEqual([]);
    });

    it('answers 400 if the receiver cannot be reached', async () => {
      const wanted = valid();
      await receiver.stop();
      const { status, body } = await create(wanted);
      receiver = await Receiver.start();
      expect([status, body.message]).toEqual([
        400,
        expect.stringMatching(/no connection \(ECONNREFUSED\)/),
      ]);
    });
  });

  describe('PUT', () => {
    let id: string;
    beforeEach(async () => {
      id = (await create()).body.id as string;
      receiver.received.length = 0;
    });

    it('deactivates without a challenge and activates with one', async () => {
      expect((await set(id, 'inactive')).body).toMatchObject({ id, state: 'inactive' });
      expect(receiver.received).toHaveLength(0);
      expect((await set(id, 'active')).body).toMatchObject({ id, state: 'active' });
      expect(receiver.received).toHaveLength(1);
      expect((await set(id, 'active')).status).toBe(200); // an active webhook is challenged again
      expect(receiver.received).toHaveLength(2);
    });

    it('changes nothing when the challenge fails', async () => {
      await set(id, 'inactive');
      const before = await rowOf(id);
      receiver.behave = (response) => response.writeHead(500).end();
      const { status, body } = await set(id, 'active');
      expect([status, body.message]).toEqual([400, expect.stringContaining('answered 500')]);
      expect(await rowOf(id)).toEqual(before);
    });

    it('changes only the state', async () => {
      const before = await rowOf(id);
      for (const [wrong, message] of [
        [{}, /state is required/],
        [{ state: 'failed' }, /state/],
        [{ state: 'failing' }, /state/],
        [{ state: null }, /state/],
        [{ state: 1 }, /state/],
        [
          { state: 'inactive', callback_url: `${receiver.origin}/new` },
          /callback_url cannot be changed/,
        ],
        [{ state: 'inactive', triggers: ['job.failed'] }, /triggers cannot be changed/],
        [{ state: 'inactive', triggers: 'job.failed' }, /triggers cannot be changed/],
      ] as const) {
        const { status, body } = await call('put', `/${id}`).send(wrong);
        expect([status, body.message]).toEqual([400, expect.stringMatching(message)]);
      }
      expect(await rowOf(id)).toEqual(before);
      // unchanged fields may be sent back
      const { body } = await call('get', `/${id}`);
      expect((await call('put', `/${id}`).send({ ...body, state: 'inactive' })).status).toBe(200);
    });

    it('clears the counters of a failing webhook', async () => {
      await database.query(
        `update webhook set state = 'failing', failing_since = now(), failures = 7 where id = $1`,
        [id],
      );
      expect(await state(id)).toBe('failing');
      expect((await set(id, 'active')).body.state).toBe('active');
      expect(await rowOf(id)).toMatchObject({ failures: 0, failing_since: null });
    });
  });

  describe('deliveries', () => {
    const delivered = (count: number) =>
      until(`${count} deliveries`, () =>
        Promise.resolve(receiver.posted.length >= count && receiver.posted),
      );
    const attempts = async (id: string) =>
      (await call('get', `/${id}/deliveries`)).body as Record<string, unknown>[];

    it('go only to webhooks with the trigger, as signed JSON', async () => {
      const { body: webhook } = await create();
      await create(
        valid({ callback_url: `${receiver.origin}/other`, triggers: ['event.created'] }),
      );
      await create(valid({ callback_url: `${receiver.origin}/off`, state: 'inactive' }));
      await create(valid(), await createApplication(server.app));
      expect(await recordEvent(server.app, application)).toBe(true);
      expect(await recordEvent(server.app, application, { trigger: 'calendar.created' })).toBe(
        false,
      );
      const [delivery] = await delivered(1);
      expect(delivery?.url).toBe('/hook');
      expect(delivery?.headers['x-nylas-signature']).toBe(
        createHmac('sha256', application.clientSecret)
          .update(delivery?.body ?? '')
          .digest('hex'),
      );
      const [attempt] = await until('the attempt in the list', async () => {
        const list = await attempts(webhook.id);
        return list.length > 0 && list;
      });
      expect(attempt).toEqual({
        id: expect.any(String),
        event_id: delivery?.headers['webhook-id'],
        account_id: expect.any(String),
        deltas: 1,
        first_sequence: expect.any(Number),
        last_sequence: expect.any(Number),
        trigger: 'job.failed',
        attempt: 1,
        started_at: expect.any(Number),
        took_ms: expect.any(Number),
        http_status: 200,
        outcome: 'delivered',
        detail: null,
        next_attempt_at: null,
      });
      expect(receiver.posted).toHaveLength(1);
    });

    it('are tried again after five seconds, and both attempts are listed newest first', async () => {
      receiver.behave = (response, request, socket) =>
        receiver.posted.length === 1
          ? response.writeHead(500).end('secret words of the receiver')
          : agreeable(response, request, socket);
      const { body: webhook } = await create();
      await recordEvent(server.app, application);
      await delivered(2);
      const list = await until('both attempts', async () => {
        const list = await attempts(webhook.id);
        return list.length === 2 && list;
      });
      expect(list).toMatchObject([
        { attempt: 2, outcome: 'delivered', http_status: 200 },
        { attempt: 1, outcome: 'retry', http_status: 500, detail: 'the receiver answered 500' },
      ]);
      expect(list[1]?.['next_attempt_at']).toBeGreaterThan(list[1]?.['started_at'] as number);
      expect(JSON.stringify(list)).not.toContain('secret words');
      const [first, second] = receiver.posted;
      expect(second?.body).toEqual(first?.body);
      expect((await call('get', `/${webhook.id}/deliveries?limit=1&offset=1`)).body).toEqual([
        list[1],
      ]);
      expect((await call('get', `/${webhook.id}/deliveries?limit=x`)).status).toBe(400);
    });

    it('reach other receivers without delay if one receiver does not respond', async () => {
      const hanging = await Receiver.start();
      try {
        hanging.behave = () => undefined;
        await createWebhook(server.app, application, hanging.origin);
        await create();
        for (let round = 0; round < 20; round++) await recordEvent(server.app, application);
        await until('20 events', () => Promise.resolve(eventIds(receiver.posted).length === 20));
        // a receiver has only its share of deliveries in flight, however many wait
        expect(hanging.posted.length).toBeLessThanOrEqual(16);
      } finally {
        await hanging.stop();
      }
    });

    it('include each missed event once after a failed webhook is activated again', async () => {
      const { body: webhook } = await create();
      const id = webhook.id as string;
      await recordEvent(server.app, application);
      await delivered(1);
      await until('the attempt in the list', async () => (await attempts(id)).length === 1);
      await database.query(
        `update webhook set state = 'failed', failing_since = now(), failures = 9 where id = $1`,
        [id],
      );
      for (let round = 0; round < 3; round++) await recordEvent(server.app, application);
      await database.query(
        `update webhook_event set id = overlay(id::text placing '01800000-0000' from 1 for 13)::uuid
         where seq = (select min(seq) + 1 from webhook_event where application_id = $1)`,
        [application.id],
      ); // one event is older than 72 hours
      expect((await set(id, 'active')).body.state).toBe('active');
      await until('three attempts', async () => (await attempts(id)).length === 3);
      const ids = eventIds(receiver.posted);
      expect(ids).toHaveLength(3);
      expect(new Set(ids).size).toBe(3);
      const [open] = await database.query<{ count: number }>(
        'select count(*)::int as count from hook_job where webhook_id = $1',
        [id],
      );
      expect(open?.count).toBe(0);
    });

    it('include no events from the time when a webhook was inactive', async () => {
      const { body: webhook } = await create();
      const other = await create(valid({ callback_url: `${receiver.origin}/keeps-events` }));
      expect(other.status).toBe(200);
      await set(webhook.id, 'inactive');
      await recordEvent(server.app, application);
      await delivered(1);
      await set(webhook.id, 'active');
      // the replay after a failure does not send these events either
      await database.query(`update webhook set state = 'failed' where id = $1`, [webhook.id]);
      await set(webhook.id, 'active');
      await recordEvent(server.app, application);
      await delivered(3);
      expect(receiver.posted.filter(({ url }) => url === '/hook')).toHaveLength(1);
    });
  });
});
