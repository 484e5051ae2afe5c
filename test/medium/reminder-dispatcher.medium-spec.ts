import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { createEmulator, type Emulator } from 'emulate';
import PostalMime from 'postal-mime';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { signals } from '../../src/platform/work/signals.ts';
import { type Hold, setSendingPause } from '../../src/accounts/grants/sending-pauses.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { EmailReminderSender } from '../../src/calendar/notifications/send/email-sender.ts';
import { reminderSignature } from '../../src/calendar/notifications/send/reminder-signature.ts';
import {
  ReminderDispatcher,
  type ClaimedReminder,
  type ReminderResult,
} from '../../src/calendar/notifications/send/reminder-dispatcher.ts';
import type { ReminderEvent } from '../../src/calendar/events/ports/event-reminders.ts';
import type { StoredNotification } from '../../src/calendar/events/event-values.ts';
import { ReminderPlanner } from '../../src/calendar/notifications/plan/reminder-planner.ts';
import { ReminderRepository } from '../../src/calendar/notifications/reminder.repository.ts';
import { SmsReminderSender } from '../../src/calendar/notifications/send/sms-sender.ts';
import { WebhookReminderSender } from '../../src/calendar/notifications/send/webhook-sender.ts';
import type { MailPort } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { SandboxConnector } from '../../src/providers/sandbox/sandbox.connector.ts';
import { Quotas } from '../../src/platform/quotas/quotas.ts';
import { NoSmsGateway } from '../../src/calendar/sms/none.gateway.ts';
import { RecordingSmsGateway } from '../../src/calendar/sms/recording.gateway.ts';
import type { SmsGateway } from '../../src/calendar/sms/sms-gateway.ts';
import { TwilioSmsGateway } from '../../src/calendar/sms/twilio.gateway.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { Receiver } from '../support/receiver.ts';
import {
  notificationOf,
  reminderEvent,
  type ReminderFixture,
  type ReminderRow,
  startReminderFixture,
} from '../support/reminder-fixture.ts';
import { markByFailover } from '../support/marked-by-failover.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { TestClock } from '../support/test-clock.ts';

const MINUTE = 60_000;
const start = new Date(Math.floor(Date.now() / 1000) * 1000);

