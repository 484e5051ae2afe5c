import request from 'supertest';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const REDIRECT = 'https://app.example.test/callback';
const ADA = { email: 'ada@sandbox.test', password: 'anything' };

describe('the sign-in rules of an application', () => {
  let server: TestApp;
  let application: TestApplication;
  let browser: PageBrowser;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await registerSandbox(server, application, { redirect_uris: [REDIRECT] });
    browser = new PageBrowser(server);
  });
  afterAll(() => server.close());

  const put = (body: object) =>
    request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send(body)
      .expect(200);
  const authorize = (query: Readonly<Record<string, string>> = {}) =>
    browser.get(
      `/oauth/authorize?${new URLSearchParams({
        client_id: application.clientId,
        redirect_uri: REDIRECT,
        provider: 'sandbox',
        ...query,
      }).toString()}`,
    );
  const signedIn = async (query: Readonly<Record<string, string>> = {}): Promise<URL> => {
    await browser.get((await authorize(query)).location ?? '');
    await browser.follow('credentials', ADA);
    await browser.submit('consent');
    return new URL(browser.page.location ?? '');
  };
  const exchange = async (code: unknown) =>
    (
      await request(server.url)
        .post('/connect/token')
        .send({ client_id: application.clientId, client_secret: application.clientSecret, code })
        .expect(200)
    ).body as { access_token: string; id: string };
  const scopesOf = async ({ id, access_token }: { id: string; access_token: string }) =>
    (
      await request(server.url)
        .post(`/a/${application.clientId}/accounts/${id}/token-info`)
        .set(application.secretBasic)
        .send({ access_token })
        .expect(200)
    ).body.scopes as string;
  const native = (body: object = {}) =>
    request(server.url)
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        name: 'Ada',
        email_address: 'ada@sandbox.test',
        provider: 'sandbox',
        settings: { password: 'anything' },
        ...body,
      });
  const grant = (body: object = {}) =>
    request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'sandbox', settings: ADA, ...body });

  describe('response_type=token', () => {
    it('is refused with a page unless the application allows it, and starts no sign-in', async () => {
      const page = await authorize({ response_type: 'token' });
      expect(page.status).toBe(400);
      expect(page.text).toContain('response_type: token is not allowed for this application');
      expect(
        await rowsOf(server, 'select 1 from login_request where application_id = $1', [
          application.id,
        ]),
      ).toEqual([]);
    });

    it('is refused with a redirect and unsupported_response_type if the application asks for redirected errors', async () => {
      const { location } = await authorize({ response_type: 'token', redirect_on_error: 'true' });
      const back = new URL(location ?? '');
      expect(back.origin + back.pathname).toBe(REDIRECT);
      expect(back.searchParams.get('error')).toBe('unsupported_response_type');
      expect(back.hash).toBe('');
    });

    it('returns no token if the application disallows it while the user signs in', async () => {
      await put({ allow_response_type_token: true });
      await browser.get((await authorize({ response_type: 'token' })).location ?? '');
      await browser.follow('credentials', ADA);
      await put({ allow_response_type_token: false });
      await browser.submit('consent');
      expect(browser.page.status).toBe(403);
      expect(browser.page.text).not.toContain('access_token');
      expect(
        await rowsOf(server, 'select 1 from "grant" where application_id = $1', [application.id]),
      ).toEqual([]);
    });
  });

  describe('allowed_scopes', () => {
    const ASKED_TOO_MUCH =
      /email\.send: a sign-in to this application may grant only email\.read_only, calendar/;
    beforeEach(() => put({ allowed_scopes: ['email.read_only', 'calendar'] }));

    it('limit every kind of sign-in that names no scopes', async () => {
      const byPage = await exchange((await signedIn()).searchParams.get('code'));
      expect(await scopesOf(byPage)).toBe('email.read_only,calendar');
      const { body } = await native().expect(200);
      expect(await scopesOf(await exchange(body.code))).toBe(await scopesOf(byPage));
      const { body: direct } = await grant().expect(200);
      expect(await scopesOf(direct.data)).toBe(await scopesOf(byPage));
      await request(server.url).get('/messages').auth(direct.data.access_token, '').expect(200);
      await request(server.url)
        .post('/send')
        .auth(direct.data.access_token, '')
        .send({})
        .expect(403);
    });

    it('limit the scopes of an integration', async () => {
      await request(server.url)
        .patch('/connect/integrations/sandbox')
        .set(application.basic)
        .send({ scope: ['email', 'contacts'] })
        .expect(200);
      const { body } = await grant().expect(200);
      expect(await scopesOf(body.data)).toBe('email.read_only');
    });

    it('are shown to the user, and other scopes are not', async () => {
      await browser.get((await authorize()).location ?? '');
      await browser.follow('credentials', ADA);
      expect(browser.page.text).toContain('value="email.read_only,calendar"');
      expect(browser.page.text).not.toContain('email.send');
    });

    it('refuse every kind of sign-in that names other scopes, with a clear error', async () => {
      const page = await authorize({ scopes: 'email.send' });
      expect(page.status).toBe(400);
      expect(page.text).toMatch(ASKED_TOO_MUCH);
      const { location } = await authorize({ scopes: 'email.send', redirect_on_error: 'true' });
      expect(new URL(location ?? '').searchParams.get('error')).toBe('invalid_scope');
      expect((await native({ scopes: 'email.send' }).expect(400)).body.message).toMatch(
        ASKED_TOO_MUCH,
      );
      expect((await grant({ scope: ['email.send'] }).expect(400)).body.error.message).toMatch(
        ASKED_TOO_MUCH,
      );
      const link = await request(server.url)
        .post('/connect/auth')
        .set(application.basic)
        .send({ provider: 'sandbox', redirect_uri: REDIRECT, scope: ['email.send'] })
        .expect(400);
      expect(link.body.error.message).toMatch(ASKED_TOO_MUCH);
    });

    it('refuse a change of a grant to other scopes, and limit a change that names no scopes', async () => {
      const { body } = await grant({ scope: ['calendar'] }).expect(200);
      const patch = (change: object) =>
        request(server.url)
          .patch(`/connect/grants/${body.data.id}`)
          .set(application.basic)
          .send(change);
      expect((await patch({ scope: ['email.send'] }).expect(400)).body.error.message).toMatch(
        ASKED_TOO_MUCH,
      );
      // Without named scopes the grant asks for all allowed scopes, which are more than the user
      // has agreed to.
      expect((await patch({ scope: null }).expect(200)).body.data.grant_status).toBe('invalid');
      const again = await grant({ scope: null }).expect(200);
      expect(again.body.data.grant_status).toBe('valid');
      expect((await patch({ scope: null }).expect(200)).body.data.grant_status).toBe('valid');
      expect(await scopesOf(again.body.data)).toContain('email.read_only');
    });

    it('apply to the exchange of a code if they are narrowed after the sign-in', async () => {
      const code = (await signedIn()).searchParams.get('code');
      const { body } = await native({ scopes: 'calendar' }).expect(200);
      await put({ allowed_scopes: ['calendar.read_only'] });
      expect(await scopesOf(await exchange(code))).toBe('calendar.read_only');
      await request(server.url)
        .post('/connect/token')
        .send({
          client_id: application.clientId,
          client_secret: application.clientSecret,
          code: body.code,
        })
        .expect(400);
    });

    it('refuse a sign-in that would have no scope left', async () => {
      await put({ allowed_scopes: ['contacts'] });
      const { body } = await native({ provider: 'nylas', settings: {} }).expect(200);
      const refused = await request(server.url)
        .post('/connect/token')
        .send({
          client_id: application.clientId,
          client_secret: application.clientSecret,
          code: body.code,
        })
        .expect(400);
      expect(refused.body.message).toContain('none is left');
    });

    it('allow sign-ins to grant every scope again if they are null', async () => {
      expect((await put({ allowed_scopes: null })).body.allowed_scopes).toBeNull();
      const { body } = await grant({ scope: ['email.send'] }).expect(200);
      expect(await scopesOf(body.data)).toBe('email.send');
    });
  });
});

