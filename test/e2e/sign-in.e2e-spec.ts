import request from 'supertest';
import { pruneLoginRequests } from '../../src/accounts/connect/links/prune-login-requests.ts';
import { loginPendingContext } from '../../src/accounts/connect/oauth/sealed-contexts.ts';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { PLAIN_INTEGRATION } from '../../src/providers/port/sign-in/integration-descriptor.ts';
import { rowsOf, registerSandbox } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const REDIRECT = 'https://app.example.test/callback?from=carillon';

describe('hosted sign-in', () => {
  const clock = new TestClock();
  let server: TestApp;
  let application: TestApplication;
  let browser: PageBrowser;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
    const announced = {
      name: 'announced',
      integration: PLAIN_INTEGRATION,
      announced: true,
    } as const;
    server.app.get(ConnectorRegistry).announce(announced);
  });
  beforeEach(async () => {
    application = await createApplication(server.app, { name: 'Front desk' });
    await registerSandbox(server, application, { redirect_uris: [REDIRECT], expires_in: 600 });
    browser = new PageBrowser(server);
  });
  afterAll(() => server.close());

  const ask = (change: object = {}) =>
    request(server.url)
      .post('/connect/auth')
      .set(application.basic)
      .send({ provider: 'sandbox', redirect_uri: REDIRECT, state: 's 1&"', ...change });
  const linkFor = async (change: object = {}): Promise<string> => {
    const { body } = await ask(change).expect(200);
    return body.data.url as string;
  };
  const open = async (change: object = {}): Promise<string> => {
    const link = await linkFor(change);
    await browser.get(link);
    return link;
  };
  const signIn = (email = 'ada@sandbox.test') =>
    browser.follow('credentials', { email, password: 'anything' });
  const returned = () => Object.fromEntries(new URL(browser.page.location ?? '').searchParams);
  const grants = async () =>
    (await request(server.url).get('/connect/grants').set(application.basic).expect(200)).body
      .data as {
      id: string;
      email: string;
    }[];

  describe('POST /connect/auth', () => {
    it('returns a link, its expiry, and the requested settings', async () => {
      const { body } = await ask({
        login_hint: 'ada@sandbox.test',
        scope: ['calendar'],
        metadata: { vip: true },
      }).expect(200);
      expect(body).toEqual({
        success: true,
        data: {
          id: expect.any(String),
          url: expect.stringMatching(/\/connect\/login\?id=[0-9a-z]{40}$/),
          expires_at: Math.floor(clock.now().getTime() / 1000) + 600,
          request: {
            redirect_uri: REDIRECT,
            provider: 'sandbox',
            login_hint: 'ada@sandbox.test',
            state: 's 1&"',
            scope: ['calendar'],
            metadata: { vip: true },
          },
        },
      });
    });

    it('names the integrations if none of them can be used for a sign-in', async () => {
      const other = await createApplication(server.app);
      const message = async () =>
        (
          await request(server.url)
            .post('/connect/auth')
            .set(other.basic)
            .send({ redirect_uri: REDIRECT })
            .expect(400)
        ).body.error.message as string;
      expect(await message()).toContain('there is no integration for any provider');
      const settings = { client_id: 'a', client_secret: 'b' };
      await registerSandbox(server, other, { provider: 'announced', settings });
      expect(await message()).toContain('this server cannot connect accounts of announced');
    });

    it('lets the request set the lifetime of the link', async () => {
      const { body } = await ask({ expires_in: '61' }).expect(200);
      expect(body.data.expires_at).toBe(Math.floor(clock.now().getTime() / 1000) + 61);
    });

    it('stores the link as a hash, and the settings encrypted', async () => {
      const link = new URL(
        await linkFor({ settings: { organization_unit: 'label' } }),
      ).searchParams.get('id');
      const [row] = await rowsOf<{ text: string }>(
        server,
        'select r::text as text from login_request r where application_id = $1',
        [application.id],
      );
      expect(row?.text).not.toContain(link);
      expect(row?.text).not.toContain('organization_unit');
    });

    it.each([
      ['no redirect address', { redirect_uri: undefined }, 'redirect_uri is required'],
      [
        'a longer address than the registered one',
        { redirect_uri: `${REDIRECT}x` },
        'not registered',
      ],
      ['another scheme', { redirect_uri: REDIRECT.replace('https', 'http') }, 'not registered'],
      [
        'a parent path',
        { redirect_uri: 'https://app.example.test/callback/../x' },
        'not registered',
      ],
      ['a javascript: address', { redirect_uri: 'javascript:alert(1)' }, 'not registered'],
      ['an unknown provider', { provider: 'nowhere' }, 'provider: must be one of'],
      ['a provider without an integration', { provider: 'imap' }, 'no integration for imap'],
      ['Zoom', { provider: 'zoom' }, 'PUT /a/{client_id}/conferencing (kind zoom)'],
      [
        'a provider without a connector',
        { provider: 'announced' },
        'this server cannot connect accounts of announced',
      ],
      ['an unknown scope', { scope: ['everything'] }, 'unknown scope "everything"'],
      ['a state that is too long', { state: 's'.repeat(256) }, 'state: must not be longer'],
      ['a state with a line break', { state: 'a\r\nSet-Cookie: b=c' }, 'control characters'],
      ['a lifetime that is too short', { expires_in: 60 }, 'expires_in: must be between'],
      ['an unknown grant', { grant_id: '019aa1b2-0000-7000-8000-000000000001' }, 'grant_id'],
      [
        'an invalid account id',
        { account_id: "'; drop table" },
        'account_id: there is no such grant',
      ],
      ['an invalid address', { login_hint: 'ada' }, 'login_hint'],
    ])('refuses %s', async (_, change, words) => {
      const { body } = await ask(change).expect(400);
      expect(body).toMatchObject({
        success: false,
        error: { message: expect.stringContaining(words) },
      });
      expect(
        await rowsOf(server, 'select 1 from login_request where application_id = $1', [
          application.id,
        ]),
      ).toEqual([]);
    });

    it('accepts redirect addresses of the application, and of no other application', async () => {
      const own = 'https://own.example.test/';
      await request(server.url)
        .put(`/a/${application.clientId}`)
        .set(application.secretBasic)
        .send({ redirect_uris: [own] })
        .expect(200);
      await ask({ redirect_uri: own }).expect(200);
      application = await createApplication(server.app);
      await registerSandbox(server, application);
      for (const redirect_uri of [own, REDIRECT]) await ask({ redirect_uri }).expect(400);
    });

    it('needs the credentials of the application', async () => {
      await request(server.url).post('/connect/auth').send({ redirect_uri: REDIRECT }).expect(401);
    });

    it('refuses to authenticate a grant of another application', async () => {
      const foreign = await createAccount(server.app, await createApplication(server.app));
      await ask({ grant_id: foreign.id }).expect(400);
    });
  });

  describe('signing in', () => {
    it('leads from the link through the password and the consent back to the application', async () => {
      await open({
        scope: ['email.send', 'calendar'],
        metadata: { vip: true },
        login_hint: 'ada@sandbox.test',
      });
      expect(browser.page.status).toBe(200);
      expect(browser.form('credentials').fields['email']).toBe('ada@sandbox.test');
      expect((await signIn()).status).toBe(200);
      expect(await grants()).toEqual([]);
      expect(browser.page.text).toContain('Send mail in your name');
      expect(browser.page.text).toContain('See and change your calendars and events');
      expect(browser.page.text).not.toContain('contacts');
      expect(browser.page.text).toContain('Front desk');
      const { status } = await browser.submit('consent');
      expect(status).toBe(303);
      const [grant] = await grants();
      expect(returned()).toEqual({
        from: 'carillon',
        success: 'true',
        grant_id: grant?.id,
        provider: 'sandbox',
        email: 'ada@sandbox.test',
        state: 's 1&"',
        code: expect.stringMatching(/^[0-9a-z]{40}$/),
      });
      expect(grant).toMatchObject({
        scope: ['email.send', 'calendar'],
        metadata: { vip: true },
        state: 's 1&"',
        user_agent: 'PageBrowser/1',
        grant_status: 'valid',
      });
    });

    it('returns a code that the application exchanges for the token of the grant', async () => {
      await open();
      await signIn();
      await browser.submit('consent');
      const { code, grant_id } = returned();
      const exchange = () =>
        request(server.url)
          .post('/oauth/token')
          .send({ client_id: application.clientId, client_secret: application.clientSecret, code });
      const { body } = await exchange().expect(200);
      expect(body).toMatchObject({ account_id: grant_id, email_address: 'ada@sandbox.test' });
      await request(server.url)
        .get('/account')
        .set('authorization', `Bearer ${body.access_token}`)
        .expect(200);
      await exchange().expect(400);
    });

    it('lets the user choose the provider if the application does not', async () => {
      await open({ provider: null });
      expect(browser.page.text).toContain('Sign in to the sandbox');
    });

    it('asks for consent to the whole account if no scopes are requested', async () => {
      await open();
      await signIn();
      expect(browser.page.text).toContain('Use everything in this account');
    });

    it('shows a wrong password at its field, keeps the address and clears the password', async () => {
      await open();
      await browser.submit('credentials', { email: 'ada@sandbox.test', password: 'wrong' });
      expect(browser.page.status).toBe(422);
      expect(browser.error('password')).toContain('535 5.7.8');
      expect(browser.form('credentials').fields).toMatchObject({
        email: 'ada@sandbox.test',
        password: '',
      });
      expect(browser.page.text).toContain('role="alert"');
      await signIn();
      expect((await browser.submit('consent')).status).toBe(303);
    });

    it.each([
      ['no address', { email: '' }, 'email', 'Enter the email address'],
      ['an invalid address', { email: 'ada' }, 'email', 'not an email address'],
      ['a password that is too long', { password: 'x'.repeat(1001) }, 'password', 'too long'],
    ])('shows %s at its field', async (_, values, field, words) => {
      await open();
      await browser.submit('credentials', { email: 'ada@sandbox.test', password: 'x', ...values });
      expect(browser.page.status).toBe(422);
      expect(browser.error(field)).toContain(words);
    });

    it('lets the user choose another account before consent', async () => {
      const link = await open();
      await signIn('ada@sandbox.test');
      await browser.get(`${link}&again=true`);
      await signIn('bo@sandbox.test');
      await browser.submit('consent');
      expect((await grants()).map(({ email }) => email)).toEqual(['bo@sandbox.test']);
    });

    it('lets the user choose another account at another provider', async () => {
      await registerSandbox(server, application, { provider: 'imap', name: 'Mail' });
      const link = await open({ provider: null });
      await browser.get(`${link}&provider=sandbox`);
      await signIn('ada@sandbox.test');
      const again = /href="([^"]*again=true)"/.exec(browser.page.text)?.[1] ?? '';
      await browser.get(again.replaceAll('&amp;', '&'));
      expect(browser.page.text).toContain('Where is your mailbox?');
      await browser.get(`${link}&provider=sandbox`);
      await signIn('bo@sandbox.test');
      expect(browser.page.text).toContain('bo@sandbox.test');
    });

    it('shows every server that the application has set, including the calendar server', async () => {
      await registerSandbox(server, application, {
        provider: 'imap',
        name: 'Mail',
        redirect_uris: [REDIRECT],
      });
      await open({ provider: 'imap', settings: { caldav_url: 'https://evil.example/dav' } });
      expect(browser.page.text).toMatch(/<details class="servers"\s+open>/);
      expect(browser.form('credentials').fields).toMatchObject({
        caldav_url: 'https://evil.example/dav',
      });
    });

    it('moves the focus to the wrong field, even in the list of servers', async () => {
      await registerSandbox(server, application, {
        provider: 'imap',
        name: 'Mail',
        redirect_uris: [REDIRECT],
      });
      await open({ provider: 'imap', settings: { imap_host: 'imap.example.test' } });
      await browser.submit('credentials', { email: 'ada@example.test', password: 'x' });
      expect(browser.error('smtp_host')).toContain('Enter the name of the server');
      expect(/<input[^>]*autofocus[^>]*>/.exec(browser.page.text)?.[0]).toContain(
        'name="smtp_host"',
      );
      expect(browser.page.text.match(/autofocus/g)).toHaveLength(1);
    });

    it('counts refused passwords also by the user name at the mail server', async () => {
      const name = 'sign-in-limits@sandbox.test';
      for (let attempt = 0; attempt < 10; attempt += 1) {
        await open();
        const values = {
          email: `ada${attempt}@sandbox.test`,
          imap_username: name,
          password: 'wrong',
        };
        await browser.submit('credentials', values);
        expect(browser.page.status).toBe(422);
      }
      await open();
      await browser.submit('credentials', {
        email: 'bo@sandbox.test',
        imap_username: name,
        password: 'x',
      });
      expect(browser.page.status).toBe(429);
    });

    it('shows an account that the user signed in to in a second tab before it asks for consent', async () => {
      const link = await open();
      await signIn('ada@sandbox.test');
      const consent = browser.form('consent');
      await browser.get(`${link}&again=true`);
      await signIn('bo@sandbox.test');
      await browser.post(consent.action, consent.fields);
      expect(browser.page.status).toBe(200);
      expect(browser.page.text).toContain('bo@sandbox.test');
      expect(await grants()).toEqual([]);
    });

    it('shows the scopes again if the integration changes them in the meantime', async () => {
      await open();
      await signIn();
      const consent = browser.form('consent');
      await request(server.url)
        .patch('/connect/integrations/sandbox')
        .set(application.basic)
        .send({ scope: ['email.send'] })
        .expect(200);
      await browser.post(consent.action, consent.fields);
      expect(browser.page.status).toBe(200);
      expect(browser.page.text).toContain('Send mail in your name');
      expect(await grants()).toEqual([]);
      expect((await browser.submit('consent')).status).toBe(303);
    });

    it('forbids caching, framing and referrers for the page with the credentials', async () => {
      await open();
      const { headers } = browser.page;
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(browser.page.text).not.toMatch(/<script|\son\w+=|\sstyle=|javascript:/i);
    });

    it('serves the stylesheet under a name that changes with the content', async () => {
      await open();
      const [, path = ''] =
        /href="(\/connect\/login\/sign-in[^"]*\.css)"/.exec(browser.page.text) ?? [];
      await browser.get(path);
      expect(browser.page.headers.get('content-type')).toBe('text/css; charset=utf-8');
      expect(browser.page.headers.get('cache-control')).toContain('immutable');
    });

    it("shows the application's icon, and allows the page to load images only from the icon's host", async () => {
      await request(server.url)
        .put(`/a/${application.clientId}`)
        .set(application.secretBasic)
        .send({ icon_url: 'https://cdn.example.test:8443/i.png?a="b' })
        .expect(200);
      await open();
      expect(browser.page.text).toContain('src="https://cdn.example.test:8443/i.png?a=&quot;b"');
      expect(browser.page.headers.get('content-security-policy')).toContain(
        "img-src 'self' https://cdn.example.test:8443;",
      );
    });
  });

  it('continues when a browser opens the address of a form with GET, as restored browser tabs do', async () => {
    await open();
    await browser.submit('credentials', { email: 'ada', password: 'x' });
    const { action } = browser.form('credentials');
    await browser.get(action);
    expect(browser.page.status).toBe(302);
    await browser.get(browser.page.location ?? '');
    expect(browser.form('credentials').fields).toMatchObject({ email: '' });
    for (const step of ['provider', 'consent', 'deny']) {
      await browser.get(action.replace('credentials', step));
      expect(browser.page.location).toMatch(/^\/connect\/login\?id=[0-9a-z]{40}$/);
    }
  });

  describe('cancelling', () => {
    it('asks for confirmation, then redirects to the application with the error', async () => {
      const link = await open();
      await browser.get(link.replace('/login?', '/login/cancel?'));
      expect(browser.page.status).toBe(200);
      await browser.submit('cancel');
      expect(browser.page.status).toBe(303);
      expect(returned()).toEqual({
        from: 'carillon',
        success: 'false',
        error: 'access_denied',
        error_description: 'The user did not complete the sign-in',
        state: 's 1&"',
      });
      await browser.get(link);
      expect(browser.page.status).toBe(410);
      expect(await grants()).toEqual([]);
    });

    it('is possible on the consent page, and stores nothing of the account', async () => {
      await open();
      await signIn();
      await browser.submit('deny');
      expect(returned()).toMatchObject({ success: 'false', error: 'access_denied' });
      expect(await grants()).toEqual([]);
      clock.advance(60_001);
      await pruneLoginRequests(server.app.get(Database), clock.now());
      const rows = await rowsOf(
        server,
        "select 1 from login_request where application_id = $1 and state = 'cancelled' and pending_sealed is null",
        [application.id],
      );
      expect(rows).toHaveLength(1);
    });
  });

  describe('links', () => {
    it('work once', async () => {
      const link = await open();
      await signIn();
      const consent = browser.form('consent');
      await browser.submit('consent');
      clock.advance(60_001);
      for (const again of [
        () => browser.get(link),
        () => browser.post(consent.action, consent.fields),
        () =>
          browser.post(consent.action.replace('consent', 'credentials'), {
            ...consent.fields,
            email: 'bo@sandbox.test',
          }),
        () => browser.post(consent.action.replace('consent', 'cancel'), consent.fields),
      ]) {
        expect((await again()).status).toBe(410);
        expect(browser.page.text).toContain('already used');
      }
      expect(await grants()).toHaveLength(1);
    });

    it('lead a browser that sends its last form again to the same address, for a minute', async () => {
      const link = await open();
      await signIn();
      const { action, fields } = browser.form('consent');
      const { location } = await browser.submit('consent');
      clock.advance(59_000);
      const other = new PageBrowser(server);
      await other.get(link);
      expect(other.page.status).toBe(410);
      for (const step of ['consent', 'deny', 'cancel']) {
        const form = action.replace('consent', step);
        expect(await browser.post(form, fields)).toMatchObject({ status: 303, location });
        // Without the cookie, and without the token of the form.
        expect((await other.post(form, fields)).status).toBe(403);
        expect((await browser.post(form, {})).status).toBe(403);
      }
      clock.advance(1_001);
      expect((await browser.post(action, fields)).status).toBe(410);
      expect(await grants()).toHaveLength(1);
    });

    it('lead a browser that declines twice to the same address', async () => {
      await open();
      await signIn();
      const { action, fields } = browser.form('deny');
      const { location } = await browser.submit('deny');
      expect(await browser.post(action, fields)).toMatchObject({ status: 303, location });
      expect(returned()).toMatchObject({ error: 'access_denied' });
    });

    it('create one grant if the consent is sent many times at once', async () => {
      await open();
      await signIn();
      const { action, fields } = browser.form('consent');
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => browser.post(action, fields)),
      );
      expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303, 303]);
      expect(new Set(answers.map(({ location }) => location)).size).toBe(1);
      expect(await grants()).toHaveLength(1);
      expect(
        await rowsOf(
          server,
          'select 1 from access_token t join "grant" g on g.id = t.grant_id where g.application_id = $1',
          [application.id],
        ),
      ).toHaveLength(1);
    });

    it('have one outcome if consent and refusal arrive together', async () => {
      await open();
      await signIn();
      const [yes, no] = [browser.form('consent'), browser.form('deny')];
      const answers = await Promise.all([
        browser.post(yes.action, yes.fields),
        browser.post(no.action, no.fields),
      ]);
      const [first, second] = answers;
      expect(first).toMatchObject({ status: 303, location: second?.location });
      const agreed = first?.location?.includes('success=true');
      expect(await grants()).toHaveLength(agreed ? 1 : 0);
    });

    it('expire, even between two pages', async () => {
      const link = await open();
      await signIn();
      const consent = browser.form('consent');
      clock.advance(600_000);
      for (const late of [
        () => browser.get(link),
        () => browser.post(consent.action, consent.fields),
      ]) {
        expect((await late()).status).toBe(410);
        expect(browser.page.text).toContain('expired');
      }
      expect(await grants()).toEqual([]);
    });

    it.each([
      '',
      '?id=',
      `?id=${'a'.repeat(40)}`,
      '?id=%00',
      '?id[]=a&id[]=b',
      `?id=${'a'.repeat(10_000)}`,
    ])('that do not exist are answered with 404: %s', async (query) => {
      await browser.get(`/connect/login${query}`);
      expect(browser.page.status).toBe(404);
      expect(browser.page.text).toContain('This link does not work');
      expect(browser.cookies.size).toBe(0);
    });

    it('stop working if the redirect address is no longer registered', async () => {
      const link = await linkFor();
      await request(server.url)
        .patch('/connect/integrations/sandbox')
        .set(application.basic)
        .send({ redirect_uris: [] })
        .expect(200);
      await browser.get(link);
      expect(browser.page.status).toBe(400);
      expect(browser.page.text).not.toContain('app.example.test');
    });

    it('create no grant if the integration is deleted before the consent', async () => {
      const own = 'https://own.example.test/';
      await request(server.url)
        .put(`/a/${application.clientId}`)
        .set(application.secretBasic)
        .send({ redirect_uris: [own] })
        .expect(200);
      await open({ redirect_uri: own });
      await signIn();
      await request(server.url)
        .delete('/connect/integrations/sandbox')
        .set(application.basic)
        .expect(200);
      await browser.submit('consent');
      expect(returned()).toMatchObject({ success: 'false', error: 'unauthorized_client' });
      expect(await grants()).toEqual([]);
    });

    it('report to a quickstart application that it already has its one account', async () => {
      application = await createApplication(server.app, { plan: 'quickstart' });
      await registerSandbox(server, application, { redirect_uris: [REDIRECT] });
      await createAccount(server.app, application);
      const link = await open();
      await signIn();
      await browser.submit('consent');
      expect(returned()).toMatchObject({
        success: 'false',
        error: 'unauthorized_client',
        error_description: expect.stringContaining('quickstart'),
      });
      expect((await browser.get(link)).status).toBe(410);
    });
  });

  describe('forms', () => {
    it('are accepted only with the cookie and the token of their own page', async () => {
      const other = await linkFor();
      await open();
      const { action, fields } = browser.form('credentials');
      const values = { ...fields, email: 'ada@sandbox.test', password: 'x' };
      const stranger = new PageBrowser(server);
      const attempts = [
        stranger.post(action, values),
        browser.post(action, { ...values, csrf: '' }),
        browser.post(action, { ...values, csrf: 'x'.repeat(43) }),
        browser.post(other.replace('/login?', '/login/credentials?'), values),
      ];
      for (const { status, location } of await Promise.all(attempts)) {
        expect(status).toBe(403);
        expect(location).toBeNull();
      }
      await stranger.get(action.replace('/credentials', ''));
      expect((await stranger.post(action, values)).status).toBe(403);
    });

    it('for the consent work only in the browser that signed in', async () => {
      const link = await open();
      await signIn();
      const { fields } = browser.form('consent');
      const stranger = new PageBrowser(server);
      await stranger.get(link);
      expect(stranger.page.text).not.toContain('ada@sandbox.test');
      const { csrf = '' } = stranger.form('credentials').fields;
      await stranger.post(link.replace('/login?', '/login/consent?'), { ...fields, csrf });
      expect(stranger.page.status).toBe(200);
      expect(stranger.page.location).toBeNull();
      expect(await grants()).toEqual([]);
    });

    it('replace a cookie that the server did not set', async () => {
      const link = await linkFor();
      browser.cookies.set('carillon-sign-in', '"><script>');
      await browser.get(link);
      expect(browser.cookies.get('carillon-sign-in')).toMatch(/^[0-9a-z]{40}$/);
    });

    it('allow ten refused passwords, after which the link has ended and the page leads back to the application', async () => {
      const link = await open();
      for (let attempt = 0; attempt < 10; attempt += 1) {
        await browser.submit('credentials', {
          email: `ada${attempt}@sandbox.test`,
          password: 'wrong',
        });
        expect(browser.page.status).toBe(422);
      }
      await browser.submit('credentials', { email: 'ada@sandbox.test', password: 'right' });
      expect(browser.page.status).toBe(429);
      expect(browser.page.text).toContain(
        'https://app.example.test/callback?from=carillon&amp;success=false',
      );
      expect((await browser.get(link)).status).toBe(410);
    });

    it('allow ten refused passwords for one address over all links, even for simultaneous attempts', async () => {
      const wrong = async () => {
        const one = new PageBrowser(server);
        await one.get(await linkFor());
        return (await one.submit('credentials', { email: 'Eve@sandbox.test', password: 'wrong' }))
          .status;
      };
      const statuses = await Promise.all(Array.from({ length: 14 }, wrong));
      expect(statuses.filter((status) => status === 422)).toHaveLength(10);
      expect(statuses.filter((status) => status === 429)).toHaveLength(4);
      await open();
      await browser.submit('credentials', { email: 'eve@sandbox.test', password: 'right' });
      expect(browser.page.status).toBe(429);
      expect(browser.error('password')).toContain('Too many wrong passwords');
      await signIn('fay@sandbox.test');
      expect(browser.page.status).toBe(200);
    });
  });

  describe('authenticating again', () => {
    it('keeps the id of the grant and makes it valid', async () => {
      const ada = await createAccount(server.app, application, {
        email: 'ada@sandbox.test',
        status: 'invalid',
      });
      await open({ grant_id: ada.id });
      expect(browser.form('credentials').fields['email']).toBe('ada@sandbox.test');
      await signIn();
      await browser.submit('consent');
      expect(returned()).toMatchObject({ success: 'true', grant_id: ada.id });
      expect(await grants()).toEqual([
        expect.objectContaining({ id: ada.id, grant_status: 'valid' }),
      ]);
    });

    it('refuses another mailbox and shows the error at the address field', async () => {
      const ada = await createAccount(server.app, application, {
        email: 'ada@sandbox.test',
        status: 'invalid',
      });
      await open({ account_id: ada.id, provider: null });
      await signIn('bo@sandbox.test');
      expect(browser.page.status).toBe(422);
      expect(browser.error('email')).toContain('ada@sandbox.test');
      expect(await grants()).toEqual([
        expect.objectContaining({ id: ada.id, grant_status: 'invalid' }),
      ]);
    });

    it('creates no grant if the account is disconnected in the meantime', async () => {
      const ada = await createAccount(server.app, application, { email: 'ada@sandbox.test' });
      await open({ grant_id: ada.id });
      await signIn();
      await request(server.url)
        .delete(`/connect/grants/${ada.id}`)
        .set(application.basic)
        .expect(200);
      await browser.submit('consent');
      expect(returned()).toMatchObject({ success: 'false', error: 'unauthorized_client' });
      expect(await grants()).toEqual([]);
    });

    it('asks for the scopes of the grant if no scopes are requested', async () => {
      const ada = await createAccount(server.app, application, {
        email: 'ada@sandbox.test',
        scope: ['calendar'],
      });
      await open({ grant_id: ada.id });
      await signIn();
      expect(browser.page.text).toContain('See and change your calendars');
      expect(browser.page.text).not.toContain('everything');
      await browser.submit('consent');
      const [grant] = await rowsOf<{ agreed: string[] }>(
        server,
        'select granted_scope as agreed from "grant" where id = $1',
        [ada.id],
      );
      expect(grant?.agreed).toEqual(['calendar']);
    });
  });

  describe('hostile values', () => {
    const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&\``;

    it('are shown as text on every page', async () => {
      application = await createApplication(server.app, { name: HOSTILE });
      await registerSandbox(server, application, { redirect_uris: [REDIRECT], name: HOSTILE });
      const link = await open({ state: HOSTILE, metadata: { x: HOSTILE } });
      const pages = [browser.page.text];
      const see = async (answer: Promise<{ text: string }>) => pages.push((await answer).text);
      await see(
        browser.submit('credentials', { email: HOSTILE, password: HOSTILE, imap_host: HOSTILE }),
      );
      await see(browser.follow('credentials', { email: "o'brien&co@sandbox.test", password: 'x' }));
      await see(browser.get(link.replace('/login?', '/login/cancel?')));
      await see(browser.get(`${link}&provider=${encodeURIComponent(HOSTILE)}&again=true`));
      await see(browser.get(`/connect/login?id=${encodeURIComponent(HOSTILE)}`));
      for (const page of pages) expect(page).not.toMatch(/<script|<img|onerror=alert\(1\)>"/i);
      expect(pages[2]).toContain('o&#39;brien&amp;co@sandbox.test');
    });

    it('do not reach headers, and the browser is redirected to the right address', async () => {
      await open({ state: HOSTILE });
      await signIn();
      await browser.submit('consent');
      const location = new URL(browser.page.location ?? '');
      expect(location.origin).toBe('https://app.example.test');
      expect(location.searchParams.get('state')).toBe(HOSTILE);
      expect(browser.page.headers.getSetCookie()).toEqual([]);
    });
  });

  it('stores accepted credentials encrypted, and replaces them with the address of the return at the end', async () => {
    const row = async () =>
      (
        await rowsOf<{ id: string; text: string; pending: string | null }>(
          server,
          'select id, r::text as text, pending_sealed as pending from login_request r where application_id = $1',
          [application.id],
        )
      )[0];
    await open();
    await browser.submit('credentials', { email: 'ada@sandbox.test', password: 'pass-of-ada' });
    const between = await row();
    expect(between?.pending).toMatch(/^v1\./);
    expect(between?.text).not.toMatch(/pass-of-ada|ada@sandbox/);
    await browser.get(browser.page.location ?? '');
    await browser.submit('consent');
    const after = await row();
    expect(after?.text).not.toMatch(/pass-of-ada|ada@sandbox/);
    const opened = server.app
      .get(SecretBox)
      .openJson(after?.pending ?? '', loginPendingContext(after?.id ?? ''));
    expect(opened).toEqual({ returnedTo: browser.page.location });
  });

  it('deletes accepted credentials when the link expires before the consent', async () => {
    await open({ settings: { organization_unit: 'label' } });
    await signIn();
    const kept = async () =>
      (
        await rowsOf<{ kept: boolean }>(
          server,
          'select pending_sealed is not null or settings_sealed is not null as kept from login_request where application_id = $1',
          [application.id],
        )
      )[0]?.kept;
    const sql = server.app.get(Database);
    await pruneLoginRequests(sql, clock.now());
    expect(await kept()).toBe(true);
    await pruneLoginRequests(sql, new Date(clock.now().getTime() + 601_000));
    expect(await kept()).toBe(false);
  });
});
