import request from 'supertest';
import {
  lockCalendarForSync,
  storeEventCursor,
  writeCalendars,
} from '../../src/calendar/calendars/calendar-mirror.ts';
import { lockGroups, lockMirrorEvent } from '../../src/calendar/events/mirror/event-mirror.ts';
import { lockContacts } from '../../src/contacts/contact-mirror.ts';
import { NO_RESULT } from '../../src/platform/webhooks/delivery/delivery-results.ts';
import { recordHealth } from '../../src/platform/webhooks/delivery/record-health.ts';
import { requeueEvents } from '../../src/platform/webhooks/events/requeue-events.ts';
import { WebhookDispatcher } from '../../src/platform/webhooks/delivery/webhook-dispatcher.ts';
import type { ClaimedRow, Dispatcher, Outcome } from '../../src/platform/work/queue/dispatcher.ts';
import { queueStatements } from '../../src/platform/work/queue/queue-statements.ts';
import { Settler } from '../../src/platform/work/queue/settler.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { SendDispatcher } from '../../src/mail/outbox/send/send-dispatcher.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { markGrantsInvalid } from '../../src/accounts/grants/mark-invalid.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

const NO_EVENT = '00000000-0000-0000-0000-000000000000';

/**
 * A worker that settles a row locks the queue row first, then the account or the webhook. All other
 * code must lock in the same order.
 */
