import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const AS_MADE = {
  application_name: 'Front desk',
  icon_url: null,
  contact_email: null,
  redirect_uris: [],
  allow_response_type_token: false,
  allowed_scopes: null,
  access_token_expires_in: null,
  revoke_tokens_on_sign_in: false,
};

describe('/a/{client_id}', () => {
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp({
      PUBLIC_IP_ADDRESSES: '198.51.100.7, 2001:db8::1',
      RATE_LIMIT_APPLICATION: '1000',
    });
  });
  beforeEach(async () => {
    application = await createApplication(server.app, { name: 'Front desk' });
  });
  afterAll(() => server.close());

  const path = () => `/a/${application.clientId}`;
  const get = () => request(server.url).get(path()).set(application.secretBasic);
  const put = (body: object) =>
    request(server.url).put(path()).set(application.secretBasic).send(body);

  it('shows the name, icon and redirect addresses, and no secret', async () => {
    const response = await get();
    expect(response.status).toBe(200);
    expect(response.body).toEqual(AS_MADE);
  });

  it('changes only the given fields, by PUT and by POST', async () => {
    const changed = await put({
      redirect_uris: ['https://app.example.test/cb', 'http://localhost:3000/cb'],
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      application_name: 'Front desk',
      icon_url: null,
      contact_email: null,
      redirect_uris: ['https://app.example.test/cb', 'http://localhost:3000/cb'],
      allow_response_type_token: false,
      allowed_scopes: null,
      access_token_expires_in: null,
      revoke_tokens_on_sign_in: false,
    });
    const posted = await request(server.url)
      .post(path())
      .set(application.secretBasic)
      .type('text/plain')
      .send(
        JSON.stringify({
          application_name: 'Back desk',
          icon_url: 'https://app.example.test/i.png',
        }),
      );
    expect(posted.status).toBe(200);
    expect((await get()).body).toEqual({
      application_name: 'Back desk',
      icon_url: 'https://app.example.test/i.png',
      contact_email: null,
      redirect_uris: ['https://app.example.test/cb', 'http://localhost:3000/cb'],
      allow_response_type_token: false,
      allowed_scopes: null,
      access_token_expires_in: null,
      revoke_tokens_on_sign_in: false,
    });
    expect((await put({ icon_url: '' })).body.icon_url).toBeNull();
  });

  it.each([
    ['an empty body', {}],
    ['only nulls', { application_name: null, redirect_uris: null }],
  ])('returns the application unchanged for %s', async (_, body) => {
    const response = await put(body);
    expect([response.status, response.body]).toEqual([200, AS_MADE]);
  });

  it.each([
    ['a switch that is not a boolean', { allow_response_type_token: 'yes' }],
    ['a lifetime of less than 60 seconds', { access_token_expires_in: 59 }],
    ['a lifetime that is not a number', { access_token_expires_in: 'soon' }],
    ['an unknown scope', { allowed_scopes: ['everything'] }],
    ['an empty list of scopes', { allowed_scopes: [] }],
    ['an empty string of scopes', { allowed_scopes: '' }],
    ['scopes that are neither a list nor a string', { allowed_scopes: { email: true } }],
    ['only unknown fields', { plan: 'standard' }],
    ['an empty name', { application_name: ' ' }],
    ['a name that is not a string', { application_name: 5 }],
    ['a name with a NUL character', { application_name: 'a\0b' }],
    ['an icon that is not a web address', { icon_url: 'javascript:alert(1)' }],
    [
      'a redirect address with a scheme other than http(s)',
      { redirect_uris: ['ftp://app.example.test'] },
    ],
    ['a redirect address with credentials', { redirect_uris: ['https://u:p@app.example.test'] }],
    ['a redirect address with a fragment', { redirect_uris: ['https://app.example.test/#x'] }],
    ['a body nested a million levels deep', undefined],
    ['one address instead of a list', { redirect_uris: 'https://app.example.test' }],
  ])('refuses %s and changes nothing', async (_, body) => {
    const response = body
      ? await put(body)
      : await request(server.url)
          .put(path())
          .set(application.secretBasic)
          .type('json')
          .send(`{"redirect_uris":${'['.repeat(1e6)}${']'.repeat(1e6)}}`);
    expect(response.status).toBe(body ? 400 : 413);
    expect(response.body.type).toBe('invalid_request_error');
    expect((await get()).body).toEqual(AS_MADE);
  });

  it('answers 401 with WWW-Authenticate for wrong or missing credentials, and for those of another application', async () => {
    const other = await createApplication(server.app);
    const attempts: Record<string, string>[] = [
      {},
      other.secretBasic,
      application.basic,
      { authorization: `Bearer ${application.clientSecret}` },
      { authorization: 'Basic !!!' },
    ];
    for (const headers of attempts) {
      const response = await request(server.url).get(path()).set(headers);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Basic realm="API Access Token Required"');
      expect(response.body).toEqual({
        message: 'Could not verify access credential.',
        type: 'invalid_request_error',
      });
    }
    expect(
      (await request(server.url).get('/a/no-such-client').set(application.secretBasic)).status,
    ).toBe(401);
  });

  it("returns the server's IP addresses to standard applications, ten times an hour", async () => {
    const ask = () =>
      request(server.url).get(`${path()}/ip_addresses`).set(application.secretBasic);
    const first = await ask();
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      ip_addresses: ['198.51.100.7', '2001:db8::1'],
      updated_at: expect.any(Number),
    });
    for (let call = 2; call <= 10; call += 1) expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(refused.headers['x-ratelimit-limit']).toBe('10');
    expect(Number(refused.headers['x-ratelimit-reset'])).toBeGreaterThan(0);
  });

  it("refuses to return the server's IP addresses to quickstart applications", async () => {
    const quickstart = await createApplication(server.app, { plan: 'quickstart' });
    const response = await request(server.url)
      .get(`/a/${quickstart.clientId}/ip_addresses`)
      .set(quickstart.secretBasic);
    expect(response.status).toBe(403);
    expect(response.body.message).toContain('quickstart');
  });
});
