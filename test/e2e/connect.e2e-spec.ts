import request from 'supertest';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('native authentication', () => {
  const clock = new TestClock();
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const post = (path: string, body: object) => request(server.url).post(path).send(body);
  const authorize = (change: object = {}) =>
    post('/connect/authorize', {
      client_id: application.clientId,
      name: 'Ada Example',
      email_address: 'Ada@Sandbox.test',
      provider: 'sandbox',
      settings: { password: 'p4ssw0rd-of-ada' },
      ...change,
    });
  const exchange = (code: string, change: object = {}) =>
    post('/connect/token', {
      client_id: application.clientId,
      client_secret: application.clientSecret,
      code,
      ...change,
    });
  const codeFor = async (change: object = {}): Promise<string> =>
    (await authorize(change)).body.code;
  const accounts = async () =>
    (
      await request(server.url)
        .get(`/a/${application.clientId}/accounts`)
        .set(application.secretBasic)
    ).body as { id: string }[];

  it('returns a code for credentials, and an account for the code', async () => {
    const authorized = await authorize({ scopes: 'email.modify, calendar' });
    expect(authorized.status).toBe(200);
    expect(authorized.body).toEqual({ code: expect.stringMatching(/^[0-9a-z]{40}$/) });
    expect(await accounts()).toEqual([]);
    const connected = await exchange(authorized.body.code);
    expect(connected.status).toBe(200);
    expect(connected.body).toEqual({
      id: expect.any(String),
      object: 'account',
      account_id: connected.body.id,
      name: 'Ada Example',
      email_address: 'ada@sandbox.test',
      address_proven: true,
      proof: 'sandbox',
      provider: 'sandbox',
      organization_unit: 'folder',
      sync_state: 'running',
      linked_at: expect.any(Number),
      billing_state: 'paid',
      mirror: null,
      access_token: expect.stringMatching(/^[0-9a-z]{40}$/),
    });
    const self = await request(server.url)
      .get('/account')
      .set('authorization', `Bearer ${connected.body.access_token}`);
    expect(self.body.id).toBe(connected.body.id);
    const info = await request(server.url)
      .post(`/a/${application.clientId}/accounts/${connected.body.id}/token-info`)
      .set(application.secretBasic)
      .send({ access_token: connected.body.access_token });
    expect(info.body.scopes).toBe('email.modify,calendar');
  });

  it('stores the user agent and the address of the client with the grant', async () => {
    const authorized = await authorize().set('user-agent', 'signup/1.0');
    const { id } = (await exchange(authorized.body.code).set('user-agent', 'backend/2.0')).body;
    const grant = () =>
      request(server.url).get(`/connect/grants/${id}`).set(application.basic).expect(200);
    expect((await grant()).body.data).toMatchObject({
      user_agent: 'signup/1.0',
      ip: expect.stringContaining('127.0.0.1'),
    });
    const again = await authorize().set('user-agent', 'x'.repeat(600));
    await exchange(again.body.code);
    expect((await grant()).body.data.user_agent).toBe('x'.repeat(500));
  });

  it('leaves the grant as it is for a PATCH that changes nothing', async () => {
    const { id } = (await exchange(await codeFor())).body;
    const grant = (method: 'get' | 'patch', body?: object) =>
      request(server.url)[method](`/connect/grants/${id}`).set(application.basic).send(body);
    const { body: before } = await grant('get').expect(200);
    clock.advance(60_000);
    for (const body of [{}, { settings: {}, metadata: null }])
      expect((await grant('patch', body).expect(200)).body).toEqual(before);
    expect((await grant('get')).body).toEqual(before);
  });

  it('accepts settings that are an empty list, as PHP encodes an empty map', async () => {
    expect((await exchange(await codeFor({ settings: [] }))).status).toBe(200);
    expect((await authorize({ settings: ['password'] })).status).toBe(400);
  });

  it('accepts `email`, a list of scopes, JSON sent as text/plain, and any Authorization header', async () => {
    const response = await request(server.url)
      .post('/connect/authorize')
      .set('authorization', 'Basic bm9ib2R5Og==')
      .type('text/plain')
      .send(
        JSON.stringify({
          client_id: application.clientId,
          name: 'Bo',
          email: 'bo@sandbox.test',
          provider: 'sandbox',
          scopes: ['calendar'],
        }),
      );
    expect(response.status).toBe(200);
    expect((await exchange(response.body.code)).body.email_address).toBe('bo@sandbox.test');
  });

  it('stores the code as a hash and the request encrypted', async () => {
    const code = await codeFor();
    const rows = await rowsOf(
      server,
      'select c::text as text from authorization_code c where application_id = $1',
      [application.id],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.['text']).not.toContain(code);
    expect(rows[0]?.['text']).not.toMatch(/p4ssw0rd|ada@/);
  });

  it('accepts each code only once', async () => {
    const code = await codeFor();
    const answers = await Promise.all(Array.from({ length: 4 }, () => exchange(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { body } of answers.filter(({ status }) => status !== 200)) {
      expect(body).toEqual({
        message: 'code: is unknown, expired or already used',
        type: 'invalid_request_error',
      });
    }
    expect(await accounts()).toHaveLength(1);
  });

  it('accepts a code for ten minutes', async () => {
    const [late, punctual] = [await codeFor(), await codeFor()];
    clock.advance(9 * 60_000);
    expect((await exchange(punctual)).status).toBe(200);
    clock.advance(60_000);
    expect((await exchange(late)).status).toBe(400);
    expect(await accounts()).toHaveLength(1);
    await authorize();
    expect(
      await rowsOf(server, 'select 1 from authorization_code where application_id = $1', [
        application.id,
      ]),
    ).toHaveLength(1);
  });

  it('refuses a wrong client secret with 401, and the code stays valid', async () => {
    const code = await codeFor();
    const other = await createApplication(server.app);
    for (const change of [
      { client_secret: 'wrong' },
      { client_id: 'wrong' },
      { client_id: other.clientId },
    ]) {
      const refused = await exchange(code, change);
      expect(refused.status).toBe(401);
      expect(refused.body.message).toBe('Could not verify access credential.');
    }
    const stolen = await exchange(code, {
      client_id: other.clientId,
      client_secret: other.clientSecret,
    });
    expect(stolen.status).toBe(400);
    expect(await accounts()).toEqual([]);
    expect((await exchange(code)).status).toBe(200);
  });

  it.each([
    ['no client id', { client_id: undefined }, 400, 'client_id is required'],
    ['an unknown client id', { client_id: 'nobody' }, 401, 'Could not verify'],
    ['no name', { name: undefined }, 400, 'name is required'],
    ['no address', { email_address: undefined }, 400, 'email_address is required'],
    ['an address without a domain', { email_address: 'ada' }, 400, 'email_address'],
    ['no provider', { provider: undefined }, 400, 'provider is required'],
    [
      'an unknown provider',
      { provider: 'nobody' },
      400,
      'supported: sandbox, google, microsoft, imap, nylas, gmail, outlook, hotmail, office365, graph, yahoo',
    ],
    [
      'Google without a token',
      { provider: 'google' },
      400,
      'settings.google_refresh_token is required',
    ],
    [
      'tokens of another application',
      { provider: 'gmail', settings: { google_refresh_token: 'p4ssw0rd-of-ada' } },
      400,
      'settings.google_client_id and settings.google_client_secret are required',
    ],
    ['Exchange without IMAP', { provider: 'exchange' }, 400, 'settings.imap_host'],
    [
      'the provider graph without a token',
      { provider: 'graph' },
      400,
      'settings.microsoft_refresh_token is required',
    ],
    [
      'a preset without a password',
      { provider: 'yahoo', settings: {} },
      400,
      'settings.password: is required',
    ],
    [
      'a port out of range',
      { provider: 'imap', settings: { imap_port: 70_000, password: 'p4ssw0rd-of-ada' } },
      400,
      'settings.imap_port',
    ],
    [
      'a web address instead of a host name',
      {
        provider: 'imap',
        settings: { imap_host: 'https://imap.example.test/', password: 'p4ssw0rd-of-ada' },
      },
      400,
      'settings.imap_host: must be a host name',
    ],
    [
      'the metadata service as a mail server',
      {
        provider: 'imap',
        settings: {
          imap_host: '169.254.169.254',
          smtp_host: '169.254.169.254',
          password: 'p4ssw0rd-of-ada',
        },
      },
      400,
      'settings: could not connect to the mail servers',
    ],
    [
      'a virtual calendar with mail',
      { provider: 'nylas', scopes: ['calendar', 'email'] },
      400,
      'scopes: email',
    ],
    ['an unknown scope', { scopes: 'email,everything' }, 400, 'everything'],
    ['settings that are a string', { settings: 'x' }, 400, 'settings'],
    ['a setting of the wrong type', { settings: { password: 1 } }, 400, 'settings.password'],
    [
      'credentials that the provider refuses',
      { settings: { password: 'wrong' } },
      400,
      'settings.password: 535',
    ],
    [
      'an unknown account to authenticate again',
      { reauth_account_id: 'x' },
      400,
      'reauth_account_id',
    ],
  ])('refuses %s and returns no code', async (_, change, status, words) => {
    const response = await authorize(change);
    expect(response.status).toBe(status);
    expect(response.body.message).toContain(words);
    expect(response.body.type).toBe('invalid_request_error');
    expect(response.text).not.toContain('p4ssw0rd');
    expect(
      await rowsOf(server, 'select 1 from authorization_code where application_id = $1', [
        application.id,
      ]),
    ).toEqual([]);
  });

  it('returns the error text of a provider that refuses the credentials', async () => {
    const response = await authorize({ settings: { password: 'wrong' } });
    expect(response.body.server_error).toContain('535 5.7.8');
    expect(response.text).not.toContain('p4ssw0rd');
  });

  it('authenticates only the named account again', async () => {
    const ada = await createAccount(server.app, application, {
      email: 'ada@sandbox.test',
      status: 'invalid',
    });
    const bo = await createAccount(server.app, application, { email: 'bo@sandbox.test' });
    const another = await authorize({ reauth_account_id: bo.id });
    expect(another.status).toBe(400);
    const foreign = await createAccount(server.app, await createApplication(server.app), {
      email: 'ada@sandbox.test',
    });
    // Every client that knows the client id may ask. The response must not reveal whether the
    // account exists.
    for (const id of [foreign.id, 'nonsense'])
      expect((await authorize({ reauth_account_id: id })).body).toEqual(another.body);
    expect(another.text).not.toContain(bo.email);
    const connected = await exchange(await codeFor({ reauth_account_id: ada.id }));
    expect(connected.body).toMatchObject({ id: ada.id, sync_state: 'running' });
    const code = await codeFor({ reauth_account_id: ada.id });
    await request(server.url)
      .delete(`/connect/grants/${ada.id}`)
      .set(application.basic)
      .expect(200);
    expect((await exchange(code)).status).toBe(400);
    expect((await accounts()).map(({ id }) => id)).toEqual([bo.id]);
  });

  it('refuses a second account to a quickstart application, and the code stays valid', async () => {
    application = await createApplication(server.app, { plan: 'quickstart' });
    const first = await exchange(await codeFor());
    const code = await codeFor({ email_address: 'bo@sandbox.test' });
    const refused = await exchange(code);
    expect(refused.status).toBe(403);
    expect(refused.body).toEqual({
      message: expect.stringContaining('one connected account'),
      type: 'invalid_request_error',
    });
    expect(await accounts()).toHaveLength(1);
    await request(server.url).delete(`/connect/grants/${first.body.id}`).set(application.basic);
    expect((await exchange(code)).status).toBe(200);
  });

  it('accepts only one of two simultaneous exchanges in a quickstart application', async () => {
    application = await createApplication(server.app, { plan: 'quickstart' });
    const codes = [await codeFor(), await codeFor({ email_address: 'bo@sandbox.test' })];
    const answers = await Promise.all(codes.map((code) => exchange(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(1);
    expect(await accounts()).toHaveLength(1);
  });

  describe('POST /connect/detect-provider', () => {
    const detect = (email: unknown, change: object = {}) =>
      post('/connect/detect-provider', {
        client_id: application.clientId,
        client_secret: application.clientSecret,
        email_address: email,
        ...change,
      });

    it.each([
      [
        'ada@sandbox.test',
        { detected: true, provider_name: 'sandbox', auth_name: 'sandbox', is_imap: false },
      ],
      [
        'ada@Gmail.com',
        { detected: true, provider_name: 'gmail', auth_name: 'gmail', is_imap: false },
      ],
      [
        'ada@hotmail.com',
        { detected: true, provider_name: 'hotmail', auth_name: 'hotmail', is_imap: false },
      ],
      [
        'ada@me.com',
        { detected: true, provider_name: 'icloud', auth_name: 'icloud', is_imap: true },
      ],
      ['ada@gmx.de', { detected: true, provider_name: 'imap', auth_name: 'imap', is_imap: true }],
      [
        'ada@constructor',
        { detected: false, provider_name: null, auth_name: null, is_imap: false },
      ],
      [
        'ada@example.test',
        { detected: false, provider_name: null, auth_name: null, is_imap: false },
      ],
    ])('recognizes %s', async (email, expected) => {
      const response = await detect(email);
      expect(response.status).toBe(200);
      expect(response.body).toEqual({ ...expected, email_address: email });
    });

    it('needs an address and the client credentials', async () => {
      expect((await detect('nobody')).status).toBe(400);
      expect((await detect(5)).status).toBe(400);
      expect((await detect(undefined)).body.missing_fields).toEqual(['email_address']);
      expect((await detect('a@gmail.com', { client_secret: 'wrong' })).status).toBe(401);
    });
  });
});