describe('removals under concurrent work', () => {
  let server: TestApp;
  let application: TestApplication;
  let sql: Database;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    sql = server.app.get(Database);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  it('cause no deadlock when a worker finds the credentials of the removed account refused', async () => {
    const ada = await createAccount(server.app, application);
    const message = { to: [{ email: 'bo@example.test' }] };
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send(message)
      .expect(202);
    let removing: Promise<void> = Promise.resolve();
    await sql.transaction(async (settling) => {
      await settling.query('delete from send_job where id = $1', [body.job_status_id]);
      removing = server.app.get(GrantsService, { strict: false }).remove(application.id, ada.id);
      await untilLockWait(sql);
      await markGrantsInvalid(settling, [{ accountId: ada.id, reason: '535' }], new Date());
    });
    await removing;
    expect(await sql.query('select 1 from "grant" where id = $1', [ada.id])).toEqual([]);
  });

  it('cause no deadlock when a worker finds the removed webhook failing', async () => {
    const webhookId = await createWebhook(server.app, application, 'https://example.test/hook');
    await recordEvent(server.app, application);
    let removing: PromiseLike<request.Response> | undefined;
    await sql.transaction(async (settling) => {
      await settling.query('delete from hook_job where webhook_id = $1', [webhookId]);
      removing = request(server.url)
        .delete(`/a/${application.clientId}/webhooks/${webhookId}`)
        .set(application.secretBasic)
        .then((response) => response);
      await untilLockWait(sql);
      await recordHealth(
        settling,
        new Map([[webhookId, { delivered: 0, failed: 1, gone: false }]]),
        new Date(),
      );
    });
    expect((await removing)?.status).toBe(200);
    expect(await sql.query('select 1 from webhook where id = $1', [webhookId])).toEqual([]);
  });

  /** Writes results as the engine does, and starts a removal as soon as the first row has ended. */
  async function removedWhileWriting<J extends ClaimedRow, R>(
    dispatcher: Dispatcher<J, R>,
    results: readonly { row: J; outcome: Outcome<R> }[],
    remove: () => PromiseLike<request.Response>,
  ): Promise<request.Response> {
    const statements = queueStatements(dispatcher.table);
    let removing: PromiseLike<request.Response> | undefined;
    const transaction = <T>(work: (inside: Sql) => Promise<T>): Promise<T> =>
      sql.transaction((inside) => {
        const query = inside.query.bind(inside);
        inside.query = async <Row extends object>(...parameters: Parameters<Sql['query']>) => {
          const rows = await query<Row>(...parameters);
          if (parameters[0] !== statements.finish || removing) return rows;
          removing = remove().then((response) => response);
          await untilLockWait(sql);
          return rows;
        };
        return work(inside);
      });
    const pool = { query: sql.query.bind(sql), transaction } as unknown as Database;
    const endings = results.map((result) => ({
      ...result,
      worker: 1,
      waitMs: 0,
      gateMarked: false,
    }));
    expect(await new Settler(pool, statements, dispatcher).settle(endings)).toBe(true);
    if (!removing) throw new Error('no row has ended');
    return removing;
  }

  it('cause no deadlock when one delivery to a webhook has ended and another has to wait', async () => {
    const webhookId = await createWebhook(server.app, application, 'https://example.test/hook');
    for (let n = 0; n < 2; n++) await recordEvent(server.app, application);
    const dispatcher = server.app.get(WebhookDispatcher, { strict: false });
    const steps = new EngineSteps(sql, () => dispatcher);
    const [first, last] = await sql.query<{ id: string }>(
      'select id from hook_job where webhook_id = $1 order by id',
      [webhookId],
    );
    const waits = await steps.claim(first?.id ?? '');
    const ends = await steps.claim(last?.id ?? '');
    const results = [
      { row: waits, outcome: dispatcher.onError(waits) },
      { row: ends, outcome: { next: { kind: 'done' }, result: NO_RESULT } as const },
    ];
    const removed = await removedWhileWriting(dispatcher, results, () =>
      request(server.url)
        .delete(`/a/${application.clientId}/webhooks/${webhookId}`)
        .set(application.secretBasic),
    );
    expect(removed.status).toBe(200);
    expect(await sql.query('select 1 from hook_job where webhook_id = $1', [webhookId])).toEqual(
      [],
    );
  });

  it('cause no deadlock when one message of an account has ended and another has to wait', async () => {
    const ada = await createAccount(server.app, application);
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) {
      const message = { to: [{ email: 'bo@example.test' }] };
      const { body } = await request(server.url).post('/v2/outbox').set(ada.bearer).send(message);
      ids.push(body.job_status_id);
    }
    const dispatcher = server.app.get(SendDispatcher, { strict: false });
    const steps = new EngineSteps(sql, () => dispatcher);
    const [first = '', last = ''] = ids.toSorted();
    const waits = await steps.claim(first);
    const ends = await steps.claim(last);
    const results = [
      { row: waits, outcome: dispatcher.onError(waits, new Error('broken')) },
      { row: ends, outcome: dispatcher.onPoison(ends) },
    ];
    const removed = await removedWhileWriting(dispatcher, results, () =>
      request(server.url)
        .delete(`/a/${application.clientId}/accounts/${ada.id}`)
        .set(application.secretBasic),
    );
    expect(removed.status).toBe(200);
    expect(await sql.query('select 1 from send_job where account_id = $1', [ada.id])).toEqual([]);
  });

  it.each([
    { order: 'in the order', descending: false },
    { order: 'in the opposite order', descending: true },
  ])(
    'cause no deadlock when an operator replays events whose rows lie $order',
    async ({ descending }) => {
      const webhookId = await createWebhook(server.app, application, 'https://example.test/hook');
      for (let n = 0; n < 2; n++) await recordEvent(server.app, application);
      const rows = await sql.query<{ id: string }>(
        `select id from hook_job where webhook_id = $1 order by event_id ${descending ? 'desc' : ''}`,
        [webhookId],
      );
      const ids = [newId(), newId()].toSorted();
      for (const [index, { id }] of rows.entries())
        await sql.query('update hook_job set id = $2, state = 1, worker_id = 1 where id = $1', [
          id,
          ids[index],
        ]);
      const lock = 'select from hook_job where id = $1 for update';
      let replaying: Promise<unknown> | undefined;
      await sql.transaction(async (settling) => {
        await settling.query(lock, [ids[0]]);
        replaying = sql.transaction((replay) =>
          requeueEvents(replay, webhookId, NO_EVENT, { undeliveredOnly: false }),
        );
        // A replay that leaves claimed rows alone does not wait.
        await Promise.race([replaying, untilLockWait(sql)]);
        await settling.query(lock, [ids[1]]);
      });
      expect(await replaying).toMatchObject({ count: 2, queued: 0 });
    },
  );

  it.each([
    { order: 'in the order', descending: false },
    { order: 'in the opposite order', descending: true },
  ])(
    'cause no deadlock when events extend lanes whose accounts lie $order',
    async ({ descending }) => {
      const webhookId = await createWebhook(server.app, application, 'https://example.test/hook');
      const accounts = [newId(), newId()];
      for (const accountId of accounts) await recordEvent(server.app, application, { accountId });
      const ids = [newId(), newId()].toSorted();
      for (const [index, accountId] of (descending ? accounts.toReversed() : accounts).entries())
        await sql.query('update hook_job set id = $2 where webhook_id = $3 and event_id = $1', [
          accountId,
          ids[index],
          webhookId,
        ]);
      const lock = 'select from hook_job where id = $1 for update';
      let publishing: Promise<unknown> | undefined;
      await sql.transaction(async (settling) => {
        await settling.query(lock, [ids[0]]);
        publishing = Promise.all(
          accounts.map((accountId) => recordEvent(server.app, application, { accountId })),
        );
        await untilLockWait(sql);
        await settling.query(lock, [ids[1]]);
      });
      await publishing;
      const wanted = await sql.query(
        'select 1 from hook_job where webhook_id = $1 and wanted_seq > from_seq + 1',
        [webhookId],
      );
      expect(wanted).toHaveLength(2);
    },
  );

  it('make a new message for the account fail without a server error', async () => {
    const ada = await createAccount(server.app, application);
    const message = { to: [{ email: 'bo@example.test' }] };
    let posting: PromiseLike<request.Response> | undefined;
    await sql.transaction(async (removing) => {
      await removing.query('delete from "grant" where id = $1', [ada.id]);
      posting = request(server.url)
        .post('/v2/outbox')
        .set(ada.bearer)
        .send(message)
        .then((response) => response);
      await untilLockWait(sql);
    });
    expect((await posting)?.status).toBe(409);
    expect(await sql.query('select 1 from send_job where account_id = $1', [ada.id])).toEqual([]);
  });

  it('delete the queued deliveries of a webhook', async () => {
    const webhookId = await createWebhook(server.app, application, 'https://example.test/hook');
    await recordEvent(server.app, application);
    const queued = () => sql.query('select from hook_job where webhook_id = $1', [webhookId]);
    expect(await queued()).toHaveLength(1);
    await request(server.url)
      .delete(`/a/${application.clientId}/webhooks/${webhookId}`)
      .set(application.secretBasic)
      .expect(200);
    expect(await queued()).toEqual([]);
  });

  it('neither delay nor fail events for the webhook', async () => {
    const webhookId = await createWebhook(server.app, application, 'https://example.test/hook');
    await sql.transaction(async (removing) => {
      await removing.query('delete from webhook where id = $1', [webhookId]);
      expect(await recordEvent(server.app, application)).toBe(true);
    });
  });
});

