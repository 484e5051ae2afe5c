import { OperatorCredentials } from '../../src/operator/access/operator-credentials.ts';
import { OperatorOidcService } from '../../src/operator/access/operator-oidc.service.ts';
import { OperatorsService } from '../../src/operator/access/operators.service.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { OauthServer } from '../support/oauth-server.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const CALLBACK = 'https://ops.example.test/console/sign-in/callback';
const BROWSER = { address: '198.51.100.7', presented: '' };

describe('sign-in of operators by OpenID Connect', () => {
  let provider: OauthServer;
  let server: TestApp;
  let clock: TestClock;
  let signIn: OperatorOidcService;

  beforeAll(async () => {
    clock = new TestClock();
    provider = await OauthServer.start();
    server = await startTestApp(
      {
        ROLES: 'api',
        OPERATOR_URL: 'https://ops.example.test',
        OPERATOR_OIDC_ISSUER: provider.url,
        OPERATOR_OIDC_CLIENT_ID: 'carillon',
        OPERATOR_OIDC_CLIENT_SECRET: 'a-long-client-secret',
        OPERATOR_OIDC_ROLES: 'operate:admins,read:support',
      },
      { clock },
    );
    signIn = server.app.get(OperatorOidcService);
  });
  afterAll(async () => {
    await server.close();
    await provider.stop();
  });
  beforeEach(() => {
    provider.issuer = provider.url;
    provider.user = {
      sub: 'ada',
      aud: 'carillon',
      email: 'Ada@example.test',
      groups: ['staff', 'support', 'admins'],
    };
  });

  /** Goes to the provider and back; `change` changes the query of the way back. */
  const visit = async (change: (query: URLSearchParams) => void = () => undefined) => {
    const { url, cookie } = await signIn.begin('/console/jobs');
    const back = new URL(await provider.visit(url));
    expect(back.origin + back.pathname).toBe(CALLBACK);
    change(back.searchParams);
    return { query: back.searchParams, cookie };
  };
  const signedIn = async () => {
    const { query, cookie } = await visit();
    return signIn.finish(query, cookie, BROWSER);
  };
  const operatorOf = (secret: string) => server.app.get(OperatorCredentials).bySession(secret);

  it('creates the operator with the role of the claim, and opens the page that was asked for', async () => {
    const { secret, to } = await signedIn();
    expect(to).toBe('/console/jobs');
    expect(await operatorOf(secret)).toMatchObject({ name: 'ada@example.test', role: 'operate' });
    const query = provider.authorizations.at(-1);
    expect(query?.get('code_challenge_method')).toBe('S256');
    expect(query?.get('scope')).toBe('openid profile email');
    expect(query?.get('nonce')).toBeTruthy();
  });

  it('follows a change of the role, and removes the operator who has lost every role', async () => {
    const { secret } = await signedIn();
    provider.user['groups'] = 'support';
    const { secret: second } = await signedIn();
    // The role of the earlier session changes too.
    for (const one of [secret, second])
      expect(await operatorOf(one)).toMatchObject({ name: 'ada@example.test', role: 'read' });
    provider.user['groups'] = ['staff'];
    await expect(signedIn()).rejects.toThrow('ada@example.test is no operator of this server');
    expect(await operatorOf(second)).toBeUndefined();
    expect(await server.app.get(OperatorsService).list()).toEqual([]);
  });

  it('refuses a user without a role, and one who has the name of another operator', async () => {
    provider.user = { sub: 'eve', aud: 'carillon', email: 'eve@example.test' };
    await expect(signedIn()).rejects.toMatchObject({ kind: 'forbidden' });
    await server.app
      .get(OperatorsService)
      .create(SYSTEM, { name: 'root', role: 'read', password: null });
    provider.user = { sub: 'eve', aud: 'carillon', preferred_username: 'root', groups: ['admins'] };
    await expect(signedIn()).rejects.toThrow('There is already an operator root');
  });

  it('refuses a return that another browser began, that came too late, or that was changed', async () => {
    const own = await visit();
    const other = await visit();
    const begun = 'This sign-in was begun in another browser';
    await expect(signIn.finish(own.query, other.cookie, BROWSER)).rejects.toThrow(begun);
    for (const cookie of ['', 'v1.x.y.z', own.cookie.slice(0, -2)])
      await expect(signIn.finish(own.query, cookie, BROWSER)).rejects.toThrow(begun);
    const changed = await visit((query) => query.set('state', 'x'));
    await expect(signIn.finish(changed.query, changed.cookie, BROWSER)).rejects.toThrow(begun);
    const wrongCode = await visit((query) => query.set('code', 'x'));
    await expect(signIn.finish(wrongCode.query, wrongCode.cookie, BROWSER)).rejects.toMatchObject({
      failure: 'refused',
    });
    const late = await visit();
    clock.advance(10 * 60_000);
    await expect(signIn.finish(late.query, late.cookie, BROWSER)).rejects.toThrow(begun);
  });

  it('refuses an id token of another issuer, for another client, or with another nonce', async () => {
    for (const wrong of [{ iss: 'https://evil.example' }, { aud: 'another' }, { nonce: 'x' }]) {
      const { query, cookie } = await visit();
      provider.user = { ...provider.user, ...wrong };
      // The fake provider lets claims of the user win, except the nonce.
      if ('nonce' in wrong) provider.nonce = 'x';
      await expect(signIn.finish(query, cookie, BROWSER)).rejects.toMatchObject({
        failure: 'unexpected',
      });
      provider.nonce = null;
      provider.user = { sub: 'ada', aud: 'carillon', groups: ['admins'] };
    }
  });

  it('shows what the provider says if the user declines', async () => {
    const { query, cookie } = await visit((back) => {
      back.delete('code');
      back.set('error', 'access_denied');
    });
    await expect(signIn.finish(query, cookie, BROWSER)).rejects.toMatchObject({
      failure: 'denied',
    });
  });
});
