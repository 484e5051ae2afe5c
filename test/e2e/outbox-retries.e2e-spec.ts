import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { RelayEnrolment } from '../../src/mail/relay/relay-enrolment.ts';
import { connectSendGrid } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { SendGridServer } from '../support/sendgrid-server.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const bo = { email: 'bo@example.test' };

/** Retries and routes of the whole server. The test's clock skips the waiting times. */
describe('an outbox message that cannot be sent at once', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let ada: TestAccount;
  let service: SendGridServer;

  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    database = server.app.get(Database);
    service = await SendGridServer.start();
  });
  afterAll(async () => {
    await server.close();
    await service.stop();
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
    service.reset();
  });

  const accept = async (to: string, body: object = {}): Promise<string> => {
    const response = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [{ email: to }, bo], subject: 'Hello', body: 'Hello', ...body })
      .expect(202);
    return response.body.job_status_id;
  };
  const job = async (id: string) =>
    (await request(server.url).get(`/job-statuses/${id}?view=expanded`).set(ada.bearer)).body;
  /** Advances the clock to each next attempt until the job has ended. */
  const atTheEnd = (id: string) =>
    until(`job ${id} to end`, async () => {
      const status = await job(id);
      if (['successful', 'failed', 'cancelled'].includes(status.status)) return status;
      const nextAt = (status.attempts.at(-1)?.next_at ?? 0) * 1000;
      const wait = nextAt - clock.now().getTime();
      if (wait > 0) await clock.pass(wait);
      return null;
    });
  const deliveries = async (id: string) => {
    const [row] = await database.query<{ n: number }>(
      `select count(*) as n from sandbox_message s join outbox_message m on position(m.message_id_header::bytea in s.mime) > 0
       where m.id = $1 and s.address = $2 and 'inbox' = any(s.folders)`,
      [id, bo.email],
    );
    return row?.n;
  };
  const addService = async () => {
    await connectSendGrid(server, application, service);
    service.senders = [{ id: 1, from_email: ada.email, verified: true }];
  };

  it('is retried until it is sent, and lists each attempt', async () => {
    const id = await accept('temporary+2@sandbox.test');
    const end = await atTheEnd(id);
    expect(end).toMatchObject({ status: 'successful', route: 'account' });
    expect(end.attempts).toMatchObject([
      {
        attempt: 1,
        outcome: 'not-sent',
        route: 'account',
        phase: 'envelope',
        code: 'temporary',
        rule: 'backoff',
      },
      { attempt: 2, outcome: 'not-sent', rule: 'backoff' },
      { attempt: 3, outcome: 'sent', phase: 'confirmation', rule: null, next_at: null },
    ]);
    const [first, second] = end.attempts;
    expect(first.next_at - first.ended_at).toBeGreaterThanOrEqual(26);
    expect(first.next_at - first.ended_at).toBeLessThanOrEqual(34);
    expect(second.next_at - second.ended_at).toBeGreaterThanOrEqual(53);
    expect(await deliveries(id)).toBe(1);
  });

  it('goes to the mailing service at once when the account reaches its daily limit, and reports the route', async () => {
    await addService();
    const id = await accept('quota@sandbox.test');
    const end = await until('the message to be sent', async () => {
      const status = await job(id);
      return status.status === 'successful' && status;
    });
    expect(end).toMatchObject({
      route: 'relay',
      attempts: [
        { route: 'account', code: 'quota-exhausted', rule: 'daily-limit-to-relay' },
        { route: 'relay', outcome: 'sent' },
      ],
    });
    const { body: item } = await request(server.url).get(`/v2/outbox/${id}`).set(ada.bearer);
    expect(item.route).toBe('relay');
    expect(service.mails).toHaveLength(1);
    const [gate] = await database.query<{ closed: boolean }>(
      'select closed_until > now() as closed from account_gate where account_id = $1',
      [ada.id],
    );
    expect(gate?.closed ?? false).toBe(false);
  });

  it('goes to the mailing service after five attempts', async () => {
    await addService();
    const end = await atTheEnd(await accept('temporary@sandbox.test'));
    expect(end).toMatchObject({ status: 'successful', route: 'relay' });
    expect(end.attempts.map(({ route }: { route: string }) => route)).toEqual([
      'account',
      'account',
      'account',
      'account',
      'account',
      'relay',
    ]);
    expect(service.mails).toHaveLength(1);
  });

  it('waits an hour after the account reached its daily limit, if there is no mailing service', async () => {
    const limited = await accept('quota@sandbox.test');
    await until('the account to be closed', async () => {
      const rows = await database.query(
        `select 1 from account_gate where account_id = $1 and closed_until > now() + interval '55 minutes'`,
        [ada.id],
      );
      return rows.length > 0;
    });
    const { attempts, ...delayed } = await job(limited);
    expect(delayed.status).toBe('delayed');
    expect(attempts).toMatchObject([{ rule: 'backoff' }]);
    expect(attempts[0].next_at - attempts[0].ended_at).toBeGreaterThanOrEqual(3_599);
    expect(attempts[0].next_at - attempts[0].ended_at).toBeLessThanOrEqual(3_605);
    const other = await accept('someone@sandbox.test');
    const waiting = await until('the other message to be delayed', async () => {
      const status = await job(other);
      return status.status === 'delayed' && status;
    });
    expect(waiting.attempts).toEqual([]);
    expect(waiting.reason).toMatch(
      /^could not be sent yet: the account's daily limit is reached: 550 5\.4\.5/,
    );
  });

  it('goes to a mailing service at once that is set up after the account reached its daily limit', async () => {
    const limited = await accept('quota@sandbox.test');
    const delayed = (id: string) =>
      until('the message to be delayed', async () => (await job(id)).status === 'delayed');
    await delayed(limited);
    const waiting = await accept('quota+9@sandbox.test');
    await delayed(waiting);
    const later = await accept('someone@sandbox.test', {
      send_at: Math.floor(clock.now().getTime() / 1000) + 7200,
    });
    await addService();
    const before = clock.now().getTime();
    await server.app.get(RelayEnrolment, { strict: false }).run();
    for (const id of [limited, waiting]) {
      const end = await until('the message to be sent', async () => {
        const status = await job(id);
        return status.status === 'successful' && status;
      });
      expect(end.route).toBe('relay');
      expect(end.attempts.at(-1).started_at * 1000 - before).toBeLessThan(30_000);
      expect(end.attempts.at(-1).next_at).toBeNull();
    }
    expect((await job(later)).status).toBe('pending');
    const { body: plan } = await request(server.url)
      .post('/v2/outbox?dry_run=true')
      .set(ada.bearer)
      .send({ to: [bo] });
    expect(plan).toMatchObject({ relay_available: true, account_closed_until: null });
  });

  it('uses the mailing service soon after the user has confirmed the address', async () => {
    await connectSendGrid(server, application, service);
    const enrol = () => server.app.get(RelayEnrolment, { strict: false }).run();
    await enrol();
    const limited = await accept('quota@sandbox.test');
    await until('the message to be delayed', async () => (await job(limited)).status === 'delayed');
    // The program asks by itself, too, and then the question of this test asks nothing.
    await until('the service to know the address', async () =>
      service.senders.some((sender) => sender.from_email === ada.email),
    );
    service.follow(ada.email);
    await clock.pass(61_000);
    await enrol();
    const end = await until('the message to be sent', async () => {
      const status = await job(limited);
      return status.status === 'successful' && status;
    });
    expect(end.route).toBe('relay');
  });

  it('has the ids of the copy in Sent if the mailing service sent it', async () => {
    ada = await createAccount(server.app, application, { mirrored: true });
    await addService();
    const id = await accept('quota@sandbox.test', { bcc: [{ email: 'hidden@example.test' }] });
    const { message_id: messageId, thread_id: threadId } = await until('the send', async () => {
      const status = await job(id);
      return status.status === 'successful' && status;
    });
    const copy = await until('the copy', async () => {
      const { status, body } = await request(server.url)
        .get(`/messages/${messageId}`)
        .set(ada.bearer);
      return status === 200 && body;
    });
    expect(copy).toMatchObject({
      thread_id: threadId,
      subject: 'Hello',
      bcc: [{ email: 'hidden@example.test' }],
      folder: { name: 'sent' },
    });
  });

  it('is looked up if its outcome is unknown, and is not sent twice', async () => {
    const id = await accept('unknown@sandbox.test');
    const end = await atTheEnd(id);
    expect(end).toMatchObject({
      status: 'successful',
      attempts: [
        { outcome: 'unknown', rule: 'look-up' },
        { detail: 'found among the sent messages' },
      ],
    });
    expect(await deliveries(id)).toBe(1);
  });

  it('is sent again if its outcome stays unknown, and reports the resend', async () => {
    ada = await createAccount(server.app, application, { settings: { sent_copies: false } });
    const id = await accept('unknown-lost@sandbox.test');
    const end = await atTheEnd(id);
    expect(end.attempts.map(({ rule }: { rule: string }) => rule)).toEqual([
      'look-up',
      'look-up',
      'look-up',
      'resend',
      null,
    ]);
    expect(await deliveries(id)).toBe(1);
  });

  it('fails if its outcome stays unknown and on_unknown is "fail"', async () => {
    ada = await createAccount(server.app, application, { settings: { sent_copies: false } });
    const id = await accept('unknown-lost@sandbox.test', { on_unknown: 'fail' });
    const end = await atTheEnd(id);
    expect(end).toMatchObject({ status: 'failed' });
    expect(end.reason).toMatch(/^the outcome is unknown: /);
    expect(await deliveries(id)).toBe(0);
  });

  it('reaches the accepted recipients, and names the refused ones', async () => {
    const end = await atTheEnd(await accept('partial@sandbox.test'));
    expect(end).toMatchObject({
      status: 'successful',
      recipients: {
        accepted: [bo.email],
        refused: [{ email: 'partial@sandbox.test', reason: expect.stringMatching(/^550 5\.1\.1/) }],
      },
    });
  });

  it('is not sent if a worker finds it later than max_lateness_seconds', async () => {
    const sendAt = Math.floor(clock.now().getTime() / 1000) + 3600;
    const body = { on_missed: 'skip', max_lateness_seconds: 60, send_at: sendAt };
    const id = await accept('late@sandbox.test', body);
    await clock.pass(3_720_000);
    const end = await atTheEnd(id);
    expect(end).toMatchObject({ status: 'failed', attempts: [{ rule: 'missed', route: null }] });
    expect(await deliveries(id)).toBe(0);
  });
});
