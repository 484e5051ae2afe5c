import Nylas from 'nylas';
import calendarModule from 'nylas/lib/models/event.js';
import connectModule from 'nylas/lib/models/connect.js';
import draftModule from 'nylas/lib/models/draft.js';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { GoogleStub } from '../support/google/google-stub.ts';
import { scope } from '../support/google/scopes.ts';
import { MicrosoftStub } from '../support/microsoft/microsoft-stub.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { NativeAuthenticationProvider, Scope } = connectModule;
const { default: Draft } = draftModule;
const { default: Event } = calendarModule;

/** A company with two people who write to each other. */
interface Company {
  provider: 'google' | 'microsoft';
  native: (typeof NativeAuthenticationProvider)[keyof typeof NativeAuthenticationProvider];
  organizationUnit: 'label' | 'folder';
  /** Addresses of Ada and Bo. */
  ada: string;
  bo: string;
  start(): Promise<{
    environment: Record<string, string>;
    registration: Record<string, string>;
    settings: Record<string, string>;
    /** Lets a message arrive at Ada's mailbox from outside. */
    deliver(mime: string): Promise<unknown>;
    /** Subjects in Bo's mailbox. */
    subjectsAtBo(): string[];
    /** Everybody whom the company has mailed about events. */
    invited(): string[];
    stop(): Promise<void>;
  }>;
}

const google: Company = {
  provider: 'google',
  native: NativeAuthenticationProvider.Gmail,
  organizationUnit: 'label',
  ada: 'ada@gmail.test',
  bo: 'bo@gmail.test',
  async start() {
    const stub = await GoogleStub.start();
    stub.addUser(this.ada, 'Ada');
    const bo = stub.addUser(this.bo, 'Bo');
    const { id, secret } = stub.oauth.client;
    const scopes = ['gmail.modify', 'gmail.send', 'calendar', 'contacts'].map(scope);
    const token = stub.oauth.refreshTokenFor(this.ada, ['openid', 'email', ...scopes]);
    return {
      environment: { GOOGLE_URL: stub.origin },
      registration: { client_id: id, client_secret: secret },
      settings: {
        google_client_id: id,
        google_client_secret: secret,
        google_refresh_token: token,
      },
      deliver: async (mime) => stub.deliver(mime, [this.ada]),
      subjectsAtBo: () => subjectsIn(bo.mailbox.messages().map(({ raw }) => raw)),
      invited: () => stub.calendars.mails.map(({ to }) => to),
      async stop() {
        expectDocumented(stub);
        await stub.stop();
      },
    };
  },
};

const microsoft: Company = {
  provider: 'microsoft',
  native: NativeAuthenticationProvider.Office365,
  organizationUnit: 'folder',
  ada: 'ada@contoso.test',
  bo: 'bo@contoso.test',
  async start() {
    const stub = await MicrosoftStub.start();
    stub.addUser(this.ada, { displayName: 'Ada' });
    const bo = stub.addUser(this.bo, { displayName: 'Bo' });
    const scopes = ['Mail.ReadWrite', 'Mail.Send', 'Calendars.ReadWrite', 'Contacts.ReadWrite'];
    const { refreshToken } = stub.tokensFor(this.ada, ['User.Read', 'offline_access', ...scopes]);
    return {
      environment: { MICROSOFT_LOGIN_URL: stub.origin, MICROSOFT_GRAPH_URL: stub.origin },
      registration: { client_id: 'app', client_secret: 'app-secret' },
      settings: {
        microsoft_client_id: 'app',
        microsoft_client_secret: 'app-secret',
        microsoft_refresh_token: refreshToken,
        redirect_uri: 'https://app.example.test/callback',
      },
      deliver: (mime) => stub.put(this.ada, mime),
      subjectsAtBo: () => [...bo.mailbox.messages()].map(({ subject }) => subject),
      invited: () => stub.world.meetingMails.flatMap(({ to }) => to),
      async stop() {
        expectDocumented(stub);
        await stub.stop();
      },
    };
  },
};

const subjectsIn = (raws: readonly Buffer[]) =>
  raws.map((raw) => /^Subject: (.*)\r?$/im.exec(raw.toString())?.[1] ?? '');

