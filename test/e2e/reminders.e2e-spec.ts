import { createHmac } from 'node:crypto';
import { EntityManager } from '@mikro-orm/postgresql';
import request from 'supertest';
import { Calendar } from '../../src/calendars/calendar.entity.ts';
import { newId } from '../../src/common/ids/ids.ts';
import { fromUnixSeconds } from '../../src/common/time/unix-seconds.ts';
import { Wake } from '../../src/common/wake.ts';
import { Database, sqlOf } from '../../src/database/sql.ts';
import { Event } from '../../src/events/event.entity.ts';
import type { Participant, StoredNotification } from '../../src/events/event-values.ts';
import { ReminderPlanner } from '../../src/notifications/reminder-planner.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const BO: Participant = {
  email: 'bo@sandbox.test',
  name: 'Bo',
  phone_number: '+15550100',
  status: 'noreply',
  comment: null,
};
const nowSeconds = () => Math.floor(Date.now() / 1000);

describe('reminders of events', () => {
  let server: TestApp;
  let receiver: HttpReceiver;
  let application: TestApplication;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    receiver = await startHttpReceiver();
    application = await createApplication(server.app, { features: ['sms'] });
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
  });
  afterAll(async () => {
    await server.close();
    await receiver.close();
  });

  /** Writes an event with its reminders in one transaction of the ORM. */
  async function createEvent(
    startsAt: number,
    notifications: StoredNotification[],
    account = ada,
  ): Promise<string> {
    const at = new Date();
    const eventId = newId();
    await server.app
      .get(EntityManager)
      .fork()
      .transactional(async (em) => {
        const columns = { account: account.id, createdAt: at, updatedAt: at };
        const calendar = em.create(Calendar, {
          ...columns,
          id: newId(),
          name: 'Work',
          isPrimary: false,
          readOnly: false,
          metadata: {},
        });
        const event = em.create(Event, {
          ...columns,
          id: eventId,
          calendar,
          title: 'Review',
          description: '',
          location: '',
          when: { object: 'time', time: startsAt },
          startsAt: fromUnixSeconds(startsAt),
          endsAt: fromUnixSeconds(startsAt),
          busy: true,
          readOnly: false,
          status: 'confirmed',
          hideParticipants: false,
          participants: [BO],
          notifications,
          metadata: {},
          roundRobinOrder: [],
        });
        await em.flush();
        await server.app.get(ReminderPlanner).plan(
          sqlOf(em),
          {
            accountId: account.id,
            eventId,
            title: event.title,
            startsAt: event.startsAt,
            notifications,
            participants: event.participants,
            cancelled: false,
          },
          at,
        );
      });
    server.app.get(Wake).wake('reminder');
    return eventId;
  }

  const list = (eventId: string, query = '', account = ada) =>
    request(server.url).get(`/events/${eventId}/notifications${query}`).set(account.bearer);

  const threeReminders = (): StoredNotification[] => [
    { id: newId(), type: 'email', minutes_before_event: 1, subject: 'Soon', body: '<b>Soon</b>' },
    { id: newId(), type: 'sms', minutes_before_event: 1, message: 'Soon!' },
    {
      id: newId(),
      type: 'webhook',
      minutes_before_event: 1,
      url: `${receiver.url}/reminder`,
      payload: '{"soon":true}',
    },
  ];

  it('really leave at their time, each its own way, and tell their fates', async () => {
    const startsAt = nowSeconds() + 62;
    const notifications = threeReminders();
    const eventId = await createEvent(startsAt, notifications);
    const before = await list(eventId);
    expect(before.status).toBe(200);
    expect(before.body).toHaveLength(3);
    for (const reminder of before.body) {
      expect(reminder).toMatchObject({
        status: 'scheduled',
        due_at: startsAt - 60,
        attempts: 0,
        sent_at: null,
      });
    }

    const after = await until('all three to be sent', async () => {
      const { body } = await list(eventId);
      return body.every(({ status }: { status: string }) => status === 'sent') && body;
    });
    expect(after).toEqual([
      {
        id: expect.any(String),
        object: 'reminder',
        notification_id: notifications[0]?.id,
        type: 'email',
        participant: 'bo@sandbox.test',
        recipient: 'bo@sandbox.test',
        due_at: startsAt - 60,
        status: 'sent',
        reason: null,
        attempts: 1,
        sent_at: expect.any(Number),
      },
      expect.objectContaining({ type: 'sms', participant: 'bo@sandbox.test', recipient: '+15550100' }),
      expect.objectContaining({
        type: 'webhook',
        participant: null,
        recipient: `${receiver.url}/reminder`,
        notification_id: notifications[2]?.id,
      }),
    ]);
    for (const { sent_at: sentAt } of after) expect(sentAt).toBeGreaterThanOrEqual(startsAt - 60);

    const database = server.app.get(Database);
    const mails = await database.query<{ mime: Buffer }>(
      `select mime from sandbox_message where application_id = $1 and address = 'bo@sandbox.test'`,
      [application.id],
    );
    expect(mails.map(({ mime }) => /^Subject: (.*)\r$/m.exec(mime.toString())?.[1])).toEqual(['Soon']);
    expect(
      await database.query('select phone_number, text from sms_message where account_id = $1', [ada.id]),
    ).toEqual([{ phone_number: '+15550100', text: 'Soon!' }]);
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]).toMatchObject({
      path: '/reminder',
      body: '{"soon":true}',
      headers: expect.objectContaining({
        'x-nylas-signature': createHmac('sha256', application.clientSecret)
          .update('{"soon":true}')
          .digest('hex'),
      }),
    });
  });

  describe('their list', () => {
    it('is paged', async () => {
      const eventId = await createEvent(nowSeconds() + 86_400, threeReminders());
      const types = async (query: string) =>
        (await list(eventId, query)).body.map(({ type }: { type: string }) => type);
      expect(await types('?limit=2')).toEqual(['email', 'sms']);
      expect(await types('?limit=2&offset=2')).toEqual(['webhook']);
      expect(await types('?limit=0')).toEqual([]);
    });

    it.each(['limit=-1', 'limit=1001', 'limit=x', 'offset=-1'])('refuses %s', async (query) => {
      const eventId = await createEvent(nowSeconds() + 86_400, []);
      const response = await list(eventId, `?${query}`);
      expect(response.status).toBe(400);
      expect(response.body.type).toBe('invalid_request_error');
    });

    it('is empty for an event without notifications', async () => {
      const response = await list(await createEvent(nowSeconds() + 86_400, []));
      expect([response.status, response.body]).toEqual([200, []]);
    });

    it('does not exist for unknown events and those of other accounts', async () => {
      const eventId = await createEvent(nowSeconds() + 86_400, threeReminders());
      const eve = await createAccount(server.app, application);
      const stranger = await createAccount(server.app, await createApplication(server.app));
      for (const response of [
        await list(newId()),
        await list('not-an-id'),
        await list(eventId, '', eve),
        await list(eventId, '', stranger),
      ]) {
        expect(response.status).toBe(404);
        expect(response.body.message).toMatch(/^Couldn't find event /);
      }
    });

    it('needs a token and a calendar scope', async () => {
      const eventId = await createEvent(nowSeconds() + 86_400, []);
      expect((await request(server.url).get(`/events/${eventId}/notifications`)).status).toBe(401);
      const mailOnly = await createAccount(server.app, application, { scope: ['email.send'] });
      expect((await list(eventId, '', mailOnly)).status).toBe(403);
      const reader = await createAccount(server.app, application, { scope: ['calendar.read_only'] });
      const own = await createEvent(nowSeconds() + 86_400, [], reader);
      expect((await list(own, '', reader)).status).toBe(200);
    });
  });
});