describe('a production server with the sandbox turned off', () => {
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', NODE_ENV: 'production' });
    application = await createApplication(server.app);
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ redirect_uris: [REDIRECT] })
      .expect(200);
  });
  afterAll(() => server.close());

  const OFF = /sandbox is turned off on this server/;
  /** The state after the operator turned the sandbox off later. */
  const insertIntegration = async () => {
    await rowsOf(
      server,
      `insert into integration (id, application_id, provider, name, settings, redirect_uris, expires_in, created_at, updated_at)
       values (gen_random_uuid(), $1, 'sandbox', 'Sandbox', '{}', '{}', 3600, now(), now()) on conflict do nothing`,
      [application.id],
    );
  };

  it('refuses sandbox integrations, grants, sign-in links and native sign-ins, with the reason', async () => {
    const integration = await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ name: 'Sandbox', provider: 'sandbox' })
      .expect(400);
    expect(integration.body.error.message).toMatch(OFF);
    await insertIntegration();
    const link = await request(server.url)
      .post('/connect/auth')
      .set(application.basic)
      .send({ provider: 'sandbox', redirect_uri: REDIRECT })
      .expect(400);
    expect(link.body.error.message).toMatch(OFF);
    const grant = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'sandbox', settings: ADA })
      .expect(400);
    expect(grant.body.error.message).toMatch(OFF);
    const native = await request(server.url)
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        name: 'Ada',
        email_address: ADA.email,
        provider: 'sandbox',
      })
      .expect(400);
    expect(native.body.message).toMatch(OFF);
  });

  it('offers the sandbox on no page, even if the application has registered it', async () => {
    await insertIntegration();
    const browser = new PageBrowser(server);
    const query = { client_id: application.clientId, redirect_uri: REDIRECT };
    const named = new URLSearchParams({ ...query, provider: 'sandbox' }).toString();
    expect((await browser.get(`/oauth/authorize?${named}`)).status).toBe(400);
    const { location } = await browser.get(
      `/oauth/authorize?${new URLSearchParams(query).toString()}`,
    );
    for (const address of [location ?? '', `${location}&provider=sandbox`]) {
      const { text } = await browser.get(address);
      expect(text).toContain('Sign in to your mailbox');
      expect(text).not.toMatch(/sandbox/i);
    }
  });

  it('does not detect the sandbox as the provider of an address', async () => {
    const { body } = await request(server.url)
      .post('/connect/detect-provider')
      .send({
        client_id: application.clientId,
        client_secret: application.clientSecret,
        email_address: 'ada@sandbox.test',
      })
      .expect(200);
    expect(body).toMatchObject({ detected: false, provider_name: null });
  });

  it('keeps connected sandbox accounts working, and refuses to authenticate them again', async () => {
    const account = await createAccount(server.app, application, { email: 'old@sandbox.test' });
    await request(server.url).get('/account').set(account.bearer).expect(200);
    await request(server.url)
      .post('/send')
      .set(account.bearer)
      .send({ to: [{ email: 'bo@sandbox.test' }], subject: 'Still here', body: 'x' })
      .expect(200);
    const again = await request(server.url)
      .patch(`/connect/grants/${account.id}`)
      .set(application.basic)
      .send({ settings: { password: 'new' } })
      .expect(400);
    expect(again.body.error.message).toMatch(OFF);
  });
});

describe('a production server with the sandbox turned on', () => {
  it('connects sandbox accounts', async () => {
    const server = await startTestApp({ ROLES: 'api', NODE_ENV: 'production', SANDBOX: 'true' });
    try {
      const application = await createApplication(server.app);
      await registerSandbox(server, application);
      await request(server.url)
        .post('/connect/grants')
        .set(application.basic)
        .send({ provider: 'sandbox', settings: ADA })
        .expect(200);
    } finally {
      await server.close();
    }
  });
});
