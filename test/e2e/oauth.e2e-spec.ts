import request from 'supertest';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const REDIRECT = 'https://app.example.test/callback';

describe('/oauth', () => {
  const clock = new TestClock();
  let server: TestApp;
  let application: TestApplication;
  let browser: PageBrowser;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await change({ redirect_uris: [REDIRECT] });
    browser = new PageBrowser(server);
  });
  afterAll(() => server.close());

  const change = (body: object) =>
    request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send(body)
      .expect(200);
  const authorize = (change: Readonly<Record<string, string | null>> = {}) => {
    const query = Object.entries({
      client_id: application.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      provider: 'sandbox',
      state: 'st&te',
      ...change,
    }).filter((entry): entry is [string, string] => entry[1] !== null);
    return browser.get(`/oauth/authorize?${new URLSearchParams(query).toString()}`);
  };
  const signIn = async (change: Readonly<Record<string, string | null>> = {}): Promise<URL> => {
    const { location } = await authorize(change);
    await browser.get(location ?? '');
    await browser.follow('credentials', { email: 'ada@sandbox.test', password: 'x' });
    await browser.submit('consent');
    return new URL(browser.page.location ?? '');
  };
  const codeFor = async (change = {}): Promise<string> =>
    (await signIn(change)).searchParams.get('code') ?? '';
  const token = (code: string, change: object = {}) => ({
    client_id: application.clientId,
    client_secret: application.clientSecret,
    grant_type: 'authorization_code',
    code,
    ...change,
  });
  const accounts = async () =>
    (
      await request(server.url)
        .get(`/a/${application.clientId}/accounts`)
        .set(application.secretBasic)
    ).body as unknown[];

  describe('authorize', () => {
    it('leads to the sign-in and back with a code and the state, and connects no account by itself', async () => {
      const back = await signIn({ scopes: 'email.send,calendar', login_hint: 'ada@sandbox.test' });
      expect(back.origin + back.pathname).toBe(REDIRECT);
      expect(Object.fromEntries(back.searchParams)).toEqual({
        code: expect.stringMatching(/^[0-9a-z]{40}$/),
        state: 'st&te',
      });
      expect(await accounts()).toEqual([]);
    });

    it('returns the token itself behind # if requested, and if the application allows it', async () => {
      await change({ allow_response_type_token: true });
      const back = await signIn({ response_type: 'token' });
      expect(back.search).toBe('');
      const values = Object.fromEntries(new URLSearchParams(back.hash.slice(1)));
      expect(values).toEqual({
        access_token: expect.stringMatching(/^[0-9a-z]{40}$/),
        token_type: 'bearer',
        account_id: expect.any(String),
        email_address: 'ada@sandbox.test',
        provider: 'sandbox',
        state: 'st&te',
      });
      await request(server.url)
        .get('/account')
        .set('authorization', `Bearer ${values['access_token']}`)
        .expect(200);
    });

    it('limits the token to the agreed scopes, even if the integration gets more scopes before the code is used', async () => {
      await registerSandbox(server, application, { scope: ['calendar.read_only'] });
      const code = await codeFor();
      await request(server.url)
        .patch('/connect/integrations/sandbox')
        .set(application.basic)
        .send({ scope: ['calendar', 'email'] })
        .expect(200);
      const { body } = await request(server.url).get('/oauth/token').query(token(code)).expect(200);
      const { body: info } = await request(server.url)
        .post(`/a/${application.clientId}/accounts/${body.account_id}/token-info`)
        .set(application.secretBasic)
        .send({ access_token: body.access_token })
        .expect(200);
      expect(info.scopes).toBe('calendar.read_only');
    });

    it.each([
      ['no client id', { client_id: null }, 'Unknown application'],
      ['an unknown client id', { client_id: 'nobody' }, 'Unknown application'],
      ['a client id with NUL', { client_id: 'a\0' }, 'Unknown application'],
      ['no redirect address', { redirect_uri: null }, 'not set up'],
      [
        'an address that is not registered',
        { redirect_uri: 'https://evil.example/' },
        'not set up',
      ],
      ['the registered address with a path', { redirect_uri: `${REDIRECT}/../../x` }, 'not set up'],
      ['the registered address with a query', { redirect_uri: `${REDIRECT}?a=b` }, 'not set up'],
      [
        'the registered address in another case',
        { redirect_uri: REDIRECT.toUpperCase() },
        'not set up',
      ],
      [
        'an address with user information',
        { redirect_uri: 'https://app.example.test@evil.example/' },
        'not set up',
      ],
      ['a javascript: address', { redirect_uri: 'javascript:alert(1)' }, 'not set up'],
    ])(
      'shows a page without a redirect for %s, even with redirect_on_error',
      async (_, change, words) => {
        await authorize({ ...change, redirect_on_error: 'true' });
        expect(browser.page.status).toBe(400);
        expect(browser.page.location).toBeNull();
        expect(browser.page.text).toContain(words);
        expect(browser.page.text).not.toMatch(/evil\.example|javascript:/);
      },
    );

    it("accepts the redirect addresses of the application's integrations, and of no other application", async () => {
      const own = 'https://integration.example.test/cb';
      await registerSandbox(server, application, { redirect_uris: [own] });
      expect((await authorize({ redirect_uri: own })).status).toBe(302);
      application = await createApplication(server.app);
      for (const redirect_uri of [own, REDIRECT])
        expect((await authorize({ redirect_uri })).status).toBe(400);
    });

    it.each([
      ['an unknown response type', { response_type: 'id_token' }, 'unsupported_response_type'],
      ['an unknown scope', { scopes: 'email,everything' }, 'invalid_scope'],
      ['an unknown provider', { provider: 'nowhere' }, 'invalid_request'],
      ['a provider named like a built-in property', { provider: 'constructor' }, 'invalid_request'],
      ['a state that is too long', { state: 's'.repeat(256) }, 'invalid_request'],
      ['a state with a line break', { state: 'a\r\nX: y' }, 'invalid_request'],
      ['an invalid address', { login_hint: '<ada>' }, 'invalid_request'],
    ])(
      'shows %s on a page, or redirects with the error if the application asks for it',
      async (_, change, error) => {
        await authorize(change);
        expect(browser.page.status).toBe(400);
        expect(browser.page.location).toBeNull();
        await authorize({ ...change, redirect_on_error: 'true' });
        expect(browser.page.status).toBe(302);
        const back = new URL(browser.page.location ?? '');
        expect(back.origin).toBe('https://app.example.test');
        expect(back.searchParams.get('error')).toBe(error);
        expect(back.searchParams.has('code')).toBe(false);
        expect(
          await rowsOf(server, 'select 1 from login_request where application_id = $1', [
            application.id,
          ]),
        ).toEqual([]);
      },
    );

    it('accepts a login hint with an unescaped plus, and an empty one', async () => {
      const address = `/oauth/authorize?client_id=${application.clientId}&response_type=code&redirect_uri=${REDIRECT}&provider=sandbox`;
      await browser.get(`${address}&login_hint=ada+work@sandbox.test`);
      await browser.get(browser.page.location ?? '');
      expect(browser.form('credentials').fields).toMatchObject({ email: 'ada+work@sandbox.test' });
      await browser.get(`${address}&login_hint=`);
      expect(browser.page.status).toBe(302);
    });

    it('accepts names of providers in any case, and flags as PHP sends them', async () => {
      expect((await authorize({ provider: 'iCloud' })).status).toBe(302);
      const back = await authorize({ provider: 'nowhere', redirect_on_error: '1' });
      expect(new URL(back.location ?? '').searchParams.get('error')).toBe('invalid_request');
      expect((await authorize({ provider: 'nowhere', redirect_on_error: '0' })).status).toBe(400);
    });

    it('refuses a redirect address that is registered for another provider', async () => {
      const other = 'https://app.example.test/other';
      await registerSandbox(server, application, { provider: 'imap', redirect_uris: [other] });
      await registerSandbox(server, application);
      await authorize({ redirect_uri: other, redirect_on_error: 'true' });
      expect(browser.page.status).toBe(400);
      expect(browser.page.text).toContain('not set up');
    });

    it('treats an undecodable client id as an unknown application', async () => {
      expect((await authorize({ client_id: 'a\0b' })).status).toBe(400);
    });

    it('refuses repeated parameters', async () => {
      const query = new URLSearchParams({
        client_id: application.clientId,
        redirect_uri: REDIRECT,
      });
      query.append('redirect_uri', 'https://evil.example/');
      await browser.get(`/oauth/authorize?${query.toString()}`);
      expect(browser.page.status).toBe(400);
      expect(browser.page.location).toBeNull();
    });

    it('needs only the client id and the redirect address', async () => {
      await authorize({ response_type: null, state: null, provider: null });
      expect(browser.page.status).toBe(302);
      await browser.get(browser.page.location ?? '');
      expect(browser.page.status).toBe(200);
    });

    it('redirects to the application with access_denied when the user cancels', async () => {
      const { location } = await authorize();
      await browser.get((location ?? '').replace('/login?', '/login/cancel?'));
      await browser.submit('cancel');
      const back = new URL(browser.page.location ?? '');
      expect(Object.fromEntries(back.searchParams)).toMatchObject({
        error: 'access_denied',
        state: 'st&te',
      });
    });
  });

  describe('token', () => {
    const view = {
      access_token: expect.stringMatching(/^[0-9a-z]{40}$/),
      account_id: expect.any(String),
      email_address: 'ada@sandbox.test',
      provider: 'sandbox',
      token_type: 'bearer',
    };
    const client = () => request(server.url);

    it.each([
      ['a query', (values: object) => client().get('/oauth/token').query(values)],
      ['a form', (values: object) => client().post('/oauth/token').type('form').send(values)],
      ['JSON', (values: object) => client().post('/oauth/token').send(values)],
      [
        'a form declared as JSON',
        (values: object) =>
          client()
            .post('/oauth/token')
            .type('application/json')
            .send(new URLSearchParams(values as Record<string, string>).toString()),
      ],
      [
        'JSON declared as a form',
        (values: object) => client().post('/oauth/token').type('form').send(JSON.stringify(values)),
      ],
      [
        'JSON declared as text',
        (values: object) =>
          client().post('/oauth/token').type('text/plain').send(JSON.stringify(values)),
      ],
    ])('is returned for a code, requested by %s', async (_, exchange) => {
      const code = await codeFor();
      const { body, headers } = await exchange(token(code)).expect(200);
      expect(body).toEqual(view);
      expect(headers['content-type']).toContain('application/json');
      expect(headers['cache-control']).toBe('no-store');
      expect(await accounts()).toHaveLength(1);
    });

    it('is returned only once for a code, even for simultaneous requests', async () => {
      const code = await codeFor();
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => client().get('/oauth/token').query(token(code))),
      );
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
        200, 400, 400, 400,
      ]);
    });

    it('is refused for a code older than ten minutes', async () => {
      const code = await codeFor();
      clock.advance(10 * 60_000);
      await client().get('/oauth/token').query(token(code)).expect(400);
      expect(await accounts()).toEqual([]);
    });

    it.each([
      ['no code', { code: undefined }, 400],
      ['an invalid code', { code: 'nonsense' }, 400],
      ['another grant type', { grant_type: 'password' }, 400],
      ['a wrong secret', { client_secret: 'wrong' }, 401],
      ['an unknown application', { client_id: 'wrong' }, 401],
      ['NUL characters', { code: 'a\0b' }, 400],
    ])('is refused for %s, with JSON', async (_, change, status) => {
      const code = await codeFor();
      for (const answer of [
        await client().get('/oauth/token').query(token(code, change)),
        await client().post('/oauth/token').type('form').send(token(code, change)),
        await client().post('/oauth/token').send(token(code, change)),
      ]) {
        expect(answer.status).toBe(status);
        expect(answer.body).toMatchObject({
          message: expect.any(String),
          type: 'invalid_request_error',
        });
      }
      await client().get('/oauth/token').query(token(code)).expect(200);
    });

    it("is refused for another application's code, which stays valid", async () => {
      const code = await codeFor();
      const other = await createApplication(server.app);
      const stolen = token(code, { client_id: other.clientId, client_secret: other.clientSecret });
      await client().get('/oauth/token').query(stolen).expect(400);
      await client().get('/oauth/token').query(token(code)).expect(200);
    });

    it('is refused for a form that is too large', async () => {
      await client()
        .post('/oauth/token')
        .type('form')
        .send(`code=${'x'.repeat(70_000)}`)
        .expect(413);
    });
  });
});
