import { createHash, createPublicKey, type JsonWebKey, verify, X509Certificate } from 'node:crypto';
import { APP_CERTIFICATE, APP_KEY } from './client-certificate.ts';
import type { Json } from './http/types.ts';
import { MicrosoftStub } from './microsoft-stub.ts';
import { readJwt, signJwt } from './oauth/jwt.ts';

const CALLBACK = 'http://127.0.0.1/callback';
const SCOPE = 'openid profile email offline_access Mail.Read';

describe('OAuth of the stub of Microsoft', () => {
  let stub: MicrosoftStub;
  const verifier = 'v'.repeat(60);
  const challenge = createHash('sha256').update(verifier).digest('base64url');

  beforeEach(async () => {
    stub = await MicrosoftStub.start();
    stub.addUser('ann@contoso.test', { displayName: 'Ann' });
  });
  afterEach(() => stub.stop());

  const authorize = async (parameters: Record<string, string> = {}, tenant = 'common') => {
    const query = new URLSearchParams({
      client_id: 'app',
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: SCOPE,
      state: 's',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...parameters,
    });
    const url = `${stub.origin}/${tenant}/oauth2/v2.0/authorize?${query.toString()}`;
    const { headers } = await fetch(url, { redirect: 'manual' });
    return new URL(headers.get('location') ?? 'about:blank').searchParams;
  };
  const token = async (form: Record<string, string>, tenant = 'common') => {
    const body = new URLSearchParams({ client_id: 'app', client_secret: 'app-secret', ...form });
    const url = `${stub.origin}/${tenant}/oauth2/v2.0/token`;
    const response = await fetch(url, { method: 'POST', body });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const redeem = (code: string | null, more: Record<string, string> = {}) =>
    token({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      ...more,
    });
  const refresh = (refreshToken: unknown) =>
    token({ grant_type: 'refresh_token', refresh_token: String(refreshToken) });
  const me = (accessToken: unknown) =>
    fetch(`${stub.origin}/v1.0/me/messages`, {
      headers: { authorization: `Bearer ${String(accessToken)}` },
    });

  it('gives a code for a verifier, and tokens with a signed id token', async () => {
    const { body } = await redeem((await authorize({ nonce: 'n' })).get('code'));
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'Mail.Read openid profile email' });
    const user = stub.user('ann@contoso.test');
    const idToken = String(body['id_token']);
    expect(readJwt(idToken)?.claims).toMatchObject({
      oid: user.id,
      tid: user.tenantId,
      email: 'ann@contoso.test',
      preferred_username: 'ann@contoso.test',
      nonce: 'n',
      iss: `${stub.origin}/${user.tenantId}/v2.0`,
    });
    const keys = await fetch(`${stub.origin}/common/discovery/v2.0/keys`);
    const [key] = ((await keys.json()) as { keys: JsonWebKey[] }).keys;
    const end = idToken.lastIndexOf('.');
    const isValid = verify(
      'sha256',
      Buffer.from(idToken.slice(0, end)),
      createPublicKey({ key: key ?? {}, format: 'jwk' }),
      Buffer.from(idToken.slice(end + 1), 'base64url'),
    );
    expect(isValid).toBe(true);
    expect((await me(body['access_token'])).status).toBe(200);
  });

  it.each([
    ['another verifier', { code_verifier: 'x' }, 400, 'invalid_grant', 501481],
    ['a wrong secret', { client_secret: 'no' }, 401, 'invalid_client', 7000215],
    ['another address', { redirect_uri: 'http://x.test' }, 400, 'invalid_grant', 500112],
  ])('refuses a code with %s', async (_what, form, status, error, code) => {
    const refused = await redeem((await authorize()).get('code'), form);
    expect(refused).toMatchObject({ status, body: { error, error_codes: [code] } });
  });

  it('rotates refresh tokens, and accepts the old one for a while', async () => {
    stub.now = () => Date.now();
    const { body } = await redeem((await authorize()).get('code'));
    const next = await refresh(body['refresh_token']);
    expect(next.body['refresh_token']).not.toBe(body['refresh_token']);
    expect((await refresh(body['refresh_token'])).status).toBe(200);
    stub.now = () => Date.now() + 3_601_000;
    expect((await refresh(body['refresh_token'])).body).toMatchObject({
      error: 'invalid_grant',
      error_codes: [700082],
    });
    expect((await me(next.body['access_token'])).status).toBe(401);
    expect((await refresh(next.body['refresh_token'])).status).toBe(200);
  });

  it.each([
    ['consent was withdrawn', 'withdrawConsent', 'invalid_grant', 'consent_required'],
    ['sessions were revoked', 'revokeSessions', 'invalid_grant', 'bad_token'],
    ['a second factor is needed', 'requireInteraction', 'interaction_required', 'basic_action'],
  ] as const)('refuses to refresh after %s', async (_what, action, error, suberror) => {
    const { body } = await redeem((await authorize()).get('code'));
    stub[action]('ann@contoso.test');
    expect((await refresh(body['refresh_token'])).body).toMatchObject({ error, suberror });
    expect((await me(body['access_token'])).status).toBe(401);
  });

  it('sends errors of consent and tenant to the redirect address', async () => {
    stub.settings.consent = 'denied';
    expect((await authorize()).get('error')).toBe('access_denied');
    stub.settings.consent = 'admin-required';
    expect((await authorize()).get('error')).toBe('consent_required');
    stub.settings.consent = 'granted';
    stub.addUser('bob@fabrikam.test');
    const other = await authorize({ login_hint: 'ann@contoso.test' }, 'fabrikam.test');
    expect(other.get('error_description')).toContain('AADSTS50020');
  });

  it('gives application permissions after the administrator agreed', async () => {
    stub.addApp({
      clientId: 'daemon',
      secrets: new Set(['s']),
      appRoles: new Set(['Mail.Read']),
    });
    const form = {
      client_id: 'daemon',
      client_secret: 's',
      grant_type: 'client_credentials',
      scope: 'https://graph.microsoft.com/.default',
    };
    const read = async () => {
      const { body } = await token(form, 'contoso.test');
      const authorization = `Bearer ${String(body['access_token'])}`;
      const url = `${stub.origin}/v1.0/users/ann@contoso.test/messages`;
      return (await fetch(url, { headers: { authorization } })).status;
    };
    expect(await read()).toBe(403);
    const query = new URLSearchParams({ client_id: 'daemon', redirect_uri: CALLBACK, state: 'x' });
    const answer = await fetch(`${stub.origin}/contoso.test/adminconsent?${query.toString()}`, {
      redirect: 'manual',
    });
    expect(answer.headers.get('location')).toContain('admin_consent=True');
    expect(await read()).toBe(200);
    expect((await token({ ...form, scope: 'Mail.Read' }, 'contoso.test')).body).toMatchObject({
      error: 'invalid_scope',
    });
  });

  it('checks the certificate, audience and lifetime of a client assertion', async () => {
    const certificate = new X509Certificate(APP_CERTIFICATE);
    stub.addApp({
      clientId: 'daemon',
      certificates: [certificate],
      appRoles: new Set(['Mail.Read']),
    });
    const thumbprint = createHash('sha256').update(certificate.raw).digest('base64url');
    const answer = (claims: Json, header: Json = { 'x5t#S256': thumbprint }) => {
      const seconds = Math.floor(Date.now() / 1_000);
      const audience = `${stub.origin}/contoso.test/oauth2/v2.0/token`;
      const assertion = signJwt(
        { iss: 'daemon', sub: 'daemon', aud: audience, exp: seconds + 60, jti: 'j', ...claims },
        APP_KEY,
        header,
      );
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'https://graph.microsoft.com/.default',
        client_id: 'daemon',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      });
      return fetch(audience, { method: 'POST', body });
    };
    expect((await answer({})).status).toBe(200);
    expect((await answer({ aud: 'https://other.test' })).status).toBe(401);
    expect((await answer({ exp: 1 })).status).toBe(401);
    expect((await answer({}, { x5t: 'another' })).status).toBe(401);
  });
});
