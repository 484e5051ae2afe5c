import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { sized } from '../support/sized.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PEOPLE = sized(40, 80);

describe('a server that is killed while it sends reminders', () => {
  const encryptionKeys = `k:${randomBytes(32).toString('base64')}`;
  let seed: TestApp;
  let receiver: Receiver;
  let ada: TestAccount;
  let sql: SqlPool;
  const servers: ServerProcess[] = [];

  beforeAll(async () => {
    seed = await startTestApp({
      ROLES: 'api',
      ENCRYPTION_KEYS: encryptionKeys,
      QUOTA_EVENT_SMS: '0',
    });
    receiver = await Receiver.start();
    const application = await createApplication(seed.app, { features: ['sms'] });
    ada = await createAccount(seed.app, application, { email: 'ada@sandbox.test' });
    sql = new SqlPool({
      url: seed.database.url,
      max: 2,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
  });
  afterAll(async () => {
    for (const server of servers) await server.kill();
    await sql.close();
    await seed.close();
    await receiver.stop();
  });

  const start = async () => {
    const server = await startServerProcess({
      DATABASE_URL: seed.database.url,
      ENCRYPTION_KEYS: encryptionKeys,
      EGRESS_ALLOW: '127.0.0.0/8',
      SMS_GATEWAY: 'recording',
    });
    servers.push(server);
    return server;
  };
  const count = async (text: string) => (await sql.query<{ n: number }>(text))[0]?.n ?? 0;
  const sent = () => count(`select count(*) as n from reminder where status = 'sent'`);
  const post = (path: string, body: object) =>
    request(seed.url).post(path).set(ada.bearer).send(body).expect(200);

  it('loses no reminder and sends no email and no text twice', async () => {
    const calendar = await post('/calendars', { name: 'Work' });
    const event = await post('/events', {
      calendar_id: calendar.body.id,
      title: 'All hands',
      // The reminders are due now. The event is far enough in the future for the killed servers to
      // restart before it begins.
      when: { time: Math.floor(Date.now() / 1000) + 600 },
      participants: Array.from({ length: PEOPLE }, (_, index) => ({
        email: `guest-${index}@example.test`,
        phone_number: `+1555${index}`,
      })),
      notifications: [
        { type: 'email', minutes_before_event: 10, subject: 'Now', body: 'Now' },
        { type: 'sms', minutes_before_event: 10, message: 'Now' },
        { type: 'webhook', minutes_before_event: 10, url: receiver.origin, payload: 'now' },
      ],
    });
    const all = 2 * PEOPLE + 1;
    // One reminder at a time, so that much work is left when each server is killed, even if this
    // test notices the first sent ones late.
    await sql.query('insert into account_gate (account_id, max_in_flight) values ($1, 1)', [
      ada.id,
    ]);

    for (const part of [0.2, 0.5, 0.8]) {
      const server = await start();
      await until('some reminders to be sent', async () => (await sent()) >= all * part, 60_000);
      await server.kill();
    }
    expect(await sent()).toBeLessThan(all);
    await start();
    await until('all reminders to be sent', async () => (await sent()) === all, 90_000);

    expect(await count('select count(*) as n from reminder_job')).toBe(0);
    expect(await count('select count(*) as n from sms_message')).toBe(PEOPLE);
    // The sandbox counts hand-offs per mailbox, so a second email to a guest would show.
    const mailboxes = await sql.query<{ modseq: number }>(
      `select modseq from sandbox_mailbox where address like 'guest-%'`,
    );
    expect(mailboxes).toHaveLength(PEOPLE);
    expect(mailboxes.filter(({ modseq }) => modseq !== 1)).toEqual([]);
    // A webhook may be delivered again with the same id.
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const { body } = await request(seed.url)
      .get(`/events/${event.body.id}/notifications?limit=1000`)
      .set(ada.bearer);
    expect(new Set(body.map(({ status }: { status: string }) => status))).toEqual(
      new Set(['sent']),
    );
  }, 240_000);
});