describe('a reminder that is due', () => {
  let fixture: ReminderFixture;
  let receiver: Receiver;
  let egress: EgressClient;
  let clock: TestClock;
  let steps: EngineSteps<ClaimedReminder, ReminderResult>;
  let dispatcher: ReminderDispatcher;
  let planner: ReminderPlanner;
  const threads = new WorkThreads();

  /** @param findSent replaces the look-up of the sandbox */
  function build(gateway: SmsGateway, findSent?: MailPort['findSent']): ReminderDispatcher {
    const { database, secretBox } = fixture;
    const quotas = new Quotas(fixture.config, database, clock);
    const sandbox = new SandboxConnector(database, clock, threads);
    if (findSent) sandbox.mail.findSent = findSent;
    const connectors = new ConnectorRegistry([sandbox]);
    return new ReminderDispatcher(
      new ReminderRepository(database, new ProviderAccounts(database, secretBox), quotas),
      clock,
      new EmailReminderSender(fixture.config, database, connectors, clock),
      new SmsReminderSender(gateway, fixture.config),
      new WebhookReminderSender(egress, secretBox, clock),
    );
  }

  beforeAll(async () => {
    fixture = await startReminderFixture();
    receiver = await Receiver.start();
    egress = new EgressClient(new EgressPolicy(fixture.config.egressAllow));
    planner = new ReminderPlanner(fixture.config);
  });
  beforeEach(() => {
    clock = new TestClock(start);
    receiver.received.length = 0;
    receiver.answers.length = 0;
    dispatcher = build(new RecordingSmsGateway(fixture.database));
    steps = new EngineSteps(fixture.database, () => dispatcher);
  });
  afterAll(async () => {
    await threads.close();
    await egress.onApplicationShutdown();
    await receiver.stop();
    await fixture.close();
  });

  const plan = (event: ReminderEvent) =>
    fixture.database.transaction((sql) => planner.plan(sql, event, clock.now()));

  /** An event that starts in half an hour, with one reminder that is due now. */
  async function due(
    notification: StoredNotification,
    to = 'bo@example.test',
  ): Promise<{ event: ReminderEvent; id: string }> {
    const event = reminderEvent(fixture, clock.now(), {
      startsAt: new Date(clock.now().getTime() + 30 * MINUTE),
      notifications: [notification],
      participants: [{ email: to, name: 'Bo', phone_number: '+15550100', status: 'yes' }],
    });
    await plan(event);
    const [row] = await fixture.reminders(event.eventId);
    return { event, id: row!.id };
  }

  /** @param options.before called right before the hand-off */
  async function fire(
    id: string,
    options: { ambiguous?: boolean; attempt?: number; before?: () => Promise<unknown> } = {},
  ) {
    const { before, ...changes } = options;
    const job = await steps.claim(id, changes);
    const handOff = async () => {
      await before?.();
      return steps.handOff(job);
    };
    const outcome = outcomeOf(await steps.run(job, { handOff }));
    await steps.settle(job, outcome);
    return outcome;
  }

  async function fireIfDue(id: string): Promise<void> {
    const job = await steps.tryClaim(id, 60);
    if (job) await steps.settle(job, await steps.run(job));
  }

  const reminder = async (event: ReminderEvent): Promise<ReminderRow> => {
    const rows = await fixture.reminders(event.eventId);
    return rows[0]!;
  };
  const mailbox = (address: string) =>
    fixture.database.query<{ mime: Buffer }>(
      'select mime from sandbox_message where address = $1',
      [address],
    );
  let counter = 0;
  const freshAddress = (word = 'guest') => `${word}-${counter++}@example.test`;

  describe('by email', () => {
    it('is sent from the account, as it was written, with its own Message-ID', async () => {
      const to = freshAddress();
      const { event, id } = await due(
        {
          ...notificationOf.email(30),
          type: 'email',
          subject: 'Gleich: Prüfung ✓',
          body: '<p>Bis <b>gleich</b></p><img src="https://x.test/p.png">',
        },
        to,
      );
      await fire(id);
      expect(await reminder(event)).toMatchObject({
        status: 'sent',
        reason: null,
        attempts: 1,
        sent_at: clock.now(),
        run_at: null,
      });
      const [copy, ...more] = await mailbox(to);
      expect(more).toEqual([]);
      const mail = await new PostalMime().parse(copy!.mime);
      expect(mail).toMatchObject({
        from: { address: fixture.accountEmail, name: 'Olga Owner' },
        to: [{ address: to, name: 'Bo' }],
        subject: 'Gleich: Prüfung ✓',
        messageId: `<${id}@carillon.invalid>`,
      });
      expect(mail.html?.trim()).toBe('<p>Bis <b>gleich</b></p><img src="https://x.test/p.png">');
    });

    it('is retried, with a reason, when it could not be sent', async () => {
      const { event, id } = await due(notificationOf.email(30), 'temporary+1@sandbox.test');
      const first = await fire(id);
      expect(first.next).toEqual({
        kind: 'again',
        at: new Date(start.getTime() + 30_000),
        ambiguous: false,
      });
      const waiting = await reminder(event);
      expect(waiting).toMatchObject({ status: 'scheduled', attempts: 1 });
      expect(waiting.reason).toMatch(/^not sent yet: 451 4\.3\.2/);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', reason: null, attempts: 2 });
    });

    it('waits without attempts while sending of its account is paused, at most until its event', async () => {
      const pause = (hold: Hold | null) =>
        setSendingPause(fixture.database, fixture.accountId, hold);
      await pause({ at: clock.now(), reason: 'asked to stop' });
      const { event, id } = await due(notificationOf.email(30), freshAddress());
      const { event: over, id: lost } = await due(notificationOf.email(30), freshAddress());
      const text = await due(notificationOf.sms(30));
      const first = await fire(id);
      expect(first.next).toMatchObject({ at: new Date(start.getTime() + MINUTE) });
      await fire(id);
      await fire(lost);
      const reason = 'sending of the account is paused: asked to stop';
      expect(await reminder(event)).toMatchObject({ status: 'scheduled', attempts: 0, reason });
      await fire(text.id);
      expect((await reminder(text.event)).status).toBe('sent');
      await pause(null);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 1 });
      await pause({ at: clock.now(), reason: 'asked to stop' });
      clock.advance(30 * MINUTE);
      await fire(lost);
      await pause(null);
      expect(await reminder(over)).toMatchObject({
        status: 'failed',
        reason: `the event began before it could be sent (${reason})`,
      });
    });

    it('of any kind waits while its application is suspended', async () => {
      const suspend = (at: Date | null) =>
        fixture.database.query('update application set suspended_at = $2 where id = $1', [
          fixture.applicationId,
          at,
        ]);
      await suspend(clock.now());
      for (const one of [
        notificationOf.email(30),
        notificationOf.sms(30),
        notificationOf.webhook(30, receiver.origin),
      ]) {
        const { event, id } = await due(one, freshAddress());
        await fire(id);
        expect(await reminder(event)).toMatchObject({ status: 'scheduled', attempts: 0 });
      }
      await suspend(null);
      expect(receiver.received).toEqual([]);
    });

    it('fails when the event begins before it could be sent', async () => {
      const { event, id } = await due(notificationOf.email(30), 'temporary@sandbox.test');
      clock.advance(29 * MINUTE + 55_000);
      await fire(id);
      const row = await reminder(event);
      expect(row).toMatchObject({ status: 'failed', run_at: null });
      expect(row.reason).toMatch(/^the event began before it could be sent; last error: 451/);
    });

    it("fails at once with the provider's reason when it is rejected", async () => {
      const { event, id } = await due(notificationOf.email(30), 'rejected@sandbox.test');
      await fire(id);
      expect(await reminder(event)).toMatchObject({
        status: 'failed',
        attempts: 1,
        run_at: null,
        reason: '550 5.1.1 <rejected@sandbox.test>: Recipient address rejected: User unknown',
      });
    });

    it('is not sent twice when the response was lost, because it is found among the sent messages', async () => {
      const { event, id } = await due(notificationOf.email(30), 'unknown@sandbox.test');
      const before = (await mailbox('unknown@sandbox.test')).length;
      const first = await fire(id);
      expect(first.next).toMatchObject({ kind: 'again', ambiguous: true });
      expect((await reminder(event)).reason).toMatch(/^looking up whether it was sent/);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 1 });
      expect(await mailbox('unknown@sandbox.test')).toHaveLength(before + 1);
    });

    it('is sent again when the look-up proves that it was not sent', async () => {
      const { event, id } = await due(notificationOf.email(30), 'unknown-lost@sandbox.test');
      await fire(id);
      expect(await mailbox('unknown-lost@sandbox.test')).toHaveLength(0);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 2 });
      expect(await mailbox('unknown-lost@sandbox.test')).toHaveLength(1);
    });

    it.each([
      ['its first attempt', 1],
      ['an attempt after two that failed', 3],
    ])('is looked up three times after %s, and then sent again', async (_, attempts) => {
      let lookUps = 0;
      dispatcher = build(new RecordingSmsGateway(fixture.database), () => {
        lookUps += 1;
        return Promise.resolve({ found: false, conclusive: false });
      });
      const to = 'unknown-lost@sandbox.test';
      const { event, id } = await due(notificationOf.email(30), to);
      const before = (await mailbox(to)).length;
      await fire(id, { attempt: attempts });
      const lookUp = () => fire(id, { ambiguous: true, attempt: attempts + 1 });
      for (const seconds of [45, 120]) {
        const { next } = await lookUp();
        const at = new Date(clock.now().getTime() + seconds * 1000);
        expect(next).toEqual({ kind: 'again', at, ambiguous: true });
        expect(await mailbox(to)).toHaveLength(before);
        expect(await reminder(event)).toMatchObject({ status: 'scheduled', attempts });
      }
      await lookUp();
      expect(lookUps).toBe(3);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: attempts + 1 });
      expect(await mailbox(to)).toHaveLength(before + 1);
    });

    it('gets three look-ups again if the worker dies that sends it a second time', async () => {
      dispatcher = build(new RecordingSmsGateway(fixture.database), () =>
        Promise.resolve({ found: false, conclusive: false }),
      );
      const { id } = await due(notificationOf.email(30), freshAddress());
      for (let lookUps = 0; lookUps < 2; lookUps += 1) await fire(id, { ambiguous: true });
      const job = await steps.claim(id);
      await steps.run(job); // sent again, but the worker dies before it stores the result
      await steps.sweep();
      const { next } = await fire(id);
      const at = new Date(clock.now().getTime() + 45_000);
      expect(next).toEqual({ kind: 'again', at, ambiguous: true });
    });

    it('is not taken for sent because of one that is only similar', async () => {
      dispatcher = build(new RecordingSmsGateway(fixture.database), () =>
        Promise.resolve({ found: false, conclusive: false, similar: true }),
      );
      const to = 'unknown-lost@sandbox.test';
      const { event, id } = await due(notificationOf.email(30), to);
      const before = (await mailbox(to)).length;
      await fire(id);
      for (let lookUps = 0; lookUps < 2; lookUps += 1) {
        expect(await fire(id, { ambiguous: true })).toMatchObject({ next: { kind: 'again' } });
        expect(await reminder(event)).toMatchObject({ status: 'scheduled' });
      }
      await fire(id, { ambiguous: true });
      expect(await reminder(event)).toMatchObject({ status: 'sent' });
      expect(await mailbox(to)).toHaveLength(before + 1);
    });

    it('is looked up more than once if a failover marked it before its first attempt', async () => {
      dispatcher = build(new RecordingSmsGateway(fixture.database), () =>
        Promise.resolve({ found: false, conclusive: false }),
      );
      const { id } = await due(notificationOf.email(30), freshAddress());
      const { next } = await fire(id, { ambiguous: true });
      const at = new Date(clock.now().getTime() + 45_000);
      expect(next).toEqual({ kind: 'again', at, ambiguous: true });
    });

    it.each([
      [20, 10],
      [8, 4],
    ])(
      'is looked up in time for its event, but not at once, if a failover marked it %i s before',
      async (secondsBefore, leftSeconds) => {
        const { event, id } = await due(notificationOf.email(30), freshAddress());
        const [marked] = await fixture.database.query<{ at: Date }>(
          `update reminder set expires_at = now() + $2 * interval '1 s' where id = $1 returning now() as at`,
          [id, secondsBefore],
        );
        await markByFailover(fixture.database, dispatcher.table);
        const { run_at, expires_at } = await reminder(event);
        const leftMs = expires_at.getTime() - run_at!.getTime();
        expect(leftMs).toBeLessThanOrEqual(leftSeconds * 1_000);
        expect(run_at!.getTime()).toBeGreaterThan(marked!.at.getTime() + 3_000);
      },
    );

    it('is looked up even when the event has begun meanwhile', async () => {
      const { event, id } = await due(notificationOf.email(30), 'unknown@sandbox.test');
      await fire(id);
      clock.advance(31 * MINUTE);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent' });
    });

    it('is sent only once even when its worker died after sending it', async () => {
      const to = freshAddress();
      const { event, id } = await due(notificationOf.email(30), to);
      const job = await steps.claim(id);
      await steps.run(job); // sent, but the worker dies before it stores the result
      await steps.sweep();
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent' });
      expect(await mailbox(to)).toHaveLength(1);
    });

    it('makes the grant invalid when the provider refuses its credentials', async () => {
      const { database } = fixture;
      try {
        const { event, id } = await due(notificationOf.email(30), 'auth-invalid@sandbox.test');
        await database.query(
          `insert into webhook (id, application_id, callback_url, triggers, state, subscribed_at, created_at, updated_at)
           values (gen_random_uuid(), $1, 'https://x.test', '{account.invalid}', 'active', now(), now(), now())`,
          [fixture.applicationId],
        );
        const woken: string[] = [];
        const end = signals.listen((signal) => signal.kind === 'due' && woken.push(signal.queue));
        await fire(id);
        end();
        expect(woken).toEqual(['hook']);
        expect((await reminder(event)).status).toBe('failed');
        const [grant] = await database.query('select status from "grant" where id = $1', [
          fixture.accountId,
        ]);
        expect(grant).toEqual({ status: 'invalid' });

        const next = await due(notificationOf.email(30), freshAddress());
        await fire(next.id);
        expect(await reminder(next.event)).toMatchObject({
          status: 'failed',
          reason: "the account's credentials are out of date: the user has to authenticate again",
        });
      } finally {
        await database.query(`update "grant" set status = 'valid', status_reason = null`);
      }
    });
  });

  describe('by webhook', () => {
    it("is posted unchanged and signed with the application's secret", async () => {
      const payload = '{"event": "Prüfung",  "n":1}';
      const { event, id } = await due({
        ...notificationOf.webhook(30, `${receiver.origin}/hook?x=1`),
        type: 'webhook',
        payload,
      } as StoredNotification);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 1 });
      expect(receiver.received).toHaveLength(1);
      const [request] = receiver.received;
      expect(request).toMatchObject({
        method: 'POST',
        url: '/hook?x=1',
        body: Buffer.from(payload),
      });
      expect(request?.headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-id': id,
        'x-reminder-signature': reminderSignature(fixture.clientSecret, Buffer.from(payload)),
      });
    });

    it('is plain text when it is not JSON', async () => {
      const { id } = await due({
        ...notificationOf.webhook(30, receiver.origin),
        payload: 'hello there',
      } as StoredNotification);
      await fire(id);
      expect(receiver.received[0]).toMatchObject({
        body: Buffer.from('hello there'),
        headers: expect.objectContaining({ 'content-type': 'text/plain; charset=utf-8' }),
      });
    });

    it('is repeated until the receiver accepts it, as late as the receiver asks', async () => {
      const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
      receiver.answers.push({ status: 503, headers: { 'retry-after': '120' } }, { status: 302 });
      const first = await fire(id);
      expect(first.next).toMatchObject({ kind: 'again', at: new Date(start.getTime() + 120_000) });
      expect((await reminder(event)).reason).toBe('not sent yet: the receiver answered 503');
      await fire(id);
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 3 });
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(
        new Set([id]),
      );
    });

    it('fails at once when the receiver answers 410 or the address is private', async () => {
      const gone = await due(notificationOf.webhook(30, receiver.origin));
      receiver.answers.push({ status: 410 });
      await fire(gone.id);
      expect(await reminder(gone.event)).toMatchObject({
        status: 'failed',
        reason: 'the receiver answered 410',
      });
      const inside = await due(notificationOf.webhook(30, 'http://10.0.0.1/'));
      await fire(inside.id);
      expect((await reminder(inside.event)).status).toBe('failed');
    });

    it('is repeated when the receiver does not answer', async () => {
      const { event, id } = await due(notificationOf.webhook(30, 'http://127.0.0.1:1/'));
      const { next } = await fire(id);
      expect(next).toMatchObject({ kind: 'again' });
      expect((await reminder(event)).reason).toMatch(/^not sent yet: no connection/);
    });
  });

  describe('by SMS', () => {
    const texts = (dedupe: string) =>
      fixture.database.query('select phone_number, text from sms_message where dedupe like $1', [
        `%${dedupe}%`,
      ]);

    it('reaches the gateway once, even when it is handed over repeatedly', async () => {
      const { event, id } = await due(notificationOf.sms(30));
      const job = await steps.claim(id);
      await steps.run(job);
      await steps.sweep();
      await fire(id);
      expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 2 });
      expect(await texts(id)).toEqual([{ phone_number: '+15550100', text: 'Soon!' }]);
    });

    describe('through Twilio', () => {
      const phone = '+15550100';
      const config = {
        gateway: 'twilio',
        accountSid: 'AC0123456789abcdef0123456789abcdef',
        username: 'AC0123456789abcdef0123456789abcdef',
        password: 'token-of-the-test',
        sender: '+15005550006',
      } as const;
      let twilio: Emulator;
      beforeAll(async () => {
        twilio = await createEmulator({
          service: 'twilio',
          port: 0,
          hostname: '127.0.0.1',
          seed: {
            twilio: {
              account: { sid: config.accountSid, auth_token: config.password },
              phone_numbers: [{ phone_number: config.sender }],
            },
          },
        });
      });
      beforeEach(() => {
        dispatcher = build(
          new TwilioSmsGateway({ ...config, url: addressOf(twilio) }, egress, clock),
        );
      });
      afterAll(() => twilio.close());
      // The emulator listens on this address only.
      const addressOf = ({ url }: Emulator) => url.replace('localhost', '127.0.0.1');

      const taken = async (text: string) => {
        const response = await fetch(
          `${addressOf(twilio)}/2010-04-01/Accounts/${config.accountSid}/Messages.json?To=${encodeURIComponent(phone)}`,
          { headers: { authorization: `Basic ${btoa(`${config.username}:${config.password}`)}` } },
        );
        const { messages } = (await response.json()) as { messages: { body: string }[] };
        return messages.filter(({ body }) => body === text).length;
      };
      const text = (message: string) =>
        ({ ...notificationOf.sms(30), message }) as StoredNotification;

      it('is not sent twice when its worker died after Twilio had accepted it, because it is found there', async () => {
        const { event, id } = await due(text('Once'));
        const job = await steps.claim(id);
        await steps.run(job);
        await steps.sweep();
        await fire(id);
        expect(await reminder(event)).toMatchObject({ status: 'sent', attempts: 1 });
        expect(await taken('Once')).toBe(1);
      });

      it('is sent when the look-up does not find it', async () => {
        const { event, id } = await due(text('After all'));
        await fire(id, { ambiguous: true });
        expect(await reminder(event)).toMatchObject({ status: 'sent' });
        expect(await taken('After all')).toBe(1);
      });

      it('waits while Twilio refuses our credentials', async () => {
        const wrong = { ...config, password: 'wrong', url: addressOf(twilio) };
        dispatcher = build(new TwilioSmsGateway(wrong, egress, clock));
        const { event, id } = await due(text('Later'));
        await fire(id);
        expect(await reminder(event)).toMatchObject({
          status: 'scheduled',
          reason:
            'not sent yet: the SMS gateway answered 401 (20003): it does not accept our credentials',
        });
      });
    });

    it('fails when there is no gateway', async () => {
      dispatcher = build(new NoSmsGateway());
      const { event, id } = await due(notificationOf.sms(30));
      await fire(id);
      expect(await reminder(event)).toMatchObject({
        status: 'failed',
        reason: 'this server has no SMS gateway (SMS_GATEWAY=none)',
      });
    });

    it('fails when the application has lost the feature meanwhile', async () => {
      const { event, id } = await due(notificationOf.sms(30));
      await fixture.database.query(`update application set features = '{}'`);
      try {
        await fire(id);
      } finally {
        await fixture.database.query(`update application set features = '{sms}'`);
      }
      expect(await reminder(event)).toMatchObject({
        status: 'failed',
        reason: 'SMS is not enabled for this application',
      });
      expect(await texts(id)).toEqual([]);
    });
  });

  describe('after an outage', () => {
    it('is still sent if the event has not begun', async () => {
      const { event, id } = await due(notificationOf.sms(30));
      clock.advance(29 * MINUTE);
      await fire(id);
      expect((await reminder(event)).status).toBe('sent');
    });

    it('is skipped if the event has begun', async () => {
      const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
      clock.advance(30 * MINUTE);
      await fire(id);
      expect(await reminder(event)).toMatchObject({
        status: 'skipped',
        reason: 'the event has already begun',
        attempts: 0,
        run_at: null,
      });
      expect(receiver.received).toEqual([]);
    });

    it('is sent within a minute of the event if it is due exactly at its beginning', async () => {
      const { event, id } = await due(notificationOf.sms(0));
      clock.advance(30 * MINUTE + 59_000);
      await fire(id);
      expect((await reminder(event)).status).toBe('sent');
    });
  });

  describe('while its event is changed', () => {
    it('is not sent when the change was committed before the hand-off', async () => {
      const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
      await fire(id, { before: () => plan({ ...event, cancelled: true }) });
      expect(receiver.received).toEqual([]);
      expect(await reminder(event)).toMatchObject({
        status: 'cancelled',
        reason: 'the event was cancelled',
        run_at: null,
      });
    });

    it('is reported as sent when it was sent before the change, and sent again for the new time', async () => {
      const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
      const job = await steps.claim(id);
      const outcome = await steps.run(job);
      await plan({ ...event, startsAt: new Date(event.startsAt.getTime() + 60 * MINUTE) });
      await steps.settle(job, outcome);
      const rows = await fixture.reminders(event.eventId);
      expect(rows.map(({ status, reason, run_at }) => [status, reason, run_at !== null])).toEqual([
        ['sent', null, false],
        ['scheduled', null, true],
      ]);
    });

    it('is reported as sent when its worker died after sending it, and otherwise as cancelled', async () => {
      for (const left of [true, false]) {
        const { event, id } = await due(notificationOf.email(30), `in-doubt-${left}@example.test`);
        const job = await steps.claim(id);
        await (left ? steps.run(job) : steps.handOff(job));
        await steps.sweep();
        await plan({ ...event, cancelled: true });
        expect(await reminder(event)).toMatchObject({ status: 'cancelled' });
        await fire(id);
        expect(await reminder(event)).toMatchObject({
          status: left ? 'sent' : 'cancelled',
          run_at: null,
        });
      }
    });

    it('is not lost when it is cancelled and scheduled again during one run', async () => {
      const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
      const job = await steps.claim(id);
      const handOff = async () => {
        await plan({ ...event, cancelled: true });
        return steps.handOff(job);
      };
      const outcome = await steps.run(job, { handOff });
      await plan(event);
      await steps.settle(job, outcome);
      const row = await reminder(event);
      expect(row.status).toBe('scheduled');
      expect(row.run_at).not.toBeNull();
      await fire(id);
      expect(receiver.received).toHaveLength(1);
    });

    it('is not retried after its event was cancelled', async () => {
      const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
      receiver.answers.push({ status: 500 });
      const job = await steps.claim(id);
      const outcome = await steps.run(job);
      await plan({ ...event, cancelled: true });
      await steps.settle(job, outcome);
      expect((await reminder(event)).status).toBe('cancelled');
      await fire(id);
      expect(receiver.received).toHaveLength(1);
      expect(await reminder(event)).toMatchObject({ status: 'cancelled', run_at: null });
    });

    it('is never lost and never sent twice under concurrent changes', async () => {
      const moves = new Map<string, () => Promise<unknown>>();
      receiver.onRequest = ({ url }) => moves.get(url)?.() ?? Promise.resolve();
      const round = async (index: number) => {
        const { event, id } = await due(
          notificationOf.webhook(30, `${receiver.origin}/race-${index}`),
        );
        const later = { ...event, startsAt: new Date(event.startsAt.getTime() + 60 * MINUTE) };
        const change = () =>
          Promise.all([
            plan({ ...event, title: 'Other' }).then(() => plan(later)),
            plan({ ...event, cancelled: true }),
          ]);
        const meetings = [
          // The change comes during the request, at the same time as the run, before it, or right
          // after the claim.
          () => {
            moves.set(`/race-${index}`, change);
            return fireIfDue(id);
          },
          () => Promise.all([fireIfDue(id), change()]),
          () => Promise.all([change(), fireIfDue(id)]),
          async () => {
            const job = await steps.claim(id);
            await Promise.all([steps.run(job).then((end) => steps.settle(job, end)), change()]);
          },
        ];
        await meetings[index % meetings.length]?.();
        await plan(later);
        const rows = await fixture.reminders(event.eventId);
        const hits = receiver.received.filter(({ url }) => url === `/race-${index}`).length;
        return { index, rows, hits };
      };
      // Conflicts are only within a round. Running all rounds at once would exceed the time limit
      // for a connection.
      const ends: Awaited<ReturnType<typeof round>>[] = [];
      const rounds = Array.from({ length: 60 }, (_, index) => index);
      const inTurn = async () => {
        for (let index = rounds.shift(); index !== undefined; index = rounds.shift())
          ends.push(await round(index));
      };
      await Promise.all(Array.from({ length: 8 }, inTurn)).finally(() => {
        receiver.onRequest = () => Promise.resolve();
      });
      expect(ends).toHaveLength(60);
      for (const { index, rows, hits } of ends) {
        if (index % 4 === 0) expect(hits).toBe(1);
        expect(hits).toBeLessThanOrEqual(1);
        expect(rows.filter(({ status }) => status === 'sent')).toHaveLength(hits);
        // One reminder is still scheduled, at the new time, and has a queue row.
        const scheduled = rows.filter(({ status }) => status === 'scheduled');
        expect(scheduled.map(({ due_at, run_at }) => [due_at.getTime(), run_at !== null])).toEqual([
          [start.getTime() + 60 * MINUTE, true],
        ]);
      }
    });
  });

  it('is dropped when its account was deleted', async () => {
    const { id } = await due(notificationOf.webhook(30, receiver.origin));
    await fixture.database.query('delete from reminder where id = $1', [id]);
    const { next, result } = await fire(id);
    expect([next, result]).toEqual([{ kind: 'done' }, { kind: 'dropped' }]);
    expect(await fixture.database.query('select 1 from reminder_job where id = $1', [id])).toEqual(
      [],
    );
  });

  it('is quarantined when it keeps killing its worker, and retried after an unexpected error', async () => {
    const { event, id } = await due(notificationOf.webhook(30, receiver.origin));
    const job = await steps.claim(id);
    await steps.settle(job, dispatcher.onError(job));
    expect(await reminder(event)).toMatchObject({
      status: 'scheduled',
      reason: 'internal error, described in the log of the server',
      attempts: 1,
    });
    const again = await steps.claim(id);
    await steps.settle(again, dispatcher.onPoison(again));
    expect(await reminder(event)).toMatchObject({ status: 'failed', run_at: null });
  });
});
