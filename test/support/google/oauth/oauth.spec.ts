import { createHash } from 'node:crypto';
import { GoogleStub } from '../google-stub.ts';
import { scope } from '../scopes.ts';
import { StubClient } from '../stub-client.ts';
import { claimsOf, signedJwt } from './keys.ts';

const READ = scope('gmail.readonly');
const SEND = scope('gmail.send');
const BACK = 'https://app.example.test/back';

describe("the stub of Google's sign-in", () => {
  let stub: GoogleStub;

  beforeEach(async () => {
    stub = await GoogleStub.start();
    stub.addUser('anna@gmail.test', 'Anna');
  });
  afterEach(() => stub.stop());

  async function authorize(more: Record<string, string> = {}): Promise<URLSearchParams> {
    const query = new URLSearchParams({
      client_id: stub.oauth.client.id,
      redirect_uri: BACK,
      response_type: 'code',
      scope: `openid email ${READ} ${SEND}`,
      state: 'abc',
      access_type: 'offline',
      ...more,
    });
    const answer = await fetch(`${stub.origin}/o/oauth2/v2/auth?${query}`, { redirect: 'manual' });
    const location = answer.headers.get('location') ?? '';
    return location === '' ? new URLSearchParams() : new URL(location).searchParams;
  }

  async function token(form: Record<string, string>): Promise<Record<string, string>> {
    const { id, secret } = stub.oauth.client;
    const body = new URLSearchParams({ client_id: id, client_secret: secret, ...form });
    const answer = await fetch(`${stub.origin}/token`, { method: 'POST', body });
    return (await answer.json()) as Record<string, string>;
  }

  const exchange = (code: string | null, more: Record<string, string> = {}) =>
    token({ grant_type: 'authorization_code', code: code ?? '', redirect_uri: BACK, ...more });

  it('gives tokens for a code once, with the scopes that the person granted', async () => {
    stub.oauth.consent = { scopes: (requested) => requested.filter((one) => one !== SEND) };
    const redirect = await authorize();
    expect([redirect.get('state'), redirect.get('scope')]).toEqual(['abc', `openid email ${READ}`]);
    const tokens = await exchange(redirect.get('code'));
    expect(tokens).toMatchObject({ token_type: 'Bearer', scope: `openid email ${READ}` });
    expect(claimsOf(tokens['id_token'] ?? '')).toMatchObject({
      iss: stub.origin,
      aud: stub.oauth.client.id,
      sub: stub.world.users.get('anna@gmail.test')?.sub,
      email: 'anna@gmail.test',
    });
    expect(await exchange(redirect.get('code'))).toMatchObject({ error: 'invalid_grant' });
    const client = new StubClient(stub, 'anna@gmail.test');
    client.token = tokens['access_token'] ?? '';
    const send = await client.mail('POST', 'messages/send', { raw: 'QQ' });
    expect([send.status, send.body.error.status]).toEqual([403, 'PERMISSION_DENIED']);
    expect((await client.mail('GET', 'profile')).status).toBe(200);
  });

  it('checks the verifier of PKCE', async () => {
    const challenge = createHash('sha256').update('right').digest('base64url');
    const proof = { code_challenge: challenge, code_challenge_method: 'S256' };
    const first = await authorize(proof);
    const wrong = await exchange(first.get('code'), { code_verifier: 'wrong' });
    expect(wrong).toMatchObject({ error: 'invalid_grant' });
    const second = await authorize({ ...proof, prompt: 'consent' });
    expect(await exchange(second.get('code'), { code_verifier: 'right' })).toHaveProperty(
      'access_token',
    );
  });

  it('gives a refresh token at the first consent and whenever consent is asked for', async () => {
    const first = await exchange((await authorize()).get('code'));
    const second = await exchange((await authorize()).get('code'));
    const third = await exchange((await authorize({ prompt: 'consent' })).get('code'));
    expect([first, second, third].map((tokens) => 'refresh_token' in tokens)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('rotates refresh tokens if a test asks for it, and ends everything at a revocation', async () => {
    stub.oauth.rotatesRefreshTokens = true;
    const { refresh_token: first = '' } = await exchange((await authorize()).get('code'));
    const refresh = (text: string) => token({ grant_type: 'refresh_token', refresh_token: text });
    const { refresh_token: second = '', access_token: access = '' } = await refresh(first);
    expect(await refresh(first)).toMatchObject({ error: 'invalid_grant' });
    const client = new StubClient(stub, 'anna@gmail.test');
    client.token = access;
    expect((await client.mail('GET', 'profile')).status).toBe(200);
    const body = new URLSearchParams({ token: second });
    expect((await fetch(`${stub.origin}/revoke`, { method: 'POST', body })).status).toBe(200);
    expect(await refresh(second)).toMatchObject({ error: 'invalid_grant' });
    expect((await client.mail('GET', 'profile')).status).toBe(401);
  });

  it('lets a service account act for the people whose scopes were delegated', async () => {
    const key = stub.oauth.addServiceAccount([READ]) as Record<string, string>;
    const keys = { id: 'k', privateKey: key['private_key'] ?? '', publicKey: '' };
    const iat = Math.floor(stub.now() / 1000);
    const claims = { iss: key['client_email'], aud: key['token_uri'], iat, exp: iat + 3600 };
    const asked = (more: object) =>
      token({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: signedJwt(keys, { ...claims, ...more }),
      });
    const client = new StubClient(stub, 'anna@gmail.test');
    const { access_token: access = '' } = await asked({ sub: 'anna@gmail.test', scope: READ });
    client.token = access;
    expect((await client.mail('GET', 'profile')).body).toMatchObject({
      emailAddress: 'anna@gmail.test',
    });
    expect(await asked({ sub: 'anna@gmail.test', scope: SEND })).toMatchObject({
      error: 'unauthorized_client',
    });
    expect(await asked({ sub: 'nobody@gmail.test', scope: READ })).toMatchObject({
      error: 'invalid_grant',
    });
  });
});
