import request from 'supertest';
import { z } from 'zod';
import type { Scope } from '../../src/platform/auth/scopes.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { PLAIN_INTEGRATION } from '../../src/providers/port/sign-in/integration-descriptor.ts';
import { readIdentity } from '../../src/providers/port/sign-in/oauth-identity.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { OauthServer } from '../support/oauth-server.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const REDIRECT = 'https://app.example.test/callback';

/** A provider that one object adds: mail and calendars at an authorization server of its own. */
function acme(issuer: string): Connector {
  const names: Partial<Record<Scope, string>> = { email: 'mail', calendar: 'events' };
  const ours = (granted: readonly string[]) =>
    (['email', 'calendar'] as const).filter((scope) => granted.includes(names[scope] ?? ''));
  return {
    name: 'acme',
    accountProvider: 'acme-mail',
    integration: PLAIN_INTEGRATION,
    signIn: {
      order: 5,
      title: 'Acme',
      hint: 'Mail by Acme',
      password: null,
      withoutIntegration: 'never',
      names: ['acme-suite'],
    },
    oauth: {
      signInSettings: ['refresh_token'],
      revokesWholeConsent: true,
      registration: ({ integration }) =>
        integration && {
          server: { issuer },
          clientId: String(integration.settings['client_id']),
          authentication: {
            kind: 'secret',
            secret: integration.secrets['client_secret'] ?? '',
            method: 'client_secret_post',
          },
        },
      scopesFor: (scopes) => [
        'openid',
        'email',
        ...(scopes ?? (['email', 'calendar'] as const)).flatMap((scope) => names[scope] ?? []),
      ],
      covered: (granted) => ours(granted),
      authorizationParameters: ({ again }): Record<string, string> =>
        again ? { prompt: 'consent' } : {},
      identity: readIdentity,
      direct: () => null,
      renewal: () => null,
      accountSettings: () => ({}),
    },
    settingsSchema: z.object({}),
    provenByIntegration: ({ email, claimedEmail }) => (email === claimedEmail ? 'oauth' : null),
    verify: async ({ email, name }) => ({ email, name, organizationUnit: 'label' }),
  };
}