describe('a sync pass', () => {
  let server: TestApp;
  let sql: Database;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    sql = server.app.get(Database);
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const post = async (path: string, body: object) => {
    const response = await request(server.url).post(path).set(ada.bearer).send(body).expect(200);
    return (response.body as { id: string }).id;
  };
  const put = (path: string, body: object): PromiseLike<request.Response> =>
    request(server.url)
      .put(path)
      .set(ada.bearer)
      .send(body)
      .then((response) => response);
  const createEvent = async () => {
    const calendarId = await post('/calendars', { name: 'Work' });
    const event = { calendar_id: calendarId, title: 'Review', when: { time: 1_900_000_000 } };
    return { calendarId, eventId: await post('/events', event) };
  };
  /** Ends the open writes of an object, and gives it the id that the provider has for it. */
  const written = async (table: 'calendar' | 'contact' | 'event', id: string) => {
    await sql.query('delete from provider_job where object_id = $1', [id]);
    await sql.query(`update ${table} set provider_id = $2 where id = $1`, [id, `remote-${id}`]);
    return `remote-${id}`;
  };
  /**
   * Sends a request that changes an object, and lets `lock` lock the object when the request has
   * changed its row but cannot queue its provider write yet.
   */
  const lockDuring = async <T>(
    change: () => PromiseLike<request.Response>,
    lock: () => Promise<T>,
  ) => {
    const work: { changing?: PromiseLike<request.Response>; locking?: Promise<T> } = {};
    await sql.transaction(async (queue) => {
      await queue.query('lock table provider_job in share mode');
      work.changing = change();
      await untilLockWait(sql);
      work.locking = lock();
      await untilLockWait(sql, 2);
    });
    expect((await work.changing)?.status).toBe(200);
    return work.locking;
  };

  it('causes no deadlock when a request changes an event that the pass has locked', async () => {
    const { calendarId, eventId } = await createEvent();
    let changing: PromiseLike<request.Response> | undefined;
    await sql.transaction(async (pass) => {
      await lockCalendarForSync(pass, ada.id, calendarId);
      await lockMirrorEvent(pass, ada.id, eventId);
      changing = put(`/events/${eventId}`, { title: 'Renamed' });
      await untilLockWait(sql);
      await storeEventCursor(pass, calendarId, 'cursor', null);
    });
    expect(await changing).toMatchObject({ status: 200, body: { title: 'Renamed' } });
  });

  it('sees the open write of a contact that a request changed while the pass waited', async () => {
    const id = await post('/contacts', { surname: 'Lovelace' });
    const remote = await written('contact', id);
    const rows = await lockDuring(
      () => put(`/contacts/${id}`, { surname: 'King' }),
      () => lockContacts(sql, ada.id, [remote]),
    );
    expect(rows).toMatchObject([{ id, fields: { surname: 'King' }, writing: true }]);
  });

  it('leaves a calendar alone that a request changed while the pass waited', async () => {
    const id = await post('/calendars', { name: 'Before' });
    const providerId = await written('calendar', id);
    const stored = await lockDuring(
      () => put(`/calendars/${id}`, { name: 'Wanted' }),
      () => {
        const listed = { providerId, name: 'From elsewhere', isPrimary: false, readOnly: false };
        const unknown = { description: null, location: null, timezone: null };
        const pass = (tx: Sql) =>
          writeCalendars(tx, ada.id, [{ ...listed, ...unknown }], new Date());
        return sql.transaction(pass);
      },
    );
    expect(stored).toMatchObject({ changed: [] });
    const { body } = await request(server.url).get(`/calendars/${id}`).set(ada.bearer);
    expect(body).toMatchObject({ id, name: 'Wanted' });
  });

  it('sees the open write of an event that a request changed while the pass waited', async () => {
    const { calendarId, eventId: id } = await createEvent();
    const remote = await written('event', id);
    const rows = await lockDuring(
      () => put(`/events/${id}`, { title: 'Renamed' }),
      () => lockGroups(sql, calendarId, [remote]),
    );
    expect(rows).toMatchObject([{ id, title: 'Renamed', writing: true }]);
  });
});

/** Waits until that many statements wait for a lock. */
function untilLockWait(sql: Database, waiting = 1): Promise<boolean> {
  return until('statements to wait for a lock', async () => {
    const text = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await sql.query(text)).length >= waiting;
  });
}
