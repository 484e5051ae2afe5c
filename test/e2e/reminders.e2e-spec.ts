import { createHmac } from 'node:crypto';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const BO = { email: 'bo@sandbox.test', name: 'Bo', phone_number: '+15550100' };
const FAR = 86_400;
const clock = new PassingClock();
const inSeconds = (seconds: number) => Math.floor(clock.now().getTime() / 1000) + seconds;

interface ListedReminder {
  type: string;
  status: string;
  sent_at: number;
}

describe('reminders of events', () => {
  let server: TestApp;
  let receiver: Receiver;
  let application: TestApplication;
  let ada: TestAccount;
  let calendarId: string;
  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    receiver = await Receiver.start();
    application = await createApplication(server.app, { features: ['sms'] });
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
    calendarId = await createCalendar(ada);
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const send = (
    method: 'post' | 'put' | 'delete',
    path: string,
    body: object = {},
    account = ada,
  ) => request(server.url)[method](path).set(account.bearer).send(body);

  async function createCalendar(account: TestAccount): Promise<string> {
    const { body } = await send('post', '/calendars', { name: 'Work' }, account).expect(200);
    return body.id;
  }

  /** Creates an event with Bo that begins at `startsAt` (Unix seconds). */
  async function createEvent(startsAt: number, notifications: object[]) {
    const { body } = await send('post', '/events', {
      calendar_id: calendarId,
      title: 'Review',
      when: { time: String(startsAt) },
      participants: [BO],
      notifications,
    }).expect(200);
    return body;
  }

  const list = (eventId: string, query = '', account = ada) =>
    request(server.url).get(`/events/${eventId}/notifications${query}`).set(account.bearer);
  const statuses = async (eventId: string): Promise<string[]> =>
    (await list(eventId)).body.map(({ type, status }: ListedReminder) => `${type} ${status}`);

  const threeNotifications = (path: string) => [
    { type: 'email', minutes_before_event: '1', subject: 'Soon', body: '<b>Soon</b>' },
    { type: 'sms', minutes_before_event: '1', message: 'Soon!' },
    {
      type: 'webhook',
      minutes_before_event: 1,
      url: `${receiver.origin}${path}`,
      payload: '{"soon":true}',
    },
  ];

  const tomorrow = inSeconds(FAR);

  it('are sent at their time by email, SMS and webhook, and report the result', async () => {
    const event = await createEvent(tomorrow, threeNotifications('/all'));
    const planned = { status: 'scheduled', reason: null, due_at: tomorrow - 60 };
    expect(event.notifications).toMatchObject([planned, planned, planned]);
    const before = (await list(event.id)).body;
    expect(before).toHaveLength(3);
    for (const reminder of before) {
      expect(reminder).toMatchObject({ ...planned, attempts: 0, sent_at: null });
    }

    const startsAt = inSeconds(62);
    await send('put', `/events/${event.id}`, { when: { time: String(startsAt) } }).expect(200);
    const after: ListedReminder[] = await until('all three to be sent', async () => {
      const { body } = await list(event.id);
      return body.every(({ status }: ListedReminder) => status === 'sent') && body;
    });
    const [email, sms, webhook] = event.notifications;
    const read = (await request(server.url).get(`/events/${event.id}`).set(ada.bearer)).body;
    expect(read.notifications).toEqual(
      event.notifications.map((one: object) => ({ ...one, status: 'sent', due_at: startsAt - 60 })),
    );
    const common = { due_at: startsAt - 60, status: 'sent', reason: null, attempts: 1 };
    expect(after).toEqual([
      {
        ...common,
        id: expect.any(String),
        object: 'reminder',
        notification_id: email.id,
        type: 'email',
        participant: 'bo@sandbox.test',
        recipient: 'bo@sandbox.test',
        sent_at: expect.any(Number),
      },
      expect.objectContaining({
        ...common,
        notification_id: sms.id,
        participant: 'bo@sandbox.test',
        recipient: '+15550100',
      }),
      expect.objectContaining({
        ...common,
        notification_id: webhook.id,
        participant: null,
        recipient: `${receiver.origin}/all`,
      }),
    ]);
    for (const { sent_at: sentAt } of after) expect(sentAt).toBeGreaterThanOrEqual(startsAt - 60);

    const database = server.app.get(Database);
    const mails = await database.query<{ mime: Buffer }>(
      `select mime from sandbox_message where application_id = $1 and address = 'bo@sandbox.test'`,
      [application.id],
    );
    expect(mails.map(({ mime }) => /^Subject: (.*)\r$/m.exec(mime.toString())?.[1])).toEqual([
      'Soon',
    ]);
    expect(
      await database.query('select phone_number, text from sms_message where account_id = $1', [
        ada.id,
      ]),
    ).toEqual([{ phone_number: '+15550100', text: 'Soon!' }]);
    const posted = receiver.received.filter(({ url }) => url === '/all');
    expect(posted).toHaveLength(1);
    expect(posted[0]).toMatchObject({
      body: Buffer.from('{"soon":true}'),
      headers: expect.objectContaining({
        'x-reminder-signature': createHmac(
          'sha256',
          createHmac('sha256', application.clientSecret).update('reminder').digest(),
        )
          .update('{"soon":true}')
          .digest('hex'),
      }),
    });
  });

  it('are not sent if their event was cancelled or moved, or if they were removed, before their time', async () => {
    const [kept, cancelled, moved, stripped] = await Promise.all(
      ['/kept', '/cancelled', '/moved', '/stripped'].map((path) =>
        createEvent(tomorrow, threeNotifications(path).slice(2)),
      ),
    );
    await send('delete', `/events/${cancelled.id}`).expect(200);
    await send('put', `/events/${moved.id}`, { when: { time: tomorrow + FAR } }).expect(200);
    await send('put', `/events/${stripped.id}`, { notifications: [] }).expect(200);
    await clock.pass((tomorrow - 60) * 1000 - clock.now().getTime());
    // The remaining reminder is due at the same time as the others. When it has been sent, the
    // others would have been sent too.
    await until(
      'the reminder that was kept',
      async () => (await statuses(kept.id))[0] === 'webhook sent',
    );
    expect(receiver.received.map(({ url }) => url)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^\/(cancelled|moved|stripped)/)]),
    );
    expect(await statuses(cancelled.id)).toEqual(['webhook cancelled']);
    expect(await statuses(stripped.id)).toEqual(['webhook cancelled']);
    expect((await list(moved.id)).body).toMatchObject([
      { status: 'scheduled', due_at: tomorrow + FAR - 60 },
    ]);
  });

  it('are not sent twice if a client sends the whole event back', async () => {
    const event = await createEvent(inSeconds(61), threeNotifications('/once').slice(2));
    await until('the reminder', async () => (await statuses(event.id))[0] === 'webhook sent');
    const { notifications } = (await request(server.url).get(`/events/${event.id}`).set(ada.bearer))
      .body;
    const again = await send('put', `/events/${event.id}`, {
      title: 'Review 2',
      notifications,
    }).expect(200);
    expect(again.body.notifications).toMatchObject([
      { id: event.notifications[0].id, status: 'sent' },
    ]);
    expect(await statuses(event.id)).toEqual(['webhook sent']);
  });

  it('are skipped if they are too late, and the response reports that', async () => {
    const event = await createEvent(inSeconds(600), [
      { ...threeNotifications('/late')[2], minutes_before_event: 30 },
    ]);
    const skipped = {
      status: 'skipped',
      reason: expect.stringMatching(/^too late: it would have been due at /),
    };
    expect(event.notifications).toMatchObject([skipped]);
    expect((await list(event.id)).body).toMatchObject([{ ...skipped, attempts: 0, sent_at: null }]);
  });

  it("report the provider's error text when they fail", async () => {
    const { body: event } = await send('post', '/events', {
      calendar_id: calendarId,
      title: 'Review',
      when: { time: inSeconds(61) },
      participants: [{ email: 'rejected@sandbox.test' }],
      notifications: threeNotifications('').slice(0, 1),
    }).expect(200);
    await until(
      'the reminder to fail',
      async () => (await statuses(event.id))[0] === 'email failed',
    );
    expect((await list(event.id)).body[0].reason).toMatch(/^550 5\.1\.1 /);
  });

  describe('in the list of an event', () => {
    it('are returned in pages', async () => {
      const event = await createEvent(inSeconds(FAR), threeNotifications('/list'));
      const types = async (query: string) =>
        (await list(event.id, query)).body.map(({ type }: ListedReminder) => type);
      expect(await types('?limit=2')).toEqual(['email', 'sms']);
      expect(await types('?limit=2&offset=2')).toEqual(['webhook']);
      expect(await types('?limit=0')).toEqual([]);
    });

    it('are an empty list for an event without notifications', async () => {
      const response = await list((await createEvent(inSeconds(FAR), [])).id);
      expect([response.status, response.body]).toEqual([200, []]);
    });

    it.each(['limit=-1', 'limit=1001', 'limit=x', 'offset=-1'])('refuse %s', async (query) => {
      const response = await list((await createEvent(inSeconds(FAR), [])).id, `?${query}`);
      expect(response.status).toBe(400);
      expect(response.body.type).toBe('invalid_request_error');
    });
  });
});
