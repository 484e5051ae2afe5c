import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { ScriptedSmtp } from '../support/scripted-smtp.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { FakeImap } from './support/fake-imap.ts';

const REDIRECT = 'https://app.example.test/callback';
const ADA = 'ada@victim.test';
const SECRET = 'Salaries of everybody';

/** The IMAP and SMTP server of one user or attacker. */
interface Servers {
  imap: FakeImap;
  smtp: ScriptedSmtp;
  settings: Record<string, string | number>;
}

/** A connected account, with what requests for it need. */
interface Connected {
  id: string;
  token: string;
}

describe("an attempt to take over another user's account", () => {
  let server: TestApp;
  let application: TestApplication;
  let hers: Servers;
  let his: Servers;
  const running: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    server = await startTestApp({ SYNC_POLL_SECONDS: '5' });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await integrate();
    hers = await startServers('her password');
    his = await startServers();
    hers.imap.deliver({
      raw: `From: boss@victim.test\r\nTo: ${ADA}\r\nSubject: ${SECRET}\r\n\r\nHello\r\n`,
    });
    his.imap.deliver({
      raw: `From: eve@evil.test\r\nTo: ${ADA}\r\nSubject: Planted\r\n\r\nHello\r\n`,
    });
  });
  afterAll(async () => {
    await server.close();
    for (const one of running) await one.stop();
  });

  const integrate = (change: object = {}) =>
    request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ name: 'Mail', provider: 'imap', redirect_uris: [REDIRECT], ...change })
      .expect(200);

  /**
   * @param password the only accepted password; every password is accepted if it is absent
   * @param refusal the SMTP server's answer to every sender; all mail is accepted if it is absent
   */
  async function startServers(password?: string, refusal?: string): Promise<Servers> {
    const imap = await FakeImap.start(password === undefined ? {} : { password });
    const smtp = await ScriptedSmtp.start({
      answer: (step) => (step === 'mail' ? refusal : undefined),
    });
    running.push(imap, smtp);
    const settings = {
      imap_host: '127.0.0.1',
      imap_port: imap.port,
      imap_security: 'none',
      imap_password: password ?? 'anything',
      smtp_host: '127.0.0.1',
      smtp_port: smtp.port,
      smtp_security: 'none',
    };
    return { imap, smtp, settings };
  }

  const bearer = ({ token }: Connected) => ({ authorization: `Bearer ${token}` });
  const authorize = (settings: object, more: object = {}) =>
    request(server.url)
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        name: 'A',
        email_address: ADA,
        provider: 'imap',
        settings,
        ...more,
      });
  const exchange = (code: string) =>
    request(server.url)
      .post('/connect/token')
      .send({ client_id: application.clientId, client_secret: application.clientSecret, code });

  async function nativeSignIn({ settings }: Servers): Promise<Connected> {
    const { body } = await authorize(settings).expect(200);
    const connected = await exchange(body.code).expect(200);
    return { id: connected.body.id, token: connected.body.access_token };
  }

  async function directGrant({ settings }: Servers): Promise<Connected> {
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'imap', settings: { email: ADA, ...settings } })
      .expect(200);
    return { id: body.data.id, token: body.data.access_token };
  }

  /**
   * Types credentials into the current page and agrees.
   * @returns the query of the redirect to the application
   */
  async function typeInto(browser: PageBrowser, { settings }: Servers): Promise<URLSearchParams> {
    const { imap_password: password, ...servers } = settings;
    const typed = Object.fromEntries(
      Object.entries({ ...servers, password }).map(([n, v]) => [n, String(v)]),
    );
    await browser.follow('credentials', { email: ADA, ...typed });
    await browser.submit('consent');
    const back = new URL(browser.page.location ?? 'about:blank');
    return new URLSearchParams(back.search || back.hash.slice(1));
  }

  async function hostedSignIn(servers: Servers): Promise<Connected> {
    const { body } = await request(server.url)
      .post('/connect/auth')
      .set(application.basic)
      .send({ provider: 'imap', redirect_uri: REDIRECT })
      .expect(200);
    const browser = new PageBrowser(server);
    await browser.get(body.data.url);
    const back = await typeInto(browser, servers);
    const connected = await exchange(back.get('code') ?? '').expect(200);
    return { id: connected.body.id, token: connected.body.access_token };
  }

  async function publicLink(servers: Servers): Promise<Connected> {
    const browser = new PageBrowser(server);
    const query = {
      client_id: application.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      provider: 'imap',
    };
    const { location } = await browser.get(`/oauth/authorize?${new URLSearchParams(query)}`);
    await browser.get(location ?? '');
    const back = await typeInto(browser, servers);
    const { body } = await request(server.url)
      .post('/oauth/token')
      .send({
        client_id: application.clientId,
        client_secret: application.clientSecret,
        grant_type: 'authorization_code',
        code: back.get('code'),
      })
      .expect(200);
    return { id: body.account_id, token: body.access_token };
  }

  const SIGN_INS: readonly (readonly [string, (servers: Servers) => Promise<Connected>])[] = [
    ['POST /connect/authorize and /connect/token', nativeSignIn],
    ['POST /connect/grants', directGrant],
    ['the hosted pages', hostedSignIn],
    ['the public link /oauth/authorize', publicLink],
  ];

  const subjects = async (account: Connected): Promise<string[]> => {
    const { body } = await request(server.url).get('/messages').set(bearer(account)).expect(200);
    return (body as { subject: string }[]).map(({ subject }) => subject);
  };
  const untilMirrored = (account: Connected, subject: string) =>
    until(`"${subject}" in the mirror`, async () => (await subjects(account)).includes(subject));
  const messageLater = async (
    account: Connected,
    sendAt = Math.floor(Date.now() / 1000) + 3_600,
  ) => {
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(bearer(account))
      .send({
        to: [{ email: 'bank@victim.test' }],
        subject: 'Pay',
        body: 'please',
        send_at: sendAt,
      })
      .expect(202);
    return body.job_status_id as string;
  };
  const outboxOf = async (account: Connected) =>
    (await request(server.url).get('/v2/outbox').set(bearer(account)).expect(200)).body as {
      subject: string;
    }[];
  const grantOf = async (id: string) =>
    (await request(server.url).get(`/connect/grants/${id}`).set(application.basic).expect(200)).body
      .data as {
      address_proven: boolean;
      proof: string | null;
    };
  const prove = (id: string) =>
    rowsOf(
      server,
      `update "grant" set proof = 'discovery', proven_at = now(), prove_at = null where id = $1`,
      [id],
    );

  describe.each(SIGN_INS)('by %s', (_, signIn) => {
    it('with other mail servers gives a separate account, which sees no data of the first', async () => {
      const ada = await nativeSignIn(hers);
      await untilMirrored(ada, SECRET);
      await messageLater(ada);
      const eve = await signIn(his);
      expect(eve.id).not.toBe(ada.id);
      await untilMirrored(eve, 'Planted');
      expect(await subjects(eve)).toEqual(['Planted']);
      expect(await outboxOf(eve)).toEqual([]);
      expect(await subjects(ada)).toEqual([SECRET]);
      expect(await outboxOf(ada)).toHaveLength(1);
      expect(await grantOf(eve.id)).toMatchObject({ address_proven: false, proof: null });
    });

    it("before the owner signs in gives the first token no access to the owner's data", async () => {
      const eve = await nativeSignIn(his);
      await untilMirrored(eve, 'Planted');
      const ada = await signIn(hers);
      expect(ada.id).not.toBe(eve.id);
      await untilMirrored(ada, SECRET);
      expect(await subjects(ada)).toEqual([SECRET]);
      expect(await subjects(eve)).toEqual(['Planted']);
    });

    it('to the same mailbox again gives the same account', async () => {
      const ada = await nativeSignIn(hers);
      expect((await signIn(hers)).id).toBe(ada.id);
    });
  });

  it('at another port of the same machine, or with another login at the same server, gives another account', async () => {
    const ada = await nativeSignIn(hers);
    const bob = await authorize({ ...hers.settings, imap_username: 'bob' }).expect(200);
    const asBob = (await exchange(bob.body.code).expect(200)).body.id;
    expect(new Set([ada.id, (await nativeSignIn(his)).id, asBob]).size).toBe(3);
  });

  it('by many simultaneous sign-ins creates one account for each mailbox', async () => {
    const both = await Promise.all([hers, his, hers, his].map(directGrant));
    expect(both.map(({ id }) => id)).toEqual([both[0]?.id, both[1]?.id, both[0]?.id, both[1]?.id]);
    expect(both[0]?.id).not.toBe(both[1]?.id);
  });

  describe('by re-authenticating an account by its address', () => {
    it('is refused at another mail server, and changes nothing', async () => {
      const ada = await nativeSignIn(hers);
      await untilMirrored(ada, SECRET);
      const { body } = await authorize(his.settings, { reauth_account_id: ada.id }).expect(200);
      const refused = await exchange(body.code);
      expect(refused.status).toBe(400);
      expect(refused.body.message).toContain(
        'reauth_account_id: this account is at other mail servers',
      );
      expect(await subjects(ada)).toEqual([SECRET]);
      const rows = await rowsOf(server, 'select id from "grant" where application_id = $1', [
        application.id,
      ]);
      expect(rows).toHaveLength(1);
    });

    it('is refused if only the stored account is proven', async () => {
      const ada = await nativeSignIn(hers);
      await prove(ada.id);
      const { body } = await authorize(his.settings, { reauth_account_id: ada.id }).expect(200);
      expect((await exchange(body.code)).status).toBe(400);
      expect(await grantOf(ada.id)).toMatchObject({ address_proven: true });
    });

    it('moves the account if both mailboxes are proven, and revokes its tokens', async () => {
      await request(server.url)
        .patch('/connect/integrations/imap')
        .set(application.basic)
        .send({
          settings: {
            client_id: 'x',
            authorization_endpoint: 'https://id.example.test/a',
            oauth_scope: 'mail',
            token_endpoint: 'https://id.example.test/t',
            imap_host: '127.0.0.1',
            imap_port: his.imap.port,
            smtp_host: '127.0.0.1',
          },
        })
        .expect(200);
      const ada = await nativeSignIn(hers);
      await untilMirrored(ada, SECRET);
      await prove(ada.id);
      const { body } = await authorize(his.settings, { reauth_account_id: ada.id }).expect(200);
      const moved = await exchange(body.code).expect(200);
      expect(moved.body).toMatchObject({ id: ada.id, proof: 'integration' });
      await request(server.url).get('/messages').set(bearer(ada)).expect(401);
      const again = { id: ada.id, token: moved.body.access_token as string };
      await untilMirrored(again, 'Planted');
      expect(await subjects(again)).toEqual(['Planted']);
    });

    it('is refused on the hosted pages too', async () => {
      const ada = await nativeSignIn(hers);
      const { body } = await request(server.url)
        .post('/connect/auth')
        .set(application.basic)
        .send({ provider: 'imap', redirect_uri: REDIRECT, grant_id: ada.id })
        .expect(200);
      const browser = new PageBrowser(server);
      await browser.get(body.data.url);
      expect((await typeInto(browser, his)).get('code')).toBeNull();
      await request(server.url).get('/account').set(bearer(ada)).expect(200);
    });
  });

  describe('by PATCH /connect/grants/{id} with another mailbox', () => {
    const move = (id: string, { settings }: Servers) =>
      request(server.url).patch(`/connect/grants/${id}`).set(application.basic).send({ settings });

    it('revokes the tokens, empties the mirror, records the deletions in deltas, and puts waiting messages on hold', async () => {
      const ada = await nativeSignIn(hers);
      await untilMirrored(ada, SECRET);
      await prove(ada.id);
      const { body: start } = await request(server.url)
        .post('/delta/latest_cursor')
        .set(bearer(ada))
        .expect(200);
      const jobId = await messageLater(ada);
      await move(ada.id, his).expect(200);
      await request(server.url).get('/messages').set(bearer(ada)).expect(401);
      expect(await grantOf(ada.id)).toMatchObject({ address_proven: false, proof: null });
      const again = await directGrant(his);
      expect(again.id).toBe(ada.id);
      await untilMirrored(again, 'Planted');
      expect(await subjects(again)).toEqual(['Planted']);
      const { body: deltas } = await request(server.url)
        .get(`/delta?cursor=${start.cursor}`)
        .set(bearer(again))
        .expect(200);
      const deleted = (deltas.deltas as { object: string; event: string }[]).filter(
        ({ event }) => event === 'delete',
      );
      expect(deleted.map(({ object }) => object)).toEqual(
        expect.arrayContaining(['message', 'thread', 'folder']),
      );
      const { body: job } = await request(server.url)
        .get(`/job-statuses/${jobId}`)
        .set(bearer(again))
        .expect(200);
      expect(job).toMatchObject({
        status: 'delayed',
        reason: expect.stringContaining('moved to another mailbox'),
      });
    });

    it('sends a message on hold only after it gets a new send time', async () => {
      const ada = await nativeSignIn(hers);
      const soon = await messageLater(ada, Math.floor(Date.now() / 1000) + 2);
      const released = await messageLater(ada, Math.floor(Date.now() / 1000) + 3_600);
      await move(ada.id, his).expect(200);
      const again = await directGrant(his);
      await request(server.url)
        .patch(`/v2/outbox/${released}`)
        .set(bearer(again))
        .send({
          to: [{ email: 'bank@victim.test' }],
          subject: 'Released',
          send_at: Math.floor(Date.now() / 1000),
        })
        .expect(200);
      await until('the released message', () => Promise.resolve(his.smtp.messages.length > 0));
      expect(his.smtp.messages.map(({ content }) => /Subject: (.*)\r/.exec(content)?.[1])).toEqual([
        'Released',
      ]);
      const jobs = (condition: string) =>
        rowsOf(server, `select id from send_job where id = $1 and ${condition}`, [soon]);
      await until('its time', async () => (await jobs('due_at < now()')).length > 0);
      expect(await jobs('state = 0 and run_at >= retry_limit_at')).toHaveLength(1);
      expect(hers.smtp.messages).toEqual([]);
    });

    it('is refused if the mailbox belongs to another account of the application', async () => {
      const ada = await nativeSignIn(hers);
      const eve = await nativeSignIn(his);
      const { status, body } = await move(ada.id, his);
      expect(status).toBe(409);
      expect(JSON.stringify(body)).toContain(eve.id);
      await request(server.url).get('/messages').set(bearer(ada)).expect(200);
    });
  });

  it('does not reveal the free time of an address that is not proven', async () => {
    const eve = await nativeSignIn(his);
    const colleague = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'imap', settings: { ...hers.settings, email: 'bo@victim.test' } })
      .expect(200);
    const ask = (account: Connected) =>
      request(server.url)
        .post('/calendars/free-busy')
        .set(bearer(account))
        .send({ start_time: '1700000000', end_time: '1700003600', emails: [ADA] });
    const bo = { id: colleague.body.data.id, token: colleague.body.data.access_token };
    expect((await ask(bo)).body.message).toContain(`${ADA}: no account of this application`);
    await ask(eve).expect(200);
    await prove(eve.id);
    await ask(bo).expect(200);
  });

  describe("through the application's mailing service", () => {
    it('never asks the service about an address that is not proven, and never sends for that address', async () => {
      const service = await ScriptedSmtp.start();
      running.push(service);
      await request(server.url)
        .put(`/a/${application.clientId}/relay`)
        .set(application.secretBasic)
        .send({
          kind: 'smtp',
          settings: { host: '127.0.0.1', port: service.port, security: 'none' },
        })
        .expect(200);
      const asked = service.commands.length;
      // The attacker's own server reports that its daily limit is reached, so that messages go to
      // the mailing service.
      const limit = '550 5.4.5 Daily user sending limit exceeded';
      const full = await startServers(undefined, limit);
      const eve = await nativeSignIn(full);
      const { body } = await request(server.url)
        .get('/v2/outbox/onboard/verified_status')
        .set(bearer(eve))
        .expect(200);
      expect(body.results).toEqual({ domain_verified: false, sender_verified: false });
      const routesOf = async (id: string) =>
        (
          await rowsOf<{ route: string }>(
            server,
            'select route from job_attempt where job_id = $1 order by id',
            [id],
          )
        ).map(({ route }) => route);
      const now = () => Math.floor(Date.now() / 1000);
      const first = await messageLater(eve, now());
      await until('the first attempt', async () => (await routesOf(first)).length > 0);
      const raw = await request(server.url)
        .post('/send')
        .set({ ...bearer(eve), 'content-type': 'message/rfc822' })
        .send(`From: ${ADA}\r\nTo: bank@victim.test\r\nSubject: Pay\r\n\r\nplease\r\n`);
      expect(raw.status).toBeGreaterThanOrEqual(400);
      const [job] = await rowsOf(server, 'select route from send_job where id = $1', [first]);
      expect(job).toEqual({ route: 'account' });
      expect(service.commands.length).toBe(asked);
      const ada = await nativeSignIn(await startServers(undefined, limit));
      await prove(ada.id);
      const second = await messageLater(ada, now());
      await until('the mailing service to send', async () =>
        (await routesOf(second)).includes('relay'),
      );
      expect(service.messages).toHaveLength(1);
    });
  });

  describe('at an integration that requires proven addresses', () => {
    const requireProofs = (require_proven_address: boolean) =>
      request(server.url)
        .patch('/connect/integrations/imap')
        .set(application.basic)
        .send({ require_proven_address })
        .expect(200);
    beforeEach(async () => {
      await requireProofs(true);
    });

    it('is refused if nothing proves the mailbox, and stores nothing', async () => {
      const refused = await authorize(his.settings);
      expect(refused.status).toBe(400);
      expect(refused.body.message).toContain(`nothing proves that this mailbox belongs to ${ADA}`);
      const rows = await rowsOf(server, 'select id from "grant" where application_id = $1', [
        application.id,
      ]);
      expect(rows).toEqual([]);
    });

    it('is refused although another mailbox of the address is proven', async () => {
      await requireProofs(false);
      const ada = await nativeSignIn(hers);
      await prove(ada.id);
      await requireProofs(true);
      expect((await authorize(his.settings)).status).toBe(400);
      await nativeSignIn(hers);
    });

    it('gets no access with tokens of accounts connected earlier, until those accounts are proven', async () => {
      await requireProofs(false);
      const ada = await nativeSignIn(hers);
      await requireProofs(true);
      const { body } = await request(server.url).get('/messages').set(bearer(ada)).expect(403);
      expect(body.message).toContain(`it is proven that its mailbox belongs to ${ADA}`);
      await prove(ada.id);
      await request(server.url).get('/messages').set(bearer(ada)).expect(200);
    });
  });
});