describe('a provider that one connector adds', () => {
  let issuer: OauthServer;
  let server: TestApp;
  let application: TestApplication;
  let browser: PageBrowser;
  beforeAll(async () => {
    issuer = await OauthServer.start();
    server = await startTestApp({ ROLES: 'api' });
    server.app.get(ConnectorRegistry).replace(acme(issuer.url));
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    browser = new PageBrowser(server);
    issuer.user = user('1');
    issuer.allows = (asked) => asked;
    issuer.agreed.clear();
    issuer.authorizations.length = 0;
    issuer.revoked.length = 0;
  });
  afterAll(async () => {
    await server.close();
    await issuer.stop();
  });

  const user = (sub: string, email = 'ada@acme.test') => ({
    sub,
    email,
    email_verified: true,
    name: 'Ada',
  });
  const call = (method: 'get' | 'post' | 'delete', path: string, body?: object) => {
    const sent = request(server.url)[method](path).set(application.basic);
    return body ? sent.send(body) : sent;
  };
  const register = (change: object = {}) =>
    call('post', '/connect/integrations', {
      name: 'Acme',
      provider: 'acme',
      settings: { client_id: 'client', client_secret: 'client-secret' },
      redirect_uris: [REDIRECT],
      ...change,
    }).expect(200);
  /** Opens a sign-in link and goes to the provider and back. */
  const toConsent = async (change: object = {}) => {
    const asked = { provider: 'acme', redirect_uri: REDIRECT, ...change };
    const { body } = await call('post', '/connect/auth', asked).expect(200);
    await browser.get(body.data.url as string);
    await throughProvider();
  };
  const throughProvider = async () => {
    await browser.submit('provider');
    let back = await issuer.visit(browser.page.location ?? '');
    await browser.get(back);
    if (browser.page.location?.startsWith(issuer.url)) {
      back = await issuer.visit(browser.page.location);
      await browser.get(back);
    }
    if (browser.page.location?.startsWith('/')) await browser.get(browser.page.location);
  };
  const connect = async (change: object = {}) => {
    await toConsent(change);
    await browser.submit('consent');
    return new URL(browser.page.location ?? '').searchParams;
  };
  const grant = async (id: string | null) =>
    (await call('get', `/connect/grants/${id}`).expect(200)).body.data;

  it('is registered, offered on the pages by its name, and connected by a sign-in there', async () => {
    await register();
    const back = await connect();
    expect(Object.fromEntries(back)).toMatchObject({
      success: 'true',
      provider: 'acme',
      email: 'ada@acme.test',
    });
    expect(back.has('missing_scope')).toBe(false);
    expect(issuer.authorizations[0]?.get('scope')).toBe('openid email mail events');
    expect(await grant(back.get('grant_id'))).toMatchObject({
      provider: 'acme',
      grant_status: 'valid',
      address_proven: true,
      proof: 'oauth',
      granted_scope: [],
    });
    const { body } = await request(server.url)
      .get(`/a/${application.clientId}/accounts`)
      .set(application.secretBasic);
    expect(body).toMatchObject([{ provider: 'acme-mail', authentication_type: 'oauth' }]);
  });

  it('is not offered without an integration, and is named in the error of an unknown provider', async () => {
    const refused = await call('post', '/connect/auth', {
      provider: 'acme',
      redirect_uri: REDIRECT,
    });
    expect([refused.status, refused.body.error.type]).toEqual([400, 'grant.integration_required']);
    const unknown = await call('post', '/connect/integrations', { name: 'X', provider: 'acmee' });
    expect(unknown.body.error.message).toContain('acme');
  });

  it('is asked for consent again if the user comes back without a refresh token', async () => {
    issuer.agreed.add('1');
    await register();
    const back = await connect();
    expect(back.get('success')).toBe('true');
    expect(issuer.authorizations.map((query) => query.get('prompt'))).toEqual([null, 'consent']);
  });

  it('gives the account only the scopes that the user has allowed, and tells user and application what is missing', async () => {
    issuer.allows = (asked) => asked.filter((scope) => scope !== 'events');
    await register({ scope: ['email', 'calendar'] });
    await toConsent();
    expect(browser.page.text).toContain('You did not allow the following at Acme');
    expect(browser.page.text).toContain('See and change your calendars and events');
    await browser.submit('consent');
    const back = new URL(browser.page.location ?? '').searchParams;
    expect(back.get('missing_scope')).toBe('calendar');
    expect((await grant(back.get('grant_id'))).granted_scope).toContain('email');
    expect((await grant(back.get('grant_id'))).granted_scope).not.toContain('calendar');
  });

  it('explains a consent to nothing that was asked for, and connects nothing until the user allows it', async () => {
    issuer.allows = () => ['openid', 'email'];
    await register();
    await toConsent();
    expect(browser.page.status).toBe(422);
    expect(browser.page.text).toContain('At Acme, you did not allow anything that');
    expect((await call('get', '/connect/grants')).body.data).toEqual([]);
    issuer.allows = (asked) => asked;
    await throughProvider();
    await browser.submit('consent');
    expect(new URL(browser.page.location ?? '').searchParams.get('success')).toBe('true');
  });

  it('keeps the account of a user whose address has changed, and shows the new address', async () => {
    await register();
    const id = (await connect()).get('grant_id');
    issuer.user = user('1', 'lovelace@acme.test');
    const back = await connect({ grant_id: id });
    expect([back.get('grant_id'), back.get('email')]).toEqual([id, 'lovelace@acme.test']);
    issuer.user = user('1', 'countess@acme.test');
    expect((await connect()).get('grant_id')).toBe(id);
    expect((await grant(id)).email).toBe('countess@acme.test');
  });

  it('refuses another user with the same address, both for the same account and for a new one', async () => {
    await register();
    const id = (await connect()).get('grant_id');
    issuer.user = user('2');
    await toConsent({ grant_id: id });
    expect(browser.page.text).toContain('Sign in as ada@acme.test');
    const back = await connect();
    expect(back.get('success')).toBe('false');
    expect(back.get('error_description')).toContain('belongs to another user of acme');
    expect(issuer.revoked).toEqual([]);
  });

  it('revokes tokens with the last account of a user only, because that ends them all', async () => {
    issuer.user = user('9', 'grace@acme.test');
    await register();
    const first = (await connect()).get('grant_id');
    const firstApplication = application;
    application = await createApplication(server.app);
    await register();
    const second = (await connect()).get('grant_id');
    await call('delete', `/connect/grants/${second}`).expect(200);
    application = firstApplication;
    expect(issuer.revoked).toEqual([]);
    await call('delete', `/connect/grants/${first}`).expect(200);
    await until('the tokens to be revoked', async () => issuer.revoked.length > 0);
    expect(issuer.revoked).toHaveLength(1);
  });
});
