import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { GoogleStub } from '../support/google/google-stub.ts';
import { scope } from '../support/google/scopes.ts';
import { mime } from '../support/google/stub-client.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { Receiver } from '../support/receiver.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const REDIRECT = 'https://app.example.test/callback';
const MAIL = ['openid', 'email', 'profile', scope('gmail.modify')];

interface SeenMessage {
  id: string;
  thread_id: string;
  subject: string;
  unread: boolean;
  labels: { id: string; name: string; display_name: string }[];
}

/** The whole server with accounts at the stub of Google. */
describe('a Google account', () => {
  let stub: GoogleStub;
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let people = 0;

  beforeAll(async () => {
    stub = await GoogleStub.start();
    receiver = await Receiver.start();
    server = await startTestApp({ GOOGLE_URL: stub.origin, SYNC_POLL_SECONDS: '1' });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    stub.oauth.consent = {};
    stub.oauth.rotatesRefreshTokens = false;
    const { id: client_id, secret: client_secret } = stub.oauth.client;
    await call('post', '/connect/integrations', {
      name: 'Google',
      provider: 'google',
      settings: { client_id, client_secret },
      redirect_uris: [REDIRECT],
    }).expect(200);
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
  /** A person at Google, with mail only. */
  const person = (): string => {
    people += 1;
    const email = `person${people}@gmail.test`;
    stub.addUser(email, `Person ${people}`);
    return email;
  };
  const connect = async (email = person(), scopes = MAIL) => {
    const settings = { google_refresh_token: stub.oauth.refreshTokenFor(email, scopes) };
    const { body } = await call('post', '/connect/grants', { provider: 'google', settings });
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

  it('is connected on the pages, in the browser that left for Google, and its mailbox appears', async () => {
    const email = person();
    stub.deliver(mime({ From: 'bo@x.test', To: email, Subject: 'Before' }), [email]);
    stub.oauth.consent = { email };
    const browser = new PageBrowser(server);
    const asked = { provider: 'google', redirect_uri: REDIRECT, scope: ['email'] };
    const { body } = await call('post', '/connect/auth', asked).expect(200);
    await browser.get(body.data.url as string);
    await browser.submit('provider');
    const visited = await fetch(browser.page.location ?? '', { redirect: 'manual' });
    const returning = visited.headers.get('location') ?? '';
    // Another browser, which has a sign-in of its own, may not return with this one's state.
    const stranger = new PageBrowser(server);
    const { body: own } = await call('post', '/connect/auth', asked).expect(200);
    await stranger.get(own.data.url as string);
    expect((await stranger.get(returning)).status).toBe(403);
    await browser.get(returning);
    if (browser.page.location?.startsWith('/')) await browser.get(browser.page.location);
    await browser.submit('consent');
    const back = new URL(browser.page.location ?? '').searchParams;
    expect(Object.fromEntries(back)).toMatchObject({ success: 'true', provider: 'google', email });
    const { body: list } = await request(server.url)
      .get(`/a/${application.clientId}/accounts`)
      .set(application.secretBasic);
    expect(list).toMatchObject([{ provider: 'gmail', authentication_type: 'oauth', email }]);
  });

  it('shows messages with their labels, and sends a webhook for a new one', async () => {
    const one = await connect();
    const user = stub.world.users.get(one.email);
    const label = user?.mailbox.labels.create({ name: 'Work/Plans' });
    await request(server.url)
      .post(`/a/${application.clientId}/webhooks`)
      .set(application.secretBasic)
      .send({
        callback_url: `${receiver.origin}/hook`,
        triggers: ['message.created'],
        state: 'active',
      });
    expect(await running(one)).toMatchObject({ provider: 'gmail', organization_unit: 'label' });
    const [copy] = stub.deliver(mime({ From: 'bo@x.test', To: one.email, Subject: 'News' }), [
      one.email,
    ]);
    if (copy && label) user?.mailbox.relabel(copy, [label.id, 'IMPORTANT'], []);
    const message = await arrived(one, 'News');
    expect(message.unread).toBe(true);
    await until('the label', async () => {
      const [now] = await messages(one, '?subject=News');
      const names = now?.labels.map(({ display_name }) => display_name).toSorted();
      return JSON.stringify(names) === JSON.stringify(['All Mail', 'Inbox', 'Work/Plans']);
    });
    await until('the webhook', async () =>
      receiver.received.some(({ body }) => body.includes(message.id)),
    );
  });

  it('sends now and from the outbox, replies in the thread, and has one copy of each', async () => {
    const [one, other] = [await connect(), person()];
    await running(one);
    const [asked] = stub.deliver(
      mime({ From: other, To: one.email, Subject: 'Plan', 'Message-ID': '<plan@x.test>' }),
      [one.email],
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
    const user = stub.world.users.get(one.email);
    expect(user?.mailbox.thread(asked?.threadId ?? '')).toHaveLength(2);
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
    expect(stub.outgoing.at(-1)).toMatchObject({ to: ['hidden@elsewhere.test'] });
    expect(String(stub.outgoing.at(-1)?.raw)).not.toMatch(/^bcc:/im);
  });

  it('sends from its verified addresses, and refuses others instead of letting Gmail replace them', async () => {
    const one = await connect();
    const user = stub.world.users.get(one.email);
    const [sales, later] = [`sales-${one.email}`, `later-${one.email}`];
    user?.addAlias(sales);
    user?.addUnverified(later);
    const send = (path: string, from: string, subject: string) =>
      api(one, 'post', path).send({
        from: [{ email: from, name: 'Sales' }],
        to: [{ email: 'bo@elsewhere.test' }],
        subject,
        body: 'Hello',
      });
    const sent = await send('/send', sales.toUpperCase(), 'As sales');
    expect([sent.status, sent.body.message]).toEqual([200, undefined]);
    expect(String(stub.outgoing.at(-1)?.raw)).toMatch(new RegExp(`^From: .*<${sales}>`, 'im'));
    for (const [from, why] of [
      [later, /has not been verified yet/],
      ['chief@gmail.test', /Add it in the settings of Gmail/],
    ] as const) {
      const refused = await send('/send', from, 'Refused');
      expect(refused.status).toBe(402);
      expect(refused.body.message).toContain(`from: ${from} is not an address`);
      expect(refused.body.message).toMatch(why);
    }
    const queued = await send('/v2/outbox', later, 'Refused');
    expect(queued.status).toBe(202);
    const job = await until('the job to end', async () => {
      const { body } = await api(one, 'get', `/job-statuses/${queued.body.job_status_id}`);
      return body.status === 'failed' && body;
    });
    expect(JSON.stringify(job)).toContain(`from: ${later} is not an address`);
    const subjects = user?.mailbox
      .messages()
      .map(({ raw }) => /^Subject: (.*)$/m.exec(String(raw))?.[1]?.trim());
    expect(subjects).toEqual(['As sales']);
  });

  it('keeps drafts at Google, and changes flags and labels there', async () => {
    const one = await connect();
    await running(one);
    const { body: draft } = await api(one, 'post', '/drafts').send({ subject: 'Draft', body: 'A' });
    const mailbox = stub.world.users.get(one.email)?.mailbox;
    await until('the draft', async () => mailbox?.drafts.size === 1);
    await api(one, 'put', `/drafts/${draft.id}`).send({
      subject: 'Draft 2',
      version: draft.version,
    });
    await until('the next version', async () =>
      mailbox?.messages().some(({ raw }) => raw.includes('Subject: Draft 2')),
    );
    expect(mailbox?.messages()).toHaveLength(1);
    stub.deliver(mime({ From: 'bo@x.test', To: one.email, Subject: 'Flags' }), [one.email]);
    const message = await arrived(one, 'Flags');
    await api(one, 'put', `/messages/${message.id}`)
      .send({ unread: false, starred: true })
      .expect(200);
    await until('the star', async () =>
      mailbox?.messages().some(({ labels }) => labels.has('STARRED') && !labels.has('UNREAD')),
    );
  });

  it('has no scopes that the user did not allow, and says which are missing', async () => {
    const email = person();
    const settings = {
      google_refresh_token: stub.oauth.refreshTokenFor(email, [
        'openid',
        'email',
        scope('calendar'),
      ]),
    };
    const { body } = await call('post', '/connect/grants', { provider: 'google', settings });
    expect(body.data).toMatchObject({ email, granted_scope: expect.arrayContaining(['calendar']) });
    expect(body.data.granted_scope).not.toContain('email');
    const refused = await call('post', '/connect/grants', {
      provider: 'google',
      settings,
      scope: ['email.send'],
    });
    expect(refused.status).toBe(400);
  });

  it('keeps its tokens fresh when Google rotates them, and revokes them with the account', async () => {
    stub.oauth.rotatesRefreshTokens = true;
    const one = await connect();
    await running(one);
    const usable = stub.requestsOf('POST /token').length;
    stub.oauth.grants.expire(one.email);
    stub.deliver(mime({ From: 'bo@x.test', To: one.email, Subject: 'Fresh' }), [one.email]);
    await arrived(one, 'Fresh');
    expect(stub.requestsOf('POST /token').length).toBeGreaterThan(usable);
    const revoked = stub.requestsOf('POST /revoke').length;
    await call('delete', `/connect/grants/${one.id}`).expect(200);
    await until('the revocation', async () => stub.requestsOf('POST /revoke').length > revoked);
  });
});
