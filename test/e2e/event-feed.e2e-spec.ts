import { createHmac } from 'node:crypto';
import http from 'node:http';
import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { endLanes } from '../../src/platform/webhooks/delivery/lane.repository.ts';
import { pruneWebhookEvidence } from '../../src/platform/webhooks/events/prune-webhook-evidence.ts';
import { FeedWatch } from '../../src/platform/webhooks/feed/feed-watch.ts';
import { rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { eventIds, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent, recordEvents } from '../support/webhook-fixture.ts';

interface Delta {
  event_id: string;
  sequence: number;
  previous_sequence: number | null;
  type: string;
  cursor: string;
  object_data: { account_id: string };
}
interface Page {
  cursor_start: string;
  cursor_end: string;
  deltas: Delta[];
  has_more: boolean;
}

describe('the feed of a webhook', () => {
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
  });

  const api = (method: 'get' | 'post' | 'put', path: string, body?: object, as = application) =>
    request(server.url)[method](`/a/${application.clientId}${path}`).set(as.secretBasic).send(body);
  const ok = async <T>(...parameters: Parameters<typeof api>): Promise<T> => {
    const { status, body } = await api(...parameters);
    expect([status, body.message]).toEqual([200, undefined]);
    return body;
  };
  const pull = async (more: object = {}): Promise<string> =>
    (
      await ok<{ id: string }>('post', '/webhooks', {
        delivery: 'pull',
        triggers: ['job.failed'],
        ...more,
      })
    ).id;
  const read = (id: string, query = '') => ok<Page>('get', `/events?webhook_id=${id}${query}`);
  const record = (count = 1, trigger: 'job.failed' | 'job.successful' = 'job.failed') =>
    recordEvents(server.app, application, count, { trigger });
  const ack = (webhook_id: string, cursor: string, more: object = {}) =>
    api('post', '/events/ack', { webhook_id, cursor, ...more });

  describe('pull webhooks', () => {
    it('are created without an address and a challenge, several for one application', async () => {
      const first = await pull();
      const second = await pull();
      expect(first).not.toBe(second);
      const body = await ok<object>('get', `/webhooks/${first}`);
      expect(body).toEqual({
        id: first,
        application_id: application.clientId,
        delivery: 'pull',
        filters: null,
        content: 'ids',
        callback_url: null,
        state: 'active',
        triggers: ['job.failed'],
        version: '2.0',
        feed: { cursor: null, acknowledged_at: null, waiting: 0, waiting_is_more: false },
      });
      expect(await ok('get', '/webhooks')).toHaveLength(2);
      expect(await ok('put', `/webhooks/${first}`, { state: 'inactive' })).toMatchObject({
        state: 'inactive',
      });
      expect(await ok('put', `/webhooks/${first}`, { state: 'active' })).toMatchObject({
        state: 'active',
      });
    });

    it.each([
      [{ triggers: ['job.failed'] }, 'callback_url is required'],
      [{ triggers: ['job.failed'], delivery: 'push' }, 'callback_url is required'],
      [
        { triggers: ['job.failed'], delivery: 'pull', callback_url: 'https://a.example/' },
        'callback_url: must be left out',
      ],
      [{ triggers: ['job.failed'], delivery: 'poll' }, 'delivery: must be push or pull'],
    ])('are refused if delivery and address do not agree: %j', async (body, message) => {
      const answer = await api('post', '/webhooks', body);
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain(message);
      expect(await ok('get', '/webhooks')).toEqual([]);
    });

    it('get no deliveries', async () => {
      await pull();
      await recordEvent(server.app, application);
      expect(await rowsOf(server, 'select 1 from hook_job')).toEqual([]);
    });
  });

  describe('GET /events', () => {
    it('returns the events of the triggers in order, page by page, and each once', async () => {
      const id = await pull();
      expect(await read(id)).toEqual({
        cursor_start: '0',
        cursor_end: '0',
        deltas: [],
        has_more: false,
      });
      await record(3);
      await record(2, 'job.successful');
      await record(2);
      const first = await read(id, '&limit=3');
      expect(first.deltas).toHaveLength(3);
      expect(first.has_more).toBe(true);
      const second = await read(id, `&limit=3&cursor=${first.cursor_end}`);
      expect(second).toMatchObject({ cursor_start: first.cursor_end, has_more: false });
      expect(second.deltas).toHaveLength(2);
      const all = [...first.deltas, ...second.deltas];
      const numbers = all.map(({ sequence }) => sequence);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      expect(new Set(all.map(({ event_id: event }) => event)).size).toBe(5);
      expect(all.every(({ type }) => type === 'job.failed')).toBe(true);
      expect((await read(id, `&cursor=${second.cursor_end}`)).deltas).toEqual([]);
      const [, , third] = all;
      expect((await read(id, `&cursor=${third?.cursor}`)).deltas).toEqual(second.deltas);
    });

    it('moves the cursor past events that the webhook does not want', async () => {
      const id = await pull({ triggers: ['account.invalid'] });
      await pull();
      await record(3);
      const page = await read(id);
      expect(page.deltas).toEqual([]);
      expect(page.cursor_end).not.toBe('0');
      expect((await read(id, `&cursor=${page.cursor_end}`)).cursor_end).toBe(page.cursor_end);
    });

    it('numbers events with that of the previous one of their account, also across pages', async () => {
      const id = await pull({ triggers: ['job.failed', 'job.successful'] });
      await record(2);
      const database = server.app.get(Database);
      const account = newId();
      await database.query('update webhook_event set account_id = $2 where application_id = $1', [
        application.id,
        account,
      ]);
      const [first, second] = (await read(id)).deltas;
      expect(first?.previous_sequence).toBeNull();
      expect(second?.previous_sequence).toBe(first?.sequence);
      const again = await read(id, `&cursor=${first?.cursor}`);
      expect(again.deltas[0]?.previous_sequence).toBe(first?.sequence);
    });

    it('has no events from before the subscription', async () => {
      const other = await pull();
      await record(2);
      const id = await pull();
      await record(1);
      expect((await read(id)).deltas).toHaveLength(1);
      expect((await read(other)).deltas).toHaveLength(3);
    });

    it('can be read for a push webhook, with the ids of its deliveries', async () => {
      const receiver = await Receiver.start();
      const id = await createWebhook(server.app, application, `${receiver.origin}/hook`);
      await record(1);
      await until('the delivery', async () => receiver.received.length > 0);
      const { deltas } = await read(id);
      expect(deltas.map(({ event_id: event }) => event)).toEqual([
        receiver.received[0]?.headers['webhook-id'],
      ]);
      await receiver.stop();
    });

    it('refuses a webhook of another application, an inactive one, and wrong values', async () => {
      const id = await pull();
      const stranger = await createApplication(server.app);
      const foreign = await request(server.url)
        .get(`/a/${stranger.clientId}/events?webhook_id=${id}`)
        .set(stranger.secretBasic);
      expect(foreign.status).toBe(404);
      expect((await api('get', `/events?webhook_id=${newId()}`)).status).toBe(404);
      expect((await api('get', '/events?webhook_id=x')).status).toBe(404);
      expect((await api('get', '/events')).status).toBe(400);
      for (const query of ['limit=0', 'limit=1001', 'timeout=-1', 'timeout=1801', 'cursor=abc'])
        expect([query, (await api('get', `/events?webhook_id=${id}&${query}`)).status]).toEqual([
          query,
          400,
        ]);
      await ok('put', `/webhooks/${id}`, { state: 'inactive' });
      const inactive = await api('get', `/events?webhook_id=${id}`);
      expect([inactive.status, inactive.body.message]).toEqual([
        409,
        expect.stringContaining('inactive'),
      ]);
    });

    it('refuses a cursor of another webhook, and one that a restored database does not know', async () => {
      const [id, other] = [await pull(), await pull()];
      await record(2);
      const { cursor_end: cursor, deltas } = await read(id);
      expect((await api('get', `/events?webhook_id=${other}&cursor=${cursor}`)).status).toBe(400);
      await server.app
        .get(Database)
        .query(
          `update webhook_event set created_at = created_at + interval '1 second' where seq = $1`,
          [deltas.at(-1)?.sequence],
        );
      expect((await api('get', `/events?webhook_id=${id}&cursor=${cursor}`)).status).toBe(400);
    });

    it('answers 410 when events after the cursor were deleted, and reads on from cursor 0', async () => {
      const id = await pull();
      await record(2);
      const { deltas } = await read(id);
      await prune(server.app.get(Database), application);
      const expired = await api('get', `/events?webhook_id=${id}&cursor=${deltas[0]?.cursor}`);
      expect([expired.status, expired.body.message]).toEqual([
        410,
        expect.stringContaining('cursor=0'),
      ]);
      const last = deltas.at(-1)?.cursor ?? '';
      expect((await read(id, `&cursor=${last}`)).deltas).toEqual([]);
      await record(1);
      expect((await read(id, '&cursor=0')).deltas).toHaveLength(1);
      expect((await read(id, `&cursor=${last}`)).deltas).toHaveLength(1);
    });
  });

  describe('POST /events/ack', () => {
    it('stores where later reads begin, and shows what waits behind it', async () => {
      const id = await pull();
      await record(3);
      const { deltas } = await read(id);
      const answer = await ack(id, deltas[1]?.cursor ?? '');
      expect(answer.body).toEqual({ webhook_id: id, cursor: deltas[1]?.cursor, moved: true });
      const next = await read(id);
      expect(next.cursor_start).toBe(deltas[1]?.cursor);
      expect(next.deltas).toEqual([deltas[2]]);
      expect(await ok('get', `/webhooks/${id}`)).toMatchObject({
        feed: {
          cursor: deltas[1]?.cursor,
          acknowledged_at: expect.any(Number),
          waiting: 1,
          waiting_is_more: false,
        },
      });
    });

    it('never moves back, unless the request says so', async () => {
      const id = await pull();
      await record(2);
      const [first, second] = (await read(id)).deltas.map(({ cursor }) => cursor);
      await ack(id, second ?? '');
      const late = await ack(id, first ?? '');
      expect(late.body).toEqual({ webhook_id: id, cursor: second, moved: false });
      expect((await read(id)).deltas).toEqual([]);
      const back = await ack(id, first ?? '', { rewind: true });
      expect(back.body).toEqual({ webhook_id: id, cursor: first, moved: true });
      expect((await read(id)).deltas).toHaveLength(1);
      expect((await ack(id, '0', { rewind: true })).body.moved).toBe(true);
      expect((await read(id)).deltas).toHaveLength(2);
    });

    it('refuses what is no cursor of the webhook', async () => {
      const [id, other] = [await pull(), await pull()];
      await record(1);
      const { cursor_end: cursor } = await read(id);
      expect((await ack(other, cursor)).status).toBe(400);
      expect((await ack(id, 'abc')).status).toBe(400);
      expect((await ack(newId(), cursor)).status).toBe(404);
      expect((await api('post', '/events/ack', { webhook_id: id })).status).toBe(400);
    });
  });

  describe('POST /webhooks/{id}/test', () => {
    it('puts an example into the feed of a pull webhook, and into no other one', async () => {
      const [id, other] = [await pull(), await pull({ triggers: ['message.created'] })];
      const answer = await api('post', `/webhooks/${id}/test`, { trigger: 'message.created' });
      expect(answer.body).toMatchObject({ event_id: expect.any(String), delivered: null });
      const { deltas } = await read(id);
      expect(deltas).toMatchObject([
        { event_id: answer.body.event_id, type: 'message.created', test: true },
      ]);
      expect((await read(other)).deltas).toEqual([]);
    });

    it('sends a signed example to a push webhook and reports what the receiver answered', async () => {
      const receiver = await Receiver.start();
      const id = await createWebhook(server.app, application, `${receiver.origin}/hook`);
      const sent = await api('post', `/webhooks/${id}/test`, { trigger: 'job.failed' });
      expect(sent.body).toMatchObject({ delivered: true, http_status: 200, detail: null });
      const [delivery] = receiver.received;
      expect(delivery?.headers['webhook-id']).toBe(sent.body.event_id);
      const signature = createHmac('sha256', application.clientSecret)
        .update(delivery?.body ?? '')
        .digest('hex');
      expect(delivery?.headers['x-nylas-signature']).toBe(signature);
      expect(JSON.parse(String(delivery?.body))).toMatchObject({
        deltas: [{ type: 'job.failed', test: true }],
      });
      await receiver.stop();
      const gone = await api('post', `/webhooks/${id}/test`, { trigger: 'job.failed' });
      expect(gone.body).toMatchObject({ delivered: false, http_status: null });
      expect((await api('post', `/webhooks/${id}/test`, { trigger: 'no.such' })).status).toBe(400);
      expect(
        (await api('post', `/webhooks/${newId()}/test`, { trigger: 'job.failed' })).status,
      ).toBe(404);
    });
  });

  describe('POST /webhooks/{id}/replay', () => {
    it('delivers one event, a span, or what failed again, and says how many', async () => {
      const receiver = await Receiver.start();
      const id = await createWebhook(server.app, application, `${receiver.origin}/hook`);
      await record(2);
      const delivered = () => eventIds(receiver.posted);
      const confirmed = async () =>
        (await ok<{ outcome: string }[]>('get', `/webhooks/${id}/deliveries`)).length;
      await until('both deliveries', async () => (await confirmed()) === 2);
      const [first] = delivered();
      const replay = (body: object) => api('post', `/webhooks/${id}/replay`, body);
      expect((await replay({ event_id: first })).body).toMatchObject({ matched: 1, queued: 1 });
      await until(
        'the replay',
        async () => delivered().filter((one) => one === first).length === 2,
      );
      await until('its result', async () => (await confirmed()) === 3);
      expect((await replay({ failed: true })).body).toMatchObject({ matched: 0, queued: 0 });
      const now = Math.floor(Date.now() / 1000);
      expect((await replay({ since: now - 3600, until: now - 1800 })).body).toMatchObject({
        queued: 0,
      });
      expect((await replay({ since: now - 3600 })).body).toMatchObject({ matched: 2, queued: 2 });
      for (const body of [{}, { failed: true, since: now }, { until: now }, { failed: false }])
        expect([body, (await replay(body)).status]).toEqual([body, 400]);
      expect((await replay({ event_id: newId() })).status).toBe(404);
      const answer = await api('post', `/webhooks/${await pull()}/replay`, { failed: true });
      expect(answer.status).toBe(409);
      await receiver.stop();
    });
  });

  describe('the header carillon-replay', () => {
    let receiver: Receiver;
    beforeEach(async () => {
      receiver = await Receiver.start();
    });
    afterEach(() => receiver.stop());

    const hook = () => createWebhook(server.app, application, `${receiver.origin}/hook`);
    const replay = (id: string, body: object) => api('post', `/webhooks/${id}/replay`, body);
    /** What has arrived, in order: the id of each event, and the header. */
    const arrived = () =>
      receiver.posted.flatMap((post) =>
        eventIds([post]).map((event) => [event, post.headers['carillon-replay']]),
      );
    const results = async (id: string, count: number) =>
      until('the results', async () => {
        const { body } = await api('get', `/webhooks/${id}/deliveries`);
        return (body as unknown[]).length === count;
      });

    it('is on each attempt of a replay, with the id of the event, and on no first delivery', async () => {
      const id = await hook();
      await record();
      await results(id, 1);
      const [[event] = []] = arrived();
      receiver.answers.push({ status: 503, headers: { 'retry-after': '1' } });
      await replay(id, { event_id: event });
      await results(id, 3);
      expect(arrived()).toEqual([
        [event, undefined],
        [event, 'true'],
        [event, 'true'],
      ]);
      await record();
      await results(id, 4);
      expect(arrived()[3]?.[1]).toBeUndefined();
    });

    it('is on the events of a span', async () => {
      const id = await hook();
      await record(2);
      await results(id, 2);
      await replay(id, { since: Math.floor(Date.now() / 1000) - 3600 });
      await results(id, 4);
      const [first, second, ...again] = arrived();
      expect([first?.[1], second?.[1]]).toEqual([undefined, undefined]);
      expect(again.map(([, header]) => header)).toEqual(['true', 'true']);
      expect(new Set(again.map(([event]) => event))).toEqual(new Set([first?.[0], second?.[0]]));
    });

    it('is on failed events that are delivered again, but not if their own attempt was still due', async () => {
      const id = await hook();
      receiver.answers.push({ status: 500 }, { status: 410 });
      await record();
      await results(id, 1);
      await replay(id, { failed: true });
      await results(id, 2);
      expect(arrived().map(([, header]) => header)).toEqual([undefined, undefined]);
      await server.app.get(Database).transaction(async (sql) => {
        await endLanes(sql);
        await sql.query('delete from hook_job where webhook_id = $1', [id]);
        await sql.query(`update webhook set state = 'active' where id = $1`, [id]);
      });
      expect((await replay(id, { failed: true })).body).toMatchObject({ queued: 1 });
      await results(id, 3);
      expect(arrived()[2]?.[1]).toBe('true');
    });
  });

  const waiting = () => server.app.get(FeedWatch).size;
  const idle = () => until('no request to wait', async () => waiting() === 0);

  describe('waiting', () => {
    it('returns as soon as there is an event, or after the timeout', async () => {
      const id = await pull();
      const poll = read(id, '&timeout=60').then((page) => page);
      await until('the request to wait', async () => waiting() === 1);
      await record(1);
      expect((await poll).deltas).toHaveLength(1);
      expect((await read(id, `&timeout=1&cursor=${(await poll).cursor_end}`)).deltas).toEqual([]);
      await idle();
    });

    it('ends soon after the webhook was deleted or made inactive', async () => {
      const id = await pull();
      const poll = api('get', `/events?webhook_id=${id}&timeout=60`).then((answer) => answer);
      await until('the request to wait', async () => waiting() === 1);
      await ok('put', `/webhooks/${id}`, { state: 'inactive' });
      expect((await poll).status).toBe(409);
      await idle();
    });

    it('allows 20 requests of one application at the same time', async () => {
      const id = await pull();
      const control = new AbortController();
      const poll = (signal?: AbortSignal) =>
        fetch(`${server.url}/a/${application.clientId}/events?webhook_id=${id}&timeout=60`, {
          headers: application.secretBasic,
          signal: signal ?? null,
        });
      const polls = Array.from({ length: 20 }, () => poll(control.signal).catch(() => undefined));
      await until('twenty requests to wait', async () => waiting() === 20);
      const refused = await poll();
      expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, '20']);
      control.abort();
      await Promise.all(polls);
      await idle();
    });

    it('streams past and new events as lines, with heartbeats', async () => {
      const id = await pull();
      await record(1);
      const sent = http.get(
        `${server.url}/a/${application.clientId}/events/streaming?webhook_id=${id}`,
        { headers: application.secretBasic, agent: false },
      );
      const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve).once('error', reject);
      });
      expect(response.headers['content-type']).toMatch(/^text\/event-stream/);
      let text = '';
      response
        .on('data', (chunk: Buffer) => (text += chunk.toString()))
        .on('error', () => undefined);
      const lines = () => text.split('\n').slice(0, -1);
      const deltas = () =>
        lines()
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Delta);
      await until('the first event', async () => deltas().length === 1);
      await record(1);
      await until('the second event', async () => deltas().length === 2);
      expect(deltas()[1]?.cursor).toBe((await read(id)).cursor_end);
      sent.destroy();
      await idle();
    });
  });
});

/** Deletes all stored events of an application as if 8 days had passed. */
async function prune(database: Database, { id }: TestApplication): Promise<void> {
  await database.query('delete from hook_job');
  const [row] = await database.query<{ count: number }>(
    'select count(*)::int as count from webhook_event where application_id = $1',
    [id],
  );
  expect(row?.count).toBeGreaterThan(0);
  await pruneWebhookEvidence(database, new Date(Date.now() + 8 * 86_400_000));
}
