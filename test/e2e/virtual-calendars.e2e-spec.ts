import request from 'supertest';
import { SCOPES } from '../../src/platform/auth/scopes.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const START = 1_900_000_000;
const EMAIL = 'room-1@company.example.test';

interface Connected {
  id: string;
  access_token: string;
}

describe('virtual calendars', () => {
  let server: TestApp;
  let application: TestApplication;
  let room: Connected;

  beforeAll(async () => {
    server = await startTestApp();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
    room = await connect();
  });

  const authorize = (body: object = {}) =>
    request(server.url)
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        name: 'Room 1',
        email: EMAIL,
        provider: 'nylas',
        settings: {},
        scopes: ['calendar'],
        ...body,
      });
  const connect = async (body: object = {}): Promise<Connected> => {
    const { clientId: client_id, clientSecret: client_secret } = application;
    const { code } = (await authorize(body).expect(200)).body as { code: string };
    const token = await request(server.url)
      .post('/connect/token')
      .send({ client_id, client_secret, code });
    expect(token.status).toBe(200);
    return token.body as Connected;
  };
  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string, by = room) =>
    request(server.url)[method](path).auth(by.access_token, '');
  const succeeded = async (id: string) => {
    const status = await until(`job ${id}`, async () => {
      const { body } = await call('get', `/job-statuses/${id}`);
      return body.status !== 'pending' && (body.status as string);
    });
    expect(status).toBe('successful');
  };
  const primary = async (): Promise<{ id: string }> => (await call('get', '/calendars')).body[0];

  it('are accounts with a primary calendar from the start, and no mailbox', async () => {
    expect(room).toMatchObject({
      email_address: EMAIL,
      name: 'Room 1',
      provider: 'nylas',
      sync_state: 'running',
    });
    const { body } = await call('get', '/calendars');
    expect(body).toEqual([
      expect.objectContaining({ name: EMAIL, is_primary: true, read_only: false, timezone: null }),
    ]);
    expect(await rowsOf(server, 'select 1 from sync_job where account_id = $1', [room.id])).toEqual(
      [],
    );
    const token = await request(server.url)
      .post(`/a/${application.clientId}/accounts/${room.id}/token-info`)
      .set(application.secretBasic)
      .send({ access_token: room.access_token });
    expect(token.body.scopes).toBe('calendar');
  });

  it('are the same account with the same calendars if they are connected again', async () => {
    const before = await primary();
    const again = await connect({ email: EMAIL.toUpperCase(), scopes: undefined });
    expect(again.id).toBe(room.id);
    expect((await call('get', '/calendars', again)).body).toHaveLength(1);
    expect((await primary()).id).toBe(before.id);
    expect((await connect({ email: 'room-2@company.example.test' })).id).not.toBe(room.id);
  });

  it('have only the calendar scope, and refuse others', async () => {
    const asked = await Promise.all(
      SCOPES.filter((scope) => scope !== 'calendar').map((scope) =>
        authorize({ scopes: ['calendar', scope] }),
      ),
    );
    expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 400));
    expect(asked[0]?.body.message).toBe('scopes: email: accounts of nylas have only calendar');
    const patch = (scope: unknown) =>
      request(server.url)
        .patch(`/connect/grants/${room.id}`)
        .set(application.basic)
        .send({ scope });
    expect((await patch(['calendar', 'email.send'])).body.error).toMatchObject({
      type: 'grant.scopes_conflict',
    });
    // A scope of null would otherwise mean all scopes.
    expect((await patch(null)).body.data.scope).toEqual(['calendar']);
    expect((await patch([])).body.data).toMatchObject({
      scope: ['calendar'],
      grant_status: 'valid',
    });
  });

  it('have calendars that are created, changed and deleted, each by a job that succeeds', async () => {
    const created = await call('post', '/calendars').send({
      name: 'Bookings',
      timezone: 'Europe/Berlin',
      metadata: { floor: '3' },
    });
    expect(created.body).toMatchObject({
      name: 'Bookings',
      is_primary: false,
      metadata: { floor: '3' },
    });
    await succeeded(created.body.job_status_id);
    const path = `/calendars/${created.body.id}`;
    const changed = await call('put', path).send({
      name: 'Rooms',
      description: '',
      location: '',
      timezone: '',
    });
    expect(changed.body).toMatchObject({ name: 'Rooms', description: null, timezone: null });
    await succeeded(changed.body.job_status_id);
    const deleted = await call('delete', path).send({});
    await succeeded(deleted.body.job_status_id);
    await call('get', path).expect(404);
    const kept = await call('delete', `/calendars/${(await primary()).id}`);
    expect([kept.status, kept.body.message]).toEqual([
      400,
      'The primary calendar cannot be deleted.',
    ]);
  });

  it('have events, which keep all their fields', async () => {
    await subscribe(server, application, ['event.created', 'event.updated', 'event.deleted']);
    const { id: calendar_id } = await primary();
    const created = await call('post', '/events').send({
      calendar_id,
      title: 'Standup',
      when: { start_time: START, end_time: START + 900 },
      participants: [{ email: 'bo@example.test' }],
      capacity: 5,
    });
    expect(created.status).toBe(200);
    await succeeded(created.body.job_status_id);
    const path = `/events/${created.body.id}`;
    const read = await call('get', path);
    expect(read.body).toMatchObject({
      title: 'Standup',
      owner: `Room 1 <${EMAIL}>`,
      ical_uid: expect.stringContaining('@'),
      capacity: 5,
    });
    const changed = await call('put', path).send({
      title: 'Standup, moved',
      when: { time: START + 60 },
    });
    await succeeded(changed.body.job_status_id);
    const series = await call('post', '/events').send({
      calendar_id,
      when: { start_time: START, end_time: START + 60 },
      recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=3'], timezone: 'Europe/Berlin' },
    });
    await succeeded(series.body.job_status_id);
    const listed = await call(
      'get',
      `/events?expand_recurring=true&starts_after=${START - 1}&view=count`,
    );
    expect(listed.body).toEqual({ count: 4 });
    await succeeded((await call('delete', path).send({})).body.job_status_id);
    expect((await call('get', path)).body.status).toBe('cancelled');
    const webhookEvents = await rowsOf<{ type: string }>(
      server,
      'select type from webhook_event where application_id = $1',
      [application.id],
    );
    expect(new Set(webhookEvents.map(({ type }) => type))).toEqual(
      new Set(['event.created', 'event.updated', 'event.deleted']),
    );
  });

  it.each([
    ['get', '/messages'],
    ['get', '/threads'],
    ['get', '/drafts'],
    ['get', '/contacts'],
    ['post', '/send'],
    ['post', '/v2/outbox'],
    ['post', '/drafts'],
  ] as const)('refuse %s %s, because they cannot have the required scope', async (method, path) => {
    const answer = await call(method, path).send(
      method === 'post'
        ? { to: [{ email: 'bo@example.test' }], subject: 'x', body: 'x' }
        : undefined,
    );
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining('scope')]);
  });

  it('send reminders by webhook, and never by email', async () => {
    const { id: calendar_id } = await primary();
    const event = (type: string, fields: object) =>
      call('post', '/events').send({
        calendar_id,
        when: { time: START },
        participants: [{ email: 'bo@example.test' }],
        notifications: [{ type, minutes_before_event: 60, ...fields }],
      });
    const webhook = await event('webhook', { url: 'https://hooks.example.test/', payload: 'x' });
    expect(webhook.body.notifications).toMatchObject([{ type: 'webhook', status: 'scheduled' }]);
    const email = await event('email', { subject: 's', body: 'b' });
    expect([email.status, email.body.message]).toEqual([
      400,
      'notifications: this account has no mailbox to send email from; use webhook or sms',
    ]);
  });

  it('count as an account in a quickstart application', async () => {
    application = await createApplication(server.app, { plan: 'quickstart' });
    room = await connect();
    const { clientId: client_id, clientSecret: client_secret } = application;
    const { code } = (await authorize({ email: 'room-2@company.example.test' })).body as {
      code: string;
    };
    const second = await request(server.url)
      .post('/connect/token')
      .send({ client_id, client_secret, code });
    expect(second.status).toBe(403);
  });

  it('are disconnected like any other account', async () => {
    await request(server.url)
      .delete(`/connect/grants/${room.id}`)
      .set(application.basic)
      .expect(200);
    await call('get', '/calendars').expect(401);
  });

  it.each([
    ['no address', { email: undefined }, 'email_address'],
    ['an invalid address', { email: 'room 1' }, 'email'],
    ['settings that are a string', { settings: 'x' }, 'settings'],
    ['no name', { name: '' }, 'name'],
    ['an unknown scope', { scopes: ['calendar', 'everything'] }, 'everything'],
  ])('refuse %s', async (_, body, words) => {
    const refused = await authorize(body);
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(words)]);
  });
});
