import http from 'node:http';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { ChangeWatch } from '../../src/deltas/change-watch.ts';
import { pruneChanges } from '../../src/platform/changes/prune-changes.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Delta {
  id: string;
  object: string;
  event: string;
  cursor: string;
  attributes?: { id: string; object: string; display_name?: string };
}
interface Deltas {
  cursor_start: string;
  cursor_end: string;
  deltas: Delta[];
}

describe('/delta', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
  });

  const api = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object, by = ada) =>
    request(server.url)[method](path).set(by.bearer).send(body);
  const ok = async <T>(...parameters: Parameters<typeof api>): Promise<T> => {
    const response = await api(...parameters);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const latest = async (by = ada) =>
    (await ok<{ cursor: string }>('post', '/delta/latest_cursor', undefined, by)).cursor;
  const since = (cursor: string, query = '', by = ada) =>
    ok<Deltas>('get', `/delta?cursor=${cursor}${query}`, undefined, by);
  const namesOf = ({ deltas }: Deltas) => deltas.map(({ object, event }) => `${object} ${event}`);
  const calendar = (name: string, by = ada) =>
    ok<{ id: string }>('post', '/calendars', { name }, by);

  describe('GET', () => {
    it('returns each object as its own endpoint shows it, and deleted objects without attributes', async () => {
      ada = await createAccount(server.app, application, { mirrored: true });
      await until(
        'the folders',
        async () => (await ok<string[]>('get', '/folders?view=ids')).length > 0,
      );
      await deliver(server, ada, [
        'Subject: Menu',
        'Content-Type: text/plain; name="menu.txt"',
        'Content-Disposition: attachment; filename="menu.txt"',
        '',
        'Soup.',
      ]);
      await until(
        'the message',
        async () => (await ok<string[]>('get', '/messages?view=ids')).length > 0,
      );
      const { id: calendarId } = await calendar('Work');
      const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
      await ok('post', '/events', { calendar_id: calendarId, title: 'Lunch', when });
      const draft = await ok<{ id: string; version: number }>('post', '/drafts', {
        subject: 'Perhaps',
      });
      const page = await until('every job to end', async () => {
        const jobs = await ok<{ status: string }[]>('get', '/job-statuses');
        return jobs.every(({ status }) => status === 'successful') && since('0', '&limit=1000');
      });
      const kinds = new Set(page.deltas.map(({ object }) => object));
      expect([...kinds].toSorted()).toEqual(
        expect.arrayContaining(['calendar', 'draft', 'event', 'folder', 'message']),
      );
      expect(page.deltas.map(({ event }) => event)).not.toContain('delete');
      for (const { id, object, attributes } of page.deltas)
        expect(attributes).toEqual(await ok('get', `/${object}s/${id}`));
      const expanded = await since('0', '&view=expanded&include_types=message');
      const [message] = expanded.deltas;
      expect(message?.attributes).toEqual(
        await ok('get', `/messages/${message?.id}?view=expanded`),
      );

      await ok('delete', `/drafts/${draft.id}`, { version: draft.version });
      await ok('delete', `/calendars/${calendarId}`);
      const gone = (await since(page.cursor_end)).deltas.filter(({ event }) => event === 'delete');
      expect(gone.map(({ object }) => object).toSorted()).toEqual(['calendar', 'draft', 'event']);
      expect(gone.some(({ attributes }) => attributes)).toBe(false);
    });

    it('returns a deleted draft once, with the changes to its files and its thread', async () => {
      ada = await createAccount(server.app, application, { mirrored: true });
      const folders = () => ok<string[]>('get', '/folders?view=ids');
      await until('the folders', async () => (await folders()).length > 0);
      await deliver(server, ada, ['Subject: Menu', '', 'Soup.']);
      const ids = () => ok<string[]>('get', '/messages?view=ids');
      await until('the message', async () => (await ids()).length > 0);
      const [messageId] = await ids();
      const upload = await request(server.url)
        .post('/files')
        .set(ada.bearer)
        .attach('file', Buffer.from('x'), 'x.txt');
      const start = await latest();
      const changesSince = async (cursor: string) => {
        const page = await since(cursor, '&exclude_types=contact&limit=1000');
        return [
          page.deltas.map(({ object, event }) => `${object} ${event}`).toSorted(),
          page.cursor_end,
        ] as const;
      };
      const content = { reply_to_message_id: messageId, file_ids: [upload.body[0].id] };
      const reply = await ok<{ id: string; version: number }>('post', '/drafts', content);
      const lonely = await ok<{ id: string; version: number }>('post', '/drafts', {
        subject: 'Alone',
      });
      const [written, afterwards] = await changesSince(start);
      expect(written).toEqual(['draft create', 'draft create', 'file modify', 'thread modify']);
      for (const { id, version } of [reply, lonely])
        await ok('delete', `/drafts/${id}`, { version });
      const [deleted, end] = await changesSince(afterwards);
      expect(deleted).toEqual(['draft delete', 'draft delete', 'file modify', 'thread modify']);
      await until('the drafts to be deleted at the provider', async () => {
        const jobs = await ok<{ status: string }[]>('get', '/job-statuses');
        // A draft that was deleted before the provider stored it is never stored there.
        return jobs.every(({ status }) => ['successful', 'cancelled'].includes(status));
      });
      expect((await changesSince(end))[0].filter((change) => change !== 'thread modify')).toEqual(
        [],
      );
    });

    it('continues from cursor to cursor, page by page, and keeps the cursor if nothing has changed', async () => {
      const start = await latest();
      expect(await since(start)).toEqual({ cursor_start: start, cursor_end: start, deltas: [] });
      const ids: string[] = [];
      for (const name of ['a', 'b', 'c']) ids.push((await calendar(name)).id);
      const seen: string[] = [];
      let cursor = start;
      for (let pages = 0; pages < 3; pages += 1) {
        const page = await since(cursor, '&limit=1');
        expect(page.cursor_start).toBe(cursor);
        expect(page.deltas.map((delta) => delta.cursor)).toEqual([page.cursor_end]);
        seen.push(...page.deltas.map(({ id }) => id));
        cursor = page.cursor_end;
      }
      expect(seen).toEqual(ids);
      expect((await since(cursor)).cursor_end).toBe(cursor);
    });

    it('merges the changes of one object within a page', async () => {
      const start = await latest();
      const [kept, dropped] = [await calendar('kept'), await calendar('dropped')];
      const { cursor_end: made } = await since(start);
      for (const name of ['one', 'two', 'three'])
        await ok('put', `/calendars/${kept.id}`, { name });
      const changed = await since(made);
      expect(namesOf(changed)).toEqual(['calendar modify']);
      expect(changed.deltas[0]?.attributes).toMatchObject({ name: 'three' });
      await ok('delete', `/calendars/${dropped.id}`);
      const all = await since(start);
      expect(namesOf(all)).toEqual(['calendar create', 'calendar delete']);
      // A client that stops after the first delta still receives the second.
      expect(namesOf(await since(all.deltas[0]?.cursor ?? ''))).toContain('calendar delete');
    });

    it('accepts types in every spelling, and refuses unknown types by name', async () => {
      const { id: calendarId } = await calendar('Work');
      const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
      await ok('post', '/events', { calendar_id: calendarId, title: 'Lunch', when });
      for (const [query, expected] of [
        ['include_types=event', ['event create']],
        ['includeTypes=event,thread', ['event create']],
        ['include_types=event&include_types=calendar', ['calendar create', 'event create']],
        ['exclude_types=event, draft', ['calendar create']],
        ['excluded_types=event&exclude_types=calendar', []],
        ['include_types=', ['calendar create', 'event create']],
        ['somethingElse=1', ['calendar create', 'event create']],
      ] as const)
        expect([query, namesOf(await since('0', `&${query}`))]).toEqual([query, expected]);
      for (const [query, message] of [
        ['', 'cursor is required'],
        ['cursor=rubbish', 'Invalid cursor parameter'],
        ['cursor=0&include_types=job', 'Unknown type job'],
        ['cursor=0&includeTypes=event&excluded_types=draft', 'must not be given together'],
        ['cursor=0&limit=1001', 'limit'],
        ['cursor=0&view=ids', 'Unknown view type'],
        ['cursor=0&cursor=rubbish', 'Invalid cursor parameter'],
      ] as const) {
        const response = await api('get', `/delta?${query}`);
        expect([query, response.status]).toEqual([query, 400]);
        expect(response.body.message).toContain(message);
        for (const path of ['longpoll', 'streaming'])
          if (!query.includes('limit'))
            expect((await api('get', `/delta/${path}?${query}`)).status).toBe(400);
      }
    });

    it('returns only objects of the account that the scopes allow', async () => {
      const bo = await createAccount(server.app, application, { scope: ['calendar.read_only'] });
      const sam = await createAccount(server.app, application, { scope: ['email.send'] });
      await calendar('Work');
      const { cursor_end: cursor } = await since('0');
      const foreign = await api('get', `/delta?cursor=${cursor}`, undefined, bo);
      expect([foreign.status, foreign.body.message]).toEqual([400, 'Invalid cursor parameter']);
      expect((await since('0', '', bo)).deltas).toEqual([]);
      const hidden = await api('get', '/delta?cursor=0&include_types=message', undefined, bo);
      expect([hidden.status, hidden.body.message]).toEqual([
        403,
        expect.stringContaining('message'),
      ]);
      expect((await api('get', '/delta?cursor=0', undefined, sam)).status).toBe(403);
    });

    it('returns cursors for points in time, and reports cursors that are too old', async () => {
      const start = await latest();
      await calendar('Work');
      const now = Math.floor(Date.now() / 1000);
      const at = async (time: unknown) =>
        (await ok<{ cursor: string }>('post', '/delta/generate_cursor', { start: time })).cursor;
      expect(namesOf(await since(await at(String(now - 60))))).toEqual(['calendar create']);
      expect((await since(await at(now + 60))).deltas).toEqual([]);
      expect((await api('post', '/delta/generate_cursor', {})).body.missing_fields).toEqual([
        'start',
      ]);
      const later = new Date(Date.now() + 14 * 86_400_000 + 60_000);
      await pruneChanges(server.app.get(Database), later);
      const expired = await api('get', `/delta?cursor=${start}`);
      expect([expired.status, expired.body.type]).toEqual([410, 'invalid_request_error']);
      expect(expired.body.message).toContain('/delta/latest_cursor');
      expect((await since('0')).deltas).toEqual([]);
    });
  });

  const waiting = () => server.app.get(ChangeWatch).size;
  const idle = () => until('no request to wait', async () => waiting() === 0);

  describe('GET /longpoll', () => {
    it('returns as soon as something changes, or after its timeout with the same cursor', async () => {
      const cursor = await latest();
      const empty = await ok<Deltas>('get', `/delta/longpoll?cursor=${cursor}&timeout=0`);
      expect(empty).toEqual({ cursor_start: cursor, cursor_end: cursor, deltas: [] });
      const poll = ok<Deltas>(
        'get',
        `/delta/longpoll?cursor=${cursor}&timeout=60&exclude_types=event`,
      ).then((page) => page);
      await until('the request to wait', async () => waiting() === 1);
      const { id } = await calendar('Work');
      const page = await poll;
      expect(page).toMatchObject({ cursor_start: cursor, deltas: [{ id, event: 'create' }] });
      expect(await ok('get', `/delta/longpoll?cursor=${cursor}&timeout=60`)).toEqual(page);
      await idle();
    });

    it('writes other characters than those of ASCII as escapes, as streams do', async () => {
      const cursor = await latest();
      await calendar('Größe \u{1f600}');
      for (const path of [`longpoll?cursor=${cursor}`, `streaming?cursor=${cursor}&timeout=1`]) {
        const answer = await fetch(`${server.url}/delta/${path}`, { headers: ada.bearer });
        const text = await answer.text();
        expect(text).toContain(String.raw`Gr\u00f6\u00dfe \ud83d\ude00`);
        expect(text).toMatch(/^[\0-\x7f]*$/);
      }
      await idle();
    });

    it('allows ten waiting requests per account, and frees a slot when a client disconnects', async () => {
      const cursor = await latest();
      const control = new AbortController();
      const poll = (signal?: AbortSignal) =>
        fetch(`${server.url}/delta/longpoll?cursor=${cursor}`, {
          headers: ada.bearer,
          signal: signal ?? null,
        });
      const polls = Array.from({ length: 10 }, () => poll(control.signal).catch(() => undefined));
      await until('ten requests to wait', async () => waiting() === 10);
      const refused = await poll();
      expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, '10']);
      control.abort();
      await Promise.all(polls);
      await idle();
      expect(
        (await ok<Deltas>('get', `/delta/longpoll?cursor=${cursor}&timeout=0`)).deltas,
      ).toEqual([]);
    });
  });

  describe('GET /streaming', () => {
    async function open(cursor: string, query = '', by = ada) {
      const sent = http.get(`${server.url}/delta/streaming?cursor=${cursor}${query}`, {
        headers: by.bearer,
        agent: false,
      });
      const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve).once('error', reject);
      });
      const lines: string[] = [];
      let rest = '';
      const ended = (async () => {
        for await (const chunk of response) {
          const parts = `${rest}${String(chunk)}`.split('\n');
          rest = parts.pop() ?? '';
          lines.push(...parts);
        }
        return 'ended';
      })().catch((error: unknown) => String(error));
      return {
        response,
        ended,
        close: () => sent.destroy(),
        beats: () => lines.filter((line) => line === '').length,
        deltas: () => lines.filter(Boolean).map((line) => JSON.parse(line) as Delta),
      };
    }

    it('sends its headers at once, then past and new changes, with heartbeats in between', async () => {
      const start = await latest();
      const first = await calendar('first');
      const stream = await open(start);
      expect(stream.response.statusCode).toBe(200);
      expect(stream.response.headers['content-type']).toContain('text/event-stream');
      await until('the first change', async () => stream.deltas().length === 1);
      const second = await calendar('second');
      await until('the second change', async () => stream.deltas().length === 2);
      expect(stream.deltas().map(({ id }) => id)).toEqual([first.id, second.id]);
      expect(stream.deltas()[1]?.attributes).toEqual(await ok('get', `/calendars/${second.id}`));
      const beats = stream.beats();
      await until('two more heartbeats', async () => stream.beats() >= beats + 2);
      stream.close();
      await idle();
      // A client that reconnects continues after the last delta that it received.
      const again = await open(stream.deltas()[0]?.cursor ?? '');
      await until('the second change again', async () => again.deltas().length > 0);
      again.close();
      await again.ended;
      await idle();
      expect(again.deltas().map(({ id }) => id)).toEqual([second.id]);
    });

    it('ends after its timeout, and allows ten open streams per account', async () => {
      const cursor = await latest();
      const streams = await Promise.all(
        Array.from({ length: 10 }, () => open(cursor, '&timeout=60')),
      );
      const refused = await open(cursor);
      expect(refused.response.statusCode).toBe(429);
      for (const stream of streams) stream.close();
      await idle();
      const short = await open(cursor, '&timeout=1');
      expect(await short.ended).toBe('ended');
      await idle();
    });

    it('sends nothing more after the token is revoked', async () => {
      const stream = await open(await latest());
      await request(server.url)
        .post(`/a/${application.clientId}/accounts/${ada.id}/revoke-all`)
        .set(application.secretBasic)
        .send({})
        .expect(200);
      await fill(ada.id, 1);
      expect(await stream.ended).toBe('ended');
      expect(stream.deltas()).toEqual([]);
    });

    it('streams a long change log completely, in parts', async () => {
      await fill(ada.id, 3_000);
      const stream = await open('0');
      await until('all changes', async () => stream.deltas().length === 3_000);
      expect(new Set(stream.deltas().map(({ id }) => id)).size).toBe(3_000);
      stream.close();
      await idle();
    });

    it('closes its streams when the server stops, even for a client that does not read', async () => {
      const other = await startTestApp({ ROLES: 'api' });
      const by = await createAccount(other.app, await createApplication(other.app));
      await other.app.get(Database).query(
        `insert into change (account_id, object, object_id, event)
         select $1, 'event', gen_random_uuid(), 'delete' from generate_series(1, 50000)`,
        [by.id],
      );
      const get = (query: string) =>
        new Promise<http.IncomingMessage>((resolve) =>
          http.get(
            `${other.url}/delta/streaming?${query}`,
            { headers: by.bearer, agent: false },
            resolve,
          ),
        );
      const { body } = await request(other.url).post('/delta/latest_cursor').set(by.bearer);
      const quiet = await get(`cursor=${body.cursor}`);
      const stuck = await get('cursor=0');
      stuck.on('error', () => undefined);
      quiet.resume();
      const ended = new Promise((resolve) => quiet.once('end', () => resolve('ended')));
      await other.close();
      expect(await ended).toBe('ended');
    });
  });

  /** Inserts changes of objects that do not exist. */
  async function fill(accountId: string, count: number): Promise<void> {
    await server.app.get(Database).query(
      `insert into change (account_id, object, object_id, event)
       select $1, 'event', gen_random_uuid(), 'delete' from generate_series(1, $2)`,
      [accountId, count],
    );
  }
});
