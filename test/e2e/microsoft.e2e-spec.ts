import { X509Certificate } from 'node:crypto';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { APP_CERTIFICATE, APP_KEY } from '../support/microsoft/client-certificate.ts';
import { MicrosoftStub } from '../support/microsoft/microsoft-stub.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { Receiver } from '../support/receiver.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const REDIRECT = 'https://app.example.test/callback';
const MAIL = [
  'openid',
  'email',
  'profile',
  'offline_access',
  'User.Read',
  'Mail.ReadWrite',
  'Mail.Send',
];

interface SeenMessage {
  id: string;
  thread_id: string;
  subject: string;
  unread: boolean;
  starred: boolean;
  folder: { name: string | null; display_name: string };
}

/** The whole server with accounts at the stub of Microsoft. */
describe('a Microsoft account', () => {
  let stub: MicrosoftStub;
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let people = 0;

  beforeAll(async () => {
    stub = await MicrosoftStub.start({ settings: { requiresImmutableIds: true } });
    receiver = await Receiver.start();
    server = await startTestApp({
      MICROSOFT_LOGIN_URL: stub.origin,
      MICROSOFT_GRAPH_URL: stub.origin,
    });
  });
  const register = (settings: object = { client_id: 'app', client_secret: 'app-secret' }) =>
    call('post', '/connect/integrations', {
      name: 'Microsoft',
      provider: 'microsoft',
      settings,
      redirect_uris: [REDIRECT],
    }).expect(200);
  /** Registers an application that acts by itself, to which an administrator has agreed. */
  const registerDaemon = async (clientId: string, proof: object) => {
    await register({ client_id: clientId, tenant: 'contoso.test', ...proof });
    const query = new URLSearchParams({ client_id: clientId, redirect_uri: REDIRECT });
    await fetch(`${stub.origin}/contoso.test/adminconsent?${query}`, { redirect: 'manual' });
  };
  beforeEach(async () => {
    application = await createApplication(server.app);
    stub.settings.consent = 'granted';
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
    await stub.stop();
    expectDocumented(stub);
  });

  const call = (method: 'get' | 'post' | 'delete', path: string, body?: object) => {
    const sent = request(server.url)[method](path).set(application.basic);
    return body ? sent.send(body) : sent;
  };
  const person = (): string => {
    people += 1;
    const email = `person${people}@contoso.test`;
    stub.addUser(email, { displayName: `Person ${people}` });
    return email;
  };
  const mime = (to: string, subject: string, more = '') =>
    `From: bo@x.test\r\nTo: ${to}\r\nSubject: ${subject}\r\n${more}\r\nHi\r\n`;
  const connect = async (email = person(), settings: object = {}) => {
    await register();
    const microsoft_refresh_token = stub.tokensFor(email, MAIL).refreshToken;
    const { body } = await call('post', '/connect/grants', {
      provider: 'microsoft',
      settings: { microsoft_refresh_token, ...settings },
    });
    return connected(email, body);
  };
  const connected = (email: string, body: { success: boolean; error?: unknown; data: object }) => {
    expect([body.success, body.error]).toEqual([true, undefined]);
    const { id, access_token: token } = body.data as { id: string; access_token: string };
    return { id, email, bearer: { authorization: `Bearer ${token}` } };
  };
  type Connected = Awaited<ReturnType<typeof connect>>;
  const api = (one: Connected, method: 'get' | 'post' | 'put' | 'delete', path: string) =>
    request(server.url)[method](path).set(one.bearer);
  const messages = async (one: Connected, query = ''): Promise<SeenMessage[]> => {
    const { body, status } = await api(one, 'get', `/messages${query}`);
    expect([status, body.message]).toEqual([200, undefined]);
    return body;
  };
  const arrived = (one: Connected, subject: string) =>
    until(
      `"${subject}"`,
      async () => (await messages(one, `?subject=${encodeURIComponent(subject)}`))[0],
    );
  const running = (one: Connected) =>
    until('the account to run', async () => {
      const { body } = await api(one, 'get', '/account');
      return body.sync_state === 'running' && body;
    });
  const mailboxOf = ({ email }: { email: string }) => stub.user(email).mailbox;

  async function visit(email: string): Promise<PageBrowser> {
    const browser = new PageBrowser(server);
    const asked = { provider: 'microsoft', redirect_uri: REDIRECT, login_hint: email };
    const { body } = await call('post', '/connect/auth', asked).expect(200);
    await browser.get(body.data.url as string);
    if (!browser.page.location) await browser.submit('provider', { email });
    const visited = await fetch(browser.page.location ?? '', { redirect: 'manual' });
    await browser.get(visited.headers.get('location') ?? '');
    if (browser.page.location?.startsWith('/')) await browser.get(browser.page.location);
    return browser;
  }

  it('is connected on the pages, and its mailbox appears', async () => {
    await register();
    const email = person();
    await stub.put(email, mime(email, 'Before'));
    const browser = await visit(email);
    await browser.submit('consent');
    const back = new URL(browser.page.location ?? '').searchParams;
    expect(Object.fromEntries(back)).toMatchObject({
      success: 'true',
      provider: 'microsoft',
      email,
    });
    const accounts = async () =>
      (
        await request(server.url)
          .get(`/a/${application.clientId}/accounts`)
          .set(application.secretBasic)
      ).body as object[];
    expect(await accounts()).toMatchObject([
      { provider: 'office365', authentication_type: 'oauth', email },
    ]);
    await until('the account to run', async () =>
      JSON.stringify(await accounts()).includes('running'),
    );
  });

  it('says that an administrator has to agree, and can be connected afterwards', async () => {
    await register();
    const email = person();
    stub.settings.consent = 'admin-required';
    const browser = await visit(email);
    expect(`${browser.page.text}${decodeURIComponent(browser.page.location ?? '')}`).toMatch(
      /administrator/i,
    );
    await fetch(
      `${stub.origin}/contoso.test/v2.0/adminconsent?client_id=app&redirect_uri=${encodeURIComponent(REDIRECT)}&scope=${encodeURIComponent('https://graph.microsoft.com/.default')}`,
      { redirect: 'manual' },
    );
    stub.settings.consent = 'granted';
    const again = await visit(email);
    await again.submit('consent');
    expect(new URL(again.page.location ?? '').searchParams.get('success')).toBe('true');
  });

  it('shows messages in their folders, and sends a webhook for a new one', async () => {
    const one = await connect();
    await request(server.url)
      .post(`/a/${application.clientId}/webhooks`)
      .set(application.secretBasic)
      .send({
        callback_url: `${receiver.origin}/hook`,
        triggers: ['message.created'],
        state: 'active',
      });
    expect(await running(one)).toMatchObject({
      provider: 'office365',
      organization_unit: 'folder',
    });
    await stub.put(one.email, mime(one.email, 'News'));
    const message = await arrived(one, 'News');
    expect(message).toMatchObject({ unread: true, folder: { name: 'inbox' } });
    await until('the webhook', async () =>
      receiver.received.some(({ body }) => body.includes(message.id)),
    );
    const { body: folder } = await api(one, 'post', '/folders').send({
      display_name: 'Work/Plans',
    });
    await until('the folder', async () =>
      [...mailboxOf(one).folders.values()].some(({ displayName }) => displayName === 'Plans'),
    );
    await api(one, 'put', `/messages/${message.id}`)
      .send({ folder_id: folder.id, unread: false, starred: true })
      .expect(200);
    await until('the message in the folder', async () => {
      const [seen] = [...mailboxOf(one).messages()];
      const at = mailboxOf(one).folders.get(seen?.folderId ?? '')?.displayName;
      return at === 'Plans' && seen?.isRead && seen.flag['flagStatus'] === 'flagged';
    });
    const [now] = await messages(one, '?subject=News');
    expect(now).toMatchObject({ id: message.id, folder: { display_name: 'Work/Plans' } });
  });

  it('sends now and from the outbox, replies in the thread, and has one copy of each', async () => {
    const [one, other] = [await connect(), person()];
    await running(one);
    const asked = await stub.put(
      one.email,
      mime(one.email, 'Plan', 'Message-ID: <plan@x.test>\r\n'),
    );
    const question = await arrived(one, 'Plan');
    const reply = await api(one, 'post', '/send').send({
      to: [{ email: other }],
      subject: 'Re: Plan',
      body: 'Yes',
      reply_to_message_id: question.id,
    });
    expect([reply.status, reply.body.message]).toEqual([200, undefined]);
    expect(reply.body.thread_id).toBe(question.thread_id);
    const threads = [...mailboxOf(one).messages()].map(({ conversationId }) => conversationId);
    expect(new Set(threads)).toEqual(new Set([asked.conversationId]));
    const queued = await api(one, 'post', '/v2/outbox').send({
      to: [{ email: other }],
      bcc: [{ email: 'hidden@elsewhere.test' }],
      subject: 'Queued',
      body: 'Later',
    });
    expect(queued.status).toBe(202);
    const sent = await arrived(one, 'Queued');
    await until('the job', async () => {
      const job = await api(one, 'get', `/job-statuses/${queued.body.job_status_id}`);
      return job.body.status === 'successful';
    });
    expect((await messages(one, '?subject=Queued')).map(({ id }) => id)).toEqual([sent.id]);
    const last = stub.world.sent.at(-1);
    expect(last).toMatchObject({ outside: ['hidden@elsewhere.test'] });
    expect(String(last?.mime)).not.toMatch(/^bcc:/im);
  });

  it('sends a message once although the response of Microsoft is lost', async () => {
    const one = await connect();
    await running(one);
    stub.faults.add({ match: ({ path }) => path.endsWith('/sendMail'), answer: '504-after-done' });
    const queued = await api(one, 'post', '/v2/outbox').send({
      to: [{ email: 'bo@elsewhere.test' }],
      subject: 'Once',
      body: 'Only',
    });
    await until('the job', async () => {
      const job = await api(one, 'get', `/job-statuses/${queued.body.job_status_id}`);
      return job.body.status === 'successful';
    });
    expect(stub.world.sent.filter(({ subject }) => subject === 'Once')).toHaveLength(1);
  });

  it('keeps drafts at Microsoft', async () => {
    const one = await connect();
    await running(one);
    const { body: draft } = await api(one, 'post', '/drafts').send({ subject: 'Draft', body: 'A' });
    const drafts = () => {
      const mailbox = mailboxOf(one);
      return [...mailbox.messagesIn(mailbox.folderId('drafts')).values()];
    };
    await until('the draft', async () => drafts().length === 1);
    await api(one, 'put', `/drafts/${draft.id}`).send({
      subject: 'Draft 2',
      version: draft.version,
    });
    await until('the next version', async () =>
      drafts().some(({ subject }) => subject === 'Draft 2'),
    );
    await until('the end of the first version', async () => drafts().length === 1);
  });

  it('keeps its tokens fresh, and becomes invalid when Microsoft wants to see its user', async () => {
    stub.settings.accessTokenSeconds = 1;
    const one = await connect();
    await stub.put(one.email, mime(one.email, 'Fresh'));
    const { id } = await arrived(one, 'Fresh');
    const useToken = () => api(one, 'get', `/messages/${id}`).set('accept', 'message/rfc822');
    const asked = stub.requestsOf('POST /common/oauth2/v2.0/token').length;
    await until('a fresh token', async () => {
      await useToken().expect(200);
      return stub.requestsOf('POST /common/oauth2/v2.0/token').length > asked + 1;
    });
    stub.requireInteraction(one.email);
    await until('the account to be invalid', async () => {
      await useToken();
      const { body } = await call('get', `/connect/grants/${one.id}`);
      return body.data.grant_status === 'invalid';
    });
    stub.settings.accessTokenSeconds = 3_600;
  });

  it('is a shared mailbox that a user may open, beside the own one of the user', async () => {
    const own = await connect();
    const member = own.email;
    const email = `team-${member}`;
    stub.addUser(email, { kind: 'shared' }).members.add(member);
    const scopes = [...MAIL, 'Mail.ReadWrite.Shared', 'Mail.Send.Shared'];
    const microsoft_refresh_token = stub.tokensFor(member, scopes).refreshToken;
    const { body } = await call('post', '/connect/grants', {
      provider: 'microsoft',
      settings: { email, shared_mailbox: true, microsoft_refresh_token },
    });
    const one = connected(email, body);
    await stub.put(email, mime(email, 'For the team'));
    await arrived(one, 'For the team');
    expect((await api(one, 'get', '/account')).body.email_address).toBe(email);
    expect((await api(own, 'get', '/account')).body.email_address).toBe(member);
    expect(one.id).not.toBe(own.id);
  });

  it.each(['secret', 'certificate'])(
    'is used by the application itself, with a %s',
    async (kind) => {
      const email = person();
      const clientId = `daemon-${kind}`;
      stub.addApp({
        clientId,
        secrets: new Set(['daemon-secret']),
        certificates: [new X509Certificate(APP_CERTIFICATE)],
        appRoles: new Set([
          'Mail.ReadWrite',
          'Mail.Send',
          'Calendars.ReadWrite',
          'Contacts.ReadWrite',
        ]),
      });
      const proof =
        kind === 'secret'
          ? { client_secret: 'daemon-secret' }
          : { client_certificate: APP_CERTIFICATE, client_private_key: APP_KEY };
      await registerDaemon(clientId, proof);
      const { body } = await call('post', '/connect/grants', {
        provider: 'microsoft',
        settings: { email, app_only: true },
      });
      const one = connected(email, body);
      await running(one);
      await stub.put(email, mime(email, 'Daemon'));
      await arrived(one, 'Daemon');
    },
  );

  it('has what an administrator has granted to the application itself, and says what is missing', async () => {
    const [first, second] = [person(), person()];
    const clientId = 'daemon-calendars';
    const client_secret = 'daemon-secret';
    stub.addApp({
      clientId,
      secrets: new Set([client_secret]),
      appRoles: new Set(['Calendars.ReadWrite']),
    });
    await registerDaemon(clientId, { client_secret });
    const { body } = await call('post', '/connect/grants', {
      provider: 'microsoft',
      settings: { email: first, app_only: true },
    });
    const one = connected(first, body);
    await running(one);
    await until(
      'the calendar',
      async () => (await api(one, 'get', '/calendars')).body.length === 1,
    );
    const refused = await api(one, 'get', '/messages');
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('email')]);
    const mailOnly = { email: second, app_only: true };
    const asked = { provider: 'microsoft', settings: mailOnly, scope: ['email'] };
    const answer = await call('post', '/connect/grants', asked);
    expect(JSON.stringify(answer.body)).toContain('none of the requested scopes is allowed');
  });

  it.each([
    ['may only send', ['User.Read', 'Mail.Send'], false, 'opens no part of the mailbox'],
    [
      'may only send for others',
      ['User.Read', 'Mail.Send', 'Mail.Send.Shared'],
      true,
      'ErrorAccessDenied',
    ],
    [
      'may only open calendars of others',
      ['User.Read', 'Calendars.Read', 'Calendars.Read.Shared'],
      true,
      'ErrorAccessDenied',
    ],
  ])('is not connected by a token that %s', async (_what, scopes, isShared, reason) => {
    const [member, other] = [person(), person()];
    stub.user(other).members.add(member);
    await register();
    const all = ['openid', 'offline_access', ...scopes];
    const microsoft_refresh_token = stub.tokensFor(member, all).refreshToken;
    const shared = isShared ? { email: other, shared_mailbox: true } : {};
    const { body } = await call('post', '/connect/grants', {
      provider: 'microsoft',
      settings: { ...shared, microsoft_refresh_token },
    });
    expect([body.success, JSON.stringify(body)]).toEqual([false, expect.stringContaining(reason)]);
    const accounts = await request(server.url)
      .get(`/a/${application.clientId}/accounts`)
      .set(application.secretBasic);
    expect(accounts.body).toEqual([]);
  });
});
