import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const GOOGLE = {
  name: 'Google',
  provider: 'google',
  settings: { client_id: 'gid.example.test', client_secret: 'very-secret-value' },
  redirect_uris: ['https://app.example.test/cb'],
  expires_in: 7200,
  scope: ['email.modify', 'calendar'],
};

describe('/connect/integrations', () => {
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp();
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const call = (
    method: 'get' | 'post' | 'patch' | 'delete' | 'put',
    path = '',
    body?: object,
    headers: Record<string, string> = application.basic,
  ) => {
    const sent = request(server.url)[method](`/connect/integrations${path}`).set(headers);
    return body ? sent.send(body) : sent;
  };
  const list = async () => (await call('get')).body.data as { id: string; provider: string }[];

  it('creates an integration and returns it in the envelope, without the secret', async () => {
    const response = await call('post', '', GOOGLE);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      success: true,
      data: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'Google',
        provider: 'google',
        settings: { client_id: 'gid.example.test' },
        redirect_uris: ['https://app.example.test/cb'],
        expires_in: 7200,
        scope: ['email.modify', 'calendar'],
        require_proven_address: false,
      },
    });
  });

  it('never returns the client secret', async () => {
    const answers = [
      await call('post', '', GOOGLE),
      await call('post', '', GOOGLE),
      await call('get'),
      await call('get', '/google'),
      await call('patch', '/google', { settings: { client_secret: 'very-secret-value-2' } }),
      await call('delete', '/google'),
    ];
    for (const answer of answers) expect(answer.text).not.toContain('very-secret-value');
  });

  it('accepts a minimal sandbox integration, numbers as strings, and JSON under any content type', async () => {
    const minimal = await call('post', '', { name: 'S', provider: 'sandbox' });
    expect(minimal.body.data).toMatchObject({
      settings: {},
      redirect_uris: [],
      expires_in: 3600,
      scope: [],
    });
    const text = await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .type('text/plain')
      .send(JSON.stringify({ ...GOOGLE, expires_in: '120', scope: null }));
    expect(text.body.data).toMatchObject({ expires_in: 120, scope: [] });
  });

  it('reads, changes and deletes an integration by provider and by id', async () => {
    const { id } = (await call('post', '', GOOGLE)).body.data;
    expect((await call('get', '/google')).body).toEqual((await call('get', `/${id}`)).body);
    const changed = await call('patch', `/${id}`, {
      name: 'G2',
      scope: [],
      settings: { tenant: 't' },
    });
    expect(changed.status).toBe(200);
    expect(changed.body.data).toMatchObject({
      id,
      name: 'G2',
      scope: [],
      expires_in: 7200,
      settings: { client_id: 'gid.example.test', tenant: 't' },
    });
    expect((await call('patch', '/google', { redirect_uris: [] })).body.data).toMatchObject({
      name: 'G2',
      redirect_uris: [],
    });
    expect((await call('delete', '/google')).body).toEqual({ success: true });
    expect((await call('get', `/${id}`)).status).toBe(404);
    expect((await call('post', '', GOOGLE)).status).toBe(200);
  });

  it('lists integrations with limit and offset, 10 by default', async () => {
    for (const provider of ['sandbox', 'imap'])
      await call('post', '', { name: provider, provider });
    await call('post', '', GOOGLE);
    const all = await call('get');
    expect(all.body).toMatchObject({ limit: 10, offset: 0 });
    expect(all.body.data.map(({ provider }: { provider: string }) => provider)).toEqual([
      'sandbox',
      'imap',
      'google',
    ]);
    const page = await call('get', '?limit=1&offset=1&unknown=1');
    expect(page.body).toMatchObject({ limit: 1, offset: 1, data: [{ provider: 'imap' }] });
    expect((await call('get', '?limit=0')).body).toEqual({ data: [], limit: 0, offset: 0 });
    const ofProvider = (await call('get', '?provider=imap')).body.data as { provider: string }[];
    expect(ofProvider.map(({ provider }) => provider)).toEqual(['imap']);
    const byOtherName = (await call('get', '?provider=gmail')).body.data as { provider: string }[];
    expect(byOtherName.map(({ provider }) => provider)).toEqual(['google']);
    const unknown = await call('get', '?provider=gogle');
    expect([unknown.status, unknown.body.error.message]).toEqual([
      400,
      expect.stringMatching(/^provider: must be one of .*google \(or gmail\)/),
    ]);
    for (const query of ['limit=-1', 'limit=x', 'limit=1001', 'offset=-1', 'limit=1.5']) {
      const refused = await call('get', `?${query}`);
      expect(refused.status).toBe(400);
      expect(refused.body).toMatchObject({
        success: false,
        error: { type: 'api.invalid_request_payload' },
      });
    }
  });

  it('reads scopes of the provider as those that permit no more', async () => {
    const scope = ['openid', 'https://www.googleapis.com/auth/gmail.readonly'];
    const answer = await call('post', '', { ...GOOGLE, scope });
    expect([answer.status, answer.body.data.scope]).toEqual([200, ['email.read_only']]);
  });

  it('refuses a second integration for the same provider with 409', async () => {
    await call('post', '', GOOGLE);
    const second = await call('post', '', { ...GOOGLE, name: 'Another' });
    expect(second.status).toBe(409);
    expect(second.body).toEqual({
      success: false,
      error: { type: 'integration.already_exists', message: expect.stringContaining('google') },
      request_id: second.headers['x-request-id'],
    });
    expect(await list()).toHaveLength(1);
  });

  it('creates only one of several simultaneous integrations', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => call('post', '', GOOGLE)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(5);
    expect(await list()).toHaveLength(1);
  });

  it.each([
    ['no name', { name: undefined }, 'name is required'],
    ['an empty name', { name: '  ' }, 'name'],
    ['no provider', { provider: undefined }, 'provider is required'],
    ['an unknown provider', { provider: 'zoom' }, 'sandbox, google, microsoft, imap'],
    ['Zoom', { provider: 'zoom' }, 'PUT /a/{client_id}/conferencing'],
    ['virtual calendars', { provider: 'nylas' }, 'POST /connect/authorize'],
    ['no client id for google', { settings: { client_secret: 's' } }, 'settings.client_id'],
    [
      'no client secret for microsoft',
      { provider: 'microsoft', settings: { client_id: 'c' } },
      'client_secret',
    ],
    [
      'no settings for google',
      { settings: undefined },
      'settings.client_id and settings.client_secret',
    ],
    ['settings that are a list', { settings: [] }, 'settings'],
    [
      'a client id that is a number',
      { settings: { client_id: 5, client_secret: 's' } },
      'settings.client_id',
    ],
    ['a lifetime of 60 seconds', { expires_in: 60 }, 'expires_in'],
    ['a lifetime of ten years', { expires_in: 315_360_000 }, 'expires_in'],
    ['a lifetime that is not a number', { expires_in: 'soon' }, 'expires_in'],
    ['an unknown scope', { scope: ['email', 'everything'] }, 'everything'],
    [
      'a redirect address that is not a web address',
      { redirect_uris: ['not a url'] },
      'redirect_uris.0',
    ],
    [
      'a redirect address with a scheme other than http(s)',
      { redirect_uris: ['javascript:alert(1)'] },
      'redirect_uris.0',
    ],
  ])('refuses %s and stores nothing', async (_, change, words) => {
    const response = await call('post', '', { ...GOOGLE, ...change });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      success: false,
      error: { type: 'api.invalid_request_payload', message: expect.stringContaining(words) },
      request_id: response.headers['x-request-id'],
    });
    expect(await list()).toEqual([]);
  });

  it('accepts the shortest and the longest allowed lifetime', async () => {
    expect((await call('post', '', { ...GOOGLE, expires_in: 61 })).body.data.expires_in).toBe(61);
    expect((await call('patch', '/google', { expires_in: 315_359_999 })).body.data.expires_in).toBe(
      315_359_999,
    );
  });

  it('refuses to empty settings that the provider needs', async () => {
    await call('post', '', GOOGLE);
    const response = await call('patch', '/google', { name: 'x', settings: { client_secret: '' } });
    expect(response.status).toBe(400);
    expect((await call('get', '/google')).body.data.name).toBe('Google');
  });

  describe('for imap accounts that sign in by OAuth', () => {
    const settings = {
      client_id: 'carillon',
      client_secret: 'very-secret-value',
      issuer: 'https://login.example.test',
      imap_host: 'IMAP.example.test',
      smtp_host: 'smtp.example.test',
    };
    const imap = { ...GOOGLE, name: 'Mail', provider: 'imap', settings };

    it('stores the issuer and the servers, and shows them without the secret', async () => {
      const created = await call('post', '', imap);
      const { client_secret: _, ...shown } = settings;
      expect(created.body.data.settings).toEqual({
        ...shown,
        issuer: 'https://login.example.test/',
        imap_host: 'imap.example.test',
      });
      const changed = await call('patch', '/imap', {
        settings: { smtp_port: '465', smtp_files_sent: true },
      });
      expect(changed.body.data.settings).toMatchObject({ smtp_port: 465, smtp_files_sent: true });
    });

    it('accepts settings as the Java client returns them, as text and with decimals', async () => {
      await call('post', '', imap);
      const settings = { imap_port: '993.0', smtp_files_sent: 'true' };
      const { body } = await call('patch', '/imap', { settings }).expect(200);
      expect(body.data.settings).toMatchObject({ imap_port: 993, smtp_files_sent: true });
      await call('patch', '/imap', { settings: { imap_port: '993.5' } }).expect(400);
    });

    it('requires the secret again when the issuer or an endpoint changes, so that no other server receives it', async () => {
      await call('post', '', imap);
      const other = { issuer: 'https://evil.example' };
      const refused = await call('patch', '/imap', { settings: other });
      expect(refused.status).toBe(400);
      expect(refused.body.error.message).toContain('settings.client_secret is required');
      const endpoints = {
        issuer: '',
        authorization_endpoint: 'https://login.example.test/a',
        token_endpoint: 'https://evil.example/t',
        oauth_scope: 'mail',
      };
      expect((await call('patch', '/imap', { settings: endpoints })).status).toBe(400);
      expect((await call('get', '/imap')).body.data.settings).toMatchObject({
        issuer: 'https://login.example.test/',
      });
      const same = await call('patch', '/imap', {
        settings: { issuer: settings.issuer, tenant: 't' },
      });
      expect(same.status).toBe(200);
      const anew = { ...other, client_secret: 'another' };
      expect((await call('patch', '/imap', { settings: anew })).status).toBe(200);
    });

    it('returns to passwords when the settings are emptied', async () => {
      await call('post', '', imap);
      const nothing = { client_id: '', issuer: '', imap_host: '', smtp_host: '' };
      expect((await call('patch', '/imap', { settings: nothing })).body.data.settings).toEqual({});
    });

    it('accepts an issuer without TLS only on an allowed host', async () => {
      const created = await call('post', '', {
        ...imap,
        settings: { ...settings, issuer: 'http://127.0.0.1:4000' },
      });
      expect(created.body.data.settings.issuer).toBe('http://127.0.0.1:4000/');
    });

    it.each<[string, object, string]>([
      ['no client id', { client_id: undefined }, 'settings.client_id'],
      [
        'no servers',
        { imap_host: undefined, smtp_host: '' },
        'settings.imap_host and settings.smtp_host are required',
      ],
      ['servers without an issuer', { issuer: undefined }, 'settings.issuer is required'],
      [
        'half of the endpoints',
        { issuer: undefined, token_endpoint: 'https://login.example.test/token' },
        'settings.authorization_endpoint and settings.oauth_scope are required',
      ],
      [
        'an issuer and endpoints',
        { token_endpoint: 'https://login.example.test/token' },
        'settings.token_endpoint: ',
      ],
      [
        'id tokens of an unknown issuer',
        {
          issuer: undefined,
          authorization_endpoint: 'https://login.example.test/authorize',
          token_endpoint: 'https://login.example.test/token',
          oauth_scope: 'openid mail',
        },
        'settings.oauth_scope: ',
      ],
      [
        'an issuer without TLS',
        { issuer: 'http://login.example.test' },
        'settings.issuer must be an https',
      ],
      [
        'an issuer in a private network',
        { issuer: 'https://10.0.0.1' },
        'settings.issuer must have a public',
      ],
      [
        'an issuer that is not a web address',
        { issuer: 'login' },
        'settings.issuer must be an https',
      ],
      [
        'a web address instead of a host name',
        { imap_host: 'imaps://imap.example.test' },
        'settings.imap_host',
      ],
      ['a port out of range', { imap_port: 70_000 }, 'settings.imap_port'],
      ['an unknown security', { smtp_security: 'ssl' }, 'settings.smtp_security'],
      [
        'an unknown authentication method',
        { token_endpoint_auth_method: 'x' },
        'token_endpoint_auth_method',
      ],
    ])('refuses %s and names the field', async (_, change, words) => {
      const response = await call('post', '', { ...imap, settings: { ...settings, ...change } });
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(words);
      expect(await list()).toEqual([]);
    });

    it('refuses these settings for other providers', async () => {
      const response = await call('post', '', {
        ...GOOGLE,
        settings: { ...GOOGLE.settings, issuer: settings.issuer },
      });
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(
        'settings: must not contain issuer; allowed: client_id, client_secret, ',
      );
    });
  });

  it('refuses unknown settings by name, in a new integration and in a change', async () => {
    const text =
      'settings: must not contain client_idd (did you mean client_id?); allowed: client_id, ';
    const settings = { client_id: 'a', client_secret: 'b' };
    const wrong = { settings: { ...settings, client_idd: 'c' } };
    const created = await call('post', '', { name: 'G', provider: 'google', ...wrong });
    expect(created.status).toBe(400);
    expect(created.body.error.message).toContain(text);
    await call('post', '', { name: 'G', provider: 'google', settings }).expect(200);
    const before = (await call('get', '/google')).body;
    const changed = await call('patch', '/google', { name: 'H', ...wrong });
    expect(changed.status).toBe(400);
    expect(changed.body.error.message).toContain(text);
    expect((await call('get', '/google')).body).toEqual(before);
    await call('delete', '/google').expect(200);
  });

  it('refuses broken JSON, JSON that is not an object, and unsupported methods', async () => {
    const send = (text: string) =>
      request(server.url)
        .post('/connect/integrations')
        .set(application.basic)
        .type('application/json')
        .send(text);
    expect((await send('{"name":')).status).toBe(400);
    expect((await send('[1]')).status).toBe(400);
    expect((await send('"text"')).body).toMatchObject({
      success: false,
      error: { message: expect.any(String) },
    });
    const put = await call('put', '/google', GOOGLE);
    expect(put.status).toBe(405);
    expect(put.headers['allow']).toContain('PATCH');
  });

  it('keeps applications apart', async () => {
    const { id } = (await call('post', '', GOOGLE)).body.data;
    const other = await createApplication(server.app);
    expect((await call('get', '', undefined, other.basic)).body.data).toEqual([]);
    for (const key of ['google', id]) {
      expect((await call('get', `/${key}`, undefined, other.basic)).status).toBe(404);
      expect((await call('patch', `/${key}`, { name: 'mine' }, other.basic)).status).toBe(404);
      expect((await call('delete', `/${key}`, undefined, other.basic)).status).toBe(404);
    }
    expect((await call('post', '', GOOGLE, other.basic)).status).toBe(200);
    expect((await call('get', '/google')).body.data.name).toBe('Google');
  });

  it('answers 404 for keys that are neither a provider nor an id', async () => {
    for (const key of [
      'nope',
      '1',
      '%00',
      '019aa1b2-0000-7000-8000-000000000001',
      'a'.repeat(5000),
    ]) {
      const response = await call('get', `/${key}`);
      expect(response.status).toBe(404);
      expect(response.body).toMatchObject({
        success: false,
        error: { type: 'api.not_found_error' },
      });
    }
  });

  it('needs the client id and the client secret', async () => {
    const basic = (text: string) => ({
      authorization: `Basic ${Buffer.from(text).toString('base64')}`,
    });
    const wrong = [
      {},
      application.secretBasic,
      basic(`${application.clientId}:wrong`),
      basic(`${application.clientId}:`),
      basic(`\0:x`),
      { authorization: `Bearer ${application.clientSecret}` },
    ];
    for (const headers of wrong) {
      const response = await call('post', '', GOOGLE, headers as Record<string, string>);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBeDefined();
      expect(response.body).toMatchObject({
        success: false,
        error: { type: 'api.authentication_error' },
      });
    }
    expect(await list()).toEqual([]);
  });
});