const mime = (to: string, subject: string) =>
  [
    'From: Cy <cy@elsewhere.test>',
    `To: <${to}>`,
    `Subject: ${subject}`,
    `Message-ID: <${subject.replaceAll(' ', '-')}@elsewhere.test>`,
    'Date: Mon, 23 Nov 2026 12:00:00 +0000',
    'Content-Type: text/plain',
    '',
    'Good day',
    '',
  ].join('\r\n');

/** The unchanged official Node client, with accounts of the two large companies' stubs. */
describe.each([google, microsoft])('nylas@6.11.1 with an account of $provider', (company) => {
  let world: Awaited<ReturnType<Company['start']>>;
  let server: TestApp;
  let application: TestApplication;
  let nylas: ReturnType<typeof Nylas.with>;

  beforeAll(async () => {
    world = await company.start();
    server = await startTestApp(world.environment);
    application = await createApplication(server.app);
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ name: 'Mail', provider: company.provider, settings: world.registration })
      .expect(200);
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
  });
  afterAll(async () => {
    await server.close();
    await world.stop();
  });

  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
  const draft = (subject: string) =>
    new Draft(nylas, { subject, body: '<p>Hello</p>', to: [{ email: company.bo, name: 'Bo' }] });

  it('connects the account, which is soon running', async () => {
    await world.deliver(mime(company.ada, 'Before the connection'));
    const { code } = await Nylas.connect.authorize({
      name: 'Ada',
      emailAddress: company.ada,
      provider: company.native,
      scopes: [Scope.Email, Scope.Calendar, Scope.Contacts],
      settings: world.settings,
    });
    const account = await Nylas.connect.token(code);
    nylas = Nylas.with(account.accessToken);
    const running = await until('the account to run', async () => {
      const one = await nylas.account.get();
      return one.syncState === 'running' && one;
    });
    expect(running.emailAddress).toBe(company.ada);
    expect(running.organizationUnit).toBe(company.organizationUnit);
  });

  it('reads messages that were there, and those that arrive', async () => {
    const find = (subject: string) =>
      until(`the message "${subject}"`, async () => (await nylas.messages.list({ subject }))[0]);
    const before = await find('Before the connection');
    expect(before.from?.[0]?.email).toBe('cy@elsewhere.test');
    expect(before.body).toContain('Good day');
    await world.deliver(mime(company.ada, 'After the connection'));
    const after = await find('After the connection');
    expect(after.unread).toBe(true);
    after.unread = false;
    await after.save();
  });

  it('sends a message now, and the sender sees it in Sent', async () => {
    await draft('Now').send();
    await until('the message at Bo', async () => world.subjectsAtBo().includes('Now'));
    const [copy] = await until('the copy in Sent', async () => {
      const found = await nylas.messages.list({ subject: 'Now', in: 'sent' });
      return found.length > 0 && found;
    });
    expect(copy?.to?.[0]?.email).toBe(company.bo);
  });

  it('schedules a message, which leaves at its time', async () => {
    const job = await nylas.outbox.send(draft('Scheduled'), { sendAt: inSeconds(2) });
    expect(world.subjectsAtBo()).not.toContain('Scheduled');
    await until('the job to end', async () => {
      const { status } = await nylas.jobStatuses.find(job.jobStatusId ?? '');
      return status === 'successful';
    });
    expect(world.subjectsAtBo()).toContain('Scheduled');
  });

  it('books a meeting, and the company invites the participant once', async () => {
    const calendars = await until('the calendars', async () => {
      const found = await nylas.calendars.list();
      return found.length > 0 && found;
    });
    const primary = calendars.find(({ isPrimary }) => isPrimary) ?? calendars[0];
    const start = inSeconds(86_400);
    const event = new Event(nylas, {
      calendarId: primary?.id ?? '',
      title: 'Review',
      when: { startTime: start, endTime: start + 3_600 } as never,
      participants: [{ email: company.bo, name: 'Bo', status: 'noreply' }],
    });
    const saved = await event.save({ notify_participants: true });
    await until('the job to end', async () => {
      const { status } = await nylas.jobStatuses.find(saved.jobStatusId ?? '');
      return status === 'successful';
    });
    expect(world.invited().filter((to) => to === company.bo)).toHaveLength(1);
    expect(world.subjectsAtBo().filter((subject) => /review/i.test(subject))).toHaveLength(0);
  });
});
