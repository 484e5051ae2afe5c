import { createHash, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import request from 'supertest';
import { z } from 'zod';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { openGrantTokens } from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { googleIntegration, googleOauth } from '../../src/providers/google/google.oauth.ts';
import {
  microsoftIntegration,
  microsoftOauth,
} from '../../src/providers/microsoft/microsoft.oauth.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, ProviderAccount } from '../../src/providers/port/connector.ts';
import { rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { OauthServer } from '../support/oauth-server.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import {
  APP_CERTIFICATE as cert,
  APP_KEY as key,
} from '../support/microsoft/client-certificate.ts';

/** Sign-in at Google and Microsoft without a page, with mailboxes that accept every token. */
describe('accounts that sign in without a page', () => {
  const robot = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const KEY = {
    client_email: 'robot@project.test',
    private_key: robot.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    private_key_id: 'k1',
  };
  let issuer: OauthServer;
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    issuer = await OauthServer.start();
    server = await startTestApp({ ROLES: 'api' });
    const mailbox: Omit<Connector, 'name'> = {
      settingsSchema: z.looseObject({}),
      verify: async ({ email, name }) => ({
        email: email || 'found@example.test',
        name,
        organizationUnit: 'label',
      }),
      mail: {
        fetchRaw: async ({ accessToken = '' }: ProviderAccount) => Buffer.from(accessToken),
      } as unknown as Connector['mail'] & object,
    };
    const connectors = server.app.get(ConnectorRegistry);
    const google = { integration: googleIntegration, oauth: googleOauth(issuer.url) };
    const addresses = { login: issuer.url, graph: 'https://graph.microsoft.com' };
    const microsoft = { integration: microsoftIntegration, oauth: microsoftOauth(addresses) };
    connectors.replace({ ...mailbox, ...google, name: 'google' });
    connectors.replace({ ...mailbox, ...microsoft, name: 'microsoft' });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    issuer.issuer = issuer.url;
    issuer.user = { sub: '1', email: 'ada@example.test', email_verified: true };
    issuer.tokenRequests.length = 0;
    issuer.tokenAnswer = null;
    issuer.moreTokens = {};
  });
  afterAll(async () => {
    await server.close();
    await issuer.stop();
  });

  const post = (path: string, body: object) =>
    request(server.url).post(path).set(application.basic).send(body);
  const register = (provider: string, settings: object) =>
    post('/connect/integrations', { name: provider, provider, settings }).expect(200);
  const tokensOf = async (id: string) => {
    const [row] = await rowsOf<{ sealed: string }>(
      server,
      'select tokens_sealed as sealed from "grant" where id = $1',
      [id],
    );
    return openGrantTokens(server.app.get(SecretBox), id, row?.sealed ?? '');
  };
  const partsOf = (jwt: string) => {
    const [header = '', claims = '', signature = ''] = jwt.split('.');
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    return { signed: `${header}.${claims}`, header: read(header), claims: read(claims), signature };
  };

  it('use a refresh token with a client of their own, which is kept with the tokens', async () => {
    await register('google', { client_id: 'ours', client_secret: 'our-client-secret' });
    const own = { google_client_id: 'theirs', google_client_secret: 'their-client-secret' };
    const { body } = await post('/connect/grants', {
      provider: 'google',
      settings: { google_refresh_token: 'their-refresh-token', ...own },
    }).expect(200);
    expect(body.data.email).toBe('ada@example.test');
    expect(issuer.tokenRequests[0]?.get('client_id')).toBe('theirs');
    expect(await tokensOf(body.data.id)).toMatchObject({
      refreshToken: 'their-refresh-token',
      own,
    });
  });

  it('act for a user by a service account, whose assertion Google can check', async () => {
    await register('google', { service_account_json: KEY });
    const { body } = await post('/connect/grants', {
      provider: 'google',
      settings: { email: 'ada@example.test' },
      scope: ['email.read_only'],
    }).expect(200);
    const [sent] = issuer.tokenRequests;
    const { header, claims, signed, signature } = partsOf(sent?.get('assertion') ?? '');
    expect(header).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'k1' });
    expect(claims).toMatchObject({
      iss: KEY.client_email,
      sub: 'ada@example.test',
      aud: `${issuer.url}/token`,
      scope: 'openid email profile https://www.googleapis.com/auth/gmail.readonly',
    });
    const bytes = Buffer.from(signature, 'base64url');
    expect(verify('RSA-SHA256', Buffer.from(signed), robot.publicKey, bytes)).toBe(true);
    expect(sent?.has('client_id')).toBe(false);
    expect(await tokensOf(body.data.id)).toMatchObject({
      refreshToken: null,
      own: { service_account: true },
    });
  });

  it("need the application's secret for a credential of the integration, because it opens any mailbox", async () => {
    await register('google', { service_account_json: KEY });
    const native = {
      client_id: application.clientId,
      name: 'Ada',
      email_address: 'ada@example.test',
      provider: 'google',
      settings: {},
    };
    const refused = await request(server.url).post('/connect/authorize').send(native);
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain('send the client secret of the application');
    expect(issuer.tokenRequests).toEqual([]);
    const proven = { ...native, client_secret: application.clientSecret };
    await request(server.url).post('/connect/authorize').send(proven).expect(200);
  });

  it('act as the application by a certificate, in a tenant whose issuer has a placeholder', async () => {
    issuer.issuer = `${issuer.url}/{tenantid}/v2.0`;
    await register('microsoft', {
      client_id: 'app',
      tenant: 'contoso.test',
      client_certificate: cert,
      client_private_key: key,
    });
    const { body } = await post('/connect/grants', {
      provider: 'microsoft',
      settings: { email: 'shared@contoso.test', app_only: true },
    }).expect(200);
    const [sent] = issuer.tokenRequests;
    expect(Object.fromEntries(sent ?? [])).toMatchObject({
      grant_type: 'client_credentials',
      scope: 'https://graph.microsoft.com/.default',
      client_id: 'app',
    });
    const { header, claims } = partsOf(sent?.get('client_assertion') ?? '');
    const thumbprint = createHash('sha256').update(new X509Certificate(cert).raw);
    expect(header).toMatchObject({ alg: 'PS256', 'x5t#S256': thumbprint.digest('base64url') });
    expect(claims).toMatchObject({ iss: 'app', sub: 'app', aud: `${issuer.url}/token` });
    expect((await tokensOf(body.data.id)).own).toEqual({ app_only: true });
    const shown = await request(server.url)
      .get('/connect/integrations/microsoft')
      .set(application.basic);
    expect(shown.body.data.settings).toEqual({ client_id: 'app', tenant: 'contoso.test' });
  });

  it('get new tokens from the same credential when theirs has expired', async () => {
    await register('google', { service_account_json: KEY });
    const { body } = await post('/connect/grants', {
      provider: 'google',
      settings: { email: 'grace@example.test' },
    }).expect(200);
    const account = await server.app.get(ProviderAccounts, { strict: false }).find(body.data.id);
    if (!account?.token) throw new Error('no tokens');
    const expired = { ...account, token: { ...account.token, expiresAt: Date.now() - 1 } };
    const mail = server.app.get(ConnectorRegistry).requireMail('google');
    const used = (await mail.fetchRaw(expired, '1')).toString();
    expect(used).not.toBe(account.accessToken);
    expect(partsOf(issuer.tokenRequests[1]?.get('assertion') ?? '').claims).toMatchObject({
      sub: 'grace@example.test',
    });
    expect((await tokensOf(body.data.id)).accessToken).toBe(used);
  });

  // RFC 6749 section 5.2 requires the header with status 401.
  it.each([
    [
      'of an unknown client',
      401,
      { error: 'invalid_client', error_description: 'no such app' },
      400,
      'grant.provider_error',
      'answered invalid_client: no such app',
    ],
    [
      'of an unknown client with status 400',
      400,
      { error: 'invalid_client' },
      400,
      'grant.provider_error',
      'answered invalid_client',
    ],
    [
      'of an invalid token',
      401,
      { error: 'invalid_grant' },
      400,
      'grant.credentials_refused',
      'answered invalid_grant',
    ],
    ['without a reason', 401, 'Sign in first', 400, 'grant.provider_error', 'answered 401'],
    [
      'of an issuer that is out of order',
      503,
      { error: 'temporarily_unavailable' },
      503,
      'grant.provider_unavailable',
      'answered',
    ],
  ])(
    'get the reason for a refusal %s that has a WWW-Authenticate header',
    async (_, status, answer, expected, type, words) => {
      await register('google', { client_id: 'ours', client_secret: 'our-client-secret' });
      issuer.tokenAnswer = { status, challenge: 'Basic realm="token endpoint"', body: answer };
      const { status: answered, body } = await post('/connect/grants', {
        provider: 'google',
        settings: { google_refresh_token: 'their-refresh-token' },
      });
      expect([answered, body.error.type]).toEqual([expected, type]);
      expect(body.error.message).toContain(words);
    },
  );

  it.each([null, ''])('may get tokens with %j for members that do not apply', async (nothing) => {
    await register('google', { client_id: 'ours', client_secret: 'our-client-secret' });
    issuer.moreTokens = { scope: nothing, refresh_token: nothing, expires_in: nothing };
    const { body } = await post('/connect/grants', {
      provider: 'google',
      settings: { google_refresh_token: 'their-refresh-token' },
    }).expect(200);
    expect(await tokensOf(body.data.id)).toMatchObject({
      refreshToken: 'their-refresh-token',
      expiresAt: null,
    });
  });
});
