import Nylas from 'nylas';
import connectModule from 'nylas/lib/models/connect.js';
import draftModule from 'nylas/lib/models/draft.js';
import eventNotificationModule from 'nylas/lib/models/event-notification.js';
import eventModule from 'nylas/lib/models/event.js';
import notificationModule from 'nylas/lib/models/webhook-notification.js';
import webhookModule from 'nylas/lib/models/webhook.js';
import { COMPANIES } from '../support/companies/companies.ts';
import { type CompanyStub, plainMessage } from '../support/companies/company.ts';
import { registerCompany } from '../support/companies/connected.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { NativeAuthenticationProvider, Scope } = connectModule;
const { default: Draft } = draftModule;
const { default: Event } = eventModule;
const { EventNotificationType } = eventNotificationModule;
const { default: Webhook } = webhookModule;
const { default: WebhookNotification } = notificationModule;

/** The client's names of the companies, and the settings that it requires besides OAuth. */
const IN_CLIENT = {
  google: { native: NativeAuthenticationProvider.Gmail, required: {} },
  microsoft: {
    native: NativeAuthenticationProvider.Office365,
    required: { redirect_uri: 'https://app.example.test/callback' },
  },
};

/** The unchanged official Node client, with accounts of the two large companies' stubs. */
describe.each(COMPANIES)('nylas@6.11.1 with an account of $title', (company) => {
  const { provider, domain } = company;
  const [ada, bo] = [`ada@${domain}`, `bo@${domain}`];
  let world: CompanyStub;
  let receiver: Receiver;
  let server: TestApp;
  let application: TestApplication;
  let nylas: ReturnType<typeof Nylas.with>;

  beforeAll(async () => {
    [world, receiver] = await Promise.all([company.start(), Receiver.start()]);
    world.addUser(ada, 'Ada');
    world.addUser(bo, 'Bo');
    server = await startTestApp({ SYNC_POLL_SECONDS: '1', ...world.environment });
    application = await createApplication(server.app);
    await registerCompany(server, application, company, world);
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
  });
  afterAll(async () => {
    await server.close();
    await Promise.all([world.stop(), receiver.stop()]);
  });

  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
  const subjectsAtBo = () => world.messages(bo).map(({ subject }) => subject);
  const ended = (id: string | undefined) =>
    until('the job to end', async () => {
      const { status } = await nylas.jobStatuses.find(id ?? '');
      return status === 'successful';
    });
  const reported = (text: string) =>
    until(`a request with "${text}"`, async () =>
      receiver.posted.find(({ body }) => body.includes(text)),
    );
  const draft = (subject: string) =>
    new Draft(nylas, { subject, body: '<p>Hello</p>', to: [{ email: bo, name: 'Bo' }] });

  it('connects the account, which is soon running', async () => {
    await world.deliver(ada, plainMessage(ada, 'Before the connection'));
    const { native, required } = IN_CLIENT[provider];
    const settings = {
      [`${provider}_client_id`]: world.client.client_id,
      [`${provider}_client_secret`]: world.client.client_secret,
      [`${provider}_refresh_token`]: world.refreshToken(ada, ['mail', 'calendar', 'contacts']),
    };
    const { code } = await Nylas.connect.authorize({
      name: 'Ada',
      emailAddress: ada,
      provider: native,
      scopes: [Scope.Email, Scope.Calendar, Scope.Contacts],
      settings: { ...settings, ...required },
    });
    const account = await Nylas.connect.token(code);
    nylas = Nylas.with(account.accessToken);
    const running = await until('the account to run', async () => {
      const one = await nylas.account.get();
      return one.syncState === 'running' && one;
    });
    expect(running.emailAddress).toBe(ada);
    expect(running.organizationUnit).toBe(company.organizationUnit);
  });

  it('registers a webhook', async () => {
    const webhook = new Webhook(nylas, application.clientId, {
      callbackUrl: `${receiver.origin}/hooks`,
      state: 'active',
      triggers: ['message.created', 'job.successful', 'event.created'],
    });
    await webhook.save();
    expect(webhook.id).toBeTruthy();
  });

  it('reads messages that were there, and those that arrive', async () => {
    const find = (subject: string) =>
      until(`the message "${subject}"`, async () => (await nylas.messages.list({ subject }))[0]);
    const before = await find('Before the connection');
    expect(before.from?.[0]?.email).toBe('cy@elsewhere.test');
    expect(before.body).toContain('Good day');
    await world.deliver(ada, plainMessage(ada, 'After the connection'));
    const after = await find('After the connection');
    expect(after.unread).toBe(true);
    const { headers, body } = await reported(after.id ?? '');
    const signature = String(headers['x-nylas-signature']);
    expect(WebhookNotification.verifyWebhookSignature(signature, body)).toBe(true);
    after.unread = false;
    await after.save();
  });

  it('sends a message now, and the sender sees it in Sent', async () => {
    await draft('Now').send();
    await until('the message at Bo', async () => subjectsAtBo().includes('Now'));
    const [copy] = await until('the copy in Sent', async () => {
      const found = await nylas.messages.list({ subject: 'Now', in: 'sent' });
      return found.length > 0 && found;
    });
    expect(copy?.to?.[0]?.email).toBe(bo);
  });

  it('schedules a message, which leaves at its time', async () => {
    const job = await nylas.outbox.send(draft('Scheduled'), { sendAt: inSeconds(2) });
    expect(subjectsAtBo()).not.toContain('Scheduled');
    await ended(job.jobStatusId);
    expect(subjectsAtBo()).toContain('Scheduled');
  });

  it('edits a scheduled message, which leaves at its new time with its new text', async () => {
    const { jobStatusId } = await nylas.outbox.send(draft('Too early'), {
      sendAt: inSeconds(3_600),
    });
    await nylas.outbox.update(jobStatusId ?? '', {
      updatedMessage: draft('Edited'),
      sendAt: inSeconds(2),
    });
    await ended(jobStatusId);
    expect(subjectsAtBo()).toContain('Edited');
    expect(subjectsAtBo()).not.toContain('Too early');
    expect(JSON.parse((await reported(jobStatusId ?? '')).body.toString())).toMatchObject({
      deltas: [{ object: 'job_status', type: 'job.successful' }],
    });
  });

  it('books a meeting: the company invites the participant once, and Carillon sends the reminders', async () => {
    const calendars = await until('the calendars', async () => {
      const found = await nylas.calendars.list();
      return found.length > 0 && found;
    });
    const primary = calendars.find(({ isPrimary }) => isPrimary) ?? calendars[0];
    // The reminders are due two seconds from now.
    const start = inSeconds(62);
    const event = new Event(nylas, {
      calendarId: primary?.id ?? '',
      title: 'Review',
      when: { startTime: start, endTime: start + 3_600 },
      participants: [{ email: bo, name: 'Bo', status: 'noreply', phoneNumber: '+15550100' }],
      notifications: [
        {
          type: EventNotificationType.Email,
          minutesBeforeEvent: 1,
          subject: 'In a minute',
          body: '<b>Room 1</b>',
        },
        {
          type: EventNotificationType.Webhook,
          minutesBeforeEvent: 1,
          url: `${receiver.origin}/reminders`,
          payload: '{"reminder":"sent"}',
        },
      ],
    });
    const saved = await event.save({ notify_participants: true });
    await ended(saved.jobStatusId);
    expect(world.eventMails().filter(({ to }) => to === bo)).toHaveLength(1);
    expect(subjectsAtBo().filter((subject) => /review/i.test(subject))).toHaveLength(0);
    await reported('{"reminder":"sent"}');
    await until('the reminder at Bo', async () => subjectsAtBo().includes('In a minute'));
    await reported(saved.id ?? '');
  });
});
