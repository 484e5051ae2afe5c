import type { IntegrationValues } from '../port/sign-in/integration-descriptor.ts';
import { microsoftIntegration, microsoftOauth } from './microsoft.oauth.ts';

const LOGIN = 'https://login.microsoftonline.com';
const GRAPH = 'https://graph.microsoft.com';
const microsoft = microsoftOauth({ login: LOGIN, graph: GRAPH });
const inTenant = (tenant?: string): IntegrationValues => ({
  settings: { client_id: 'id', ...(tenant ? { tenant } : {}) },
  secrets: { client_secret: 'secret' },
});
const ada = { email: 'ada@contoso.test', scopes: null };

describe('the OAuth descriptor of Microsoft', () => {
  it('signs users of every tenant in, unless the integration names one', () => {
    const issuerOf = (tenant?: string) =>
      microsoft.registration({ integration: inTenant(tenant), own: null })?.server;
    expect(issuerOf()).toEqual({ issuer: `${LOGIN}/common/v2.0`, tenantIssuer: true });
    expect(issuerOf('contoso.test')).toMatchObject({ issuer: `${LOGIN}/contoso.test/v2.0` });
  });

  it('asks for permissions of Graph, and reads those of an answer with and without its address', () => {
    const asked = microsoft.scopesFor(['email', 'calendar.read_only'], {
      integration: inTenant(),
      own: null,
    });
    expect(asked).toEqual([
      'openid',
      'email',
      'profile',
      'offline_access',
      `${GRAPH}/User.Read`,
      `${GRAPH}/Mail.ReadWrite`,
      `${GRAPH}/Mail.Send`,
      `${GRAPH}/Calendars.Read`,
    ]);
    expect(microsoft.covered(asked)).toEqual(
      expect.arrayContaining(['email', 'email.send', 'calendar.read_only']),
    );
    expect(microsoft.covered(['Mail.ReadWrite'])).not.toContain('email');
    expect(microsoft.covered(['Mail.Send'])).toEqual(['email.send']);
  });

  it('pins users by tenant and object, never by the address', () => {
    const claims = { tid: 't', oid: 'o', sub: 's', preferred_username: 'Ada@Contoso.test' };
    expect(microsoft.identity(claims)).toEqual({
      subject: 't:o',
      email: 'ada@contoso.test',
      name: null,
    });
    expect(microsoft.identity({ sub: 's' })).toMatchObject({ subject: null, email: null });
  });

  it('acts as the application in one tenant, and keeps that to get tokens again', () => {
    const direct = microsoft.direct({ app_only: true }, inTenant('contoso.test'), ada);
    expect(direct).toMatchObject({
      credential: { kind: 'client-credentials', scope: `${GRAPH}/.default` },
      own: { app_only: true },
      ofIntegration: true,
    });
    const source = { integration: inTenant('contoso.test'), own: direct?.own ?? null };
    expect(microsoft.renewal(source, { email: ada.email, scopes: [] })).toMatchObject({
      kind: 'client-credentials',
    });
    const own = { microsoft_client_id: 'x', microsoft_client_secret: 'y', microsoft_tenant: 'z' };
    expect(microsoft.direct({ app_only: true, ...own }, null, ada)).toMatchObject({
      registration: { clientId: 'x', server: { issuer: `${LOGIN}/z/v2.0` } },
      own: { ...own, app_only: true },
      ofIntegration: false,
    });
  });

  it.each([
    [{}, inTenant(), 'settings.microsoft_refresh_token is required'],
    [{ app_only: true }, inTenant(), 'settings.app_only: an application acts by itself in one'],
    [{ microsoft_refresh_token: 'r' }, null, 'settings.microsoft_client_id and'],
    [{ microsoft_refresh_token: 'r', microsoft_tenant: '../x' }, inTenant(), 'microsoft_tenant'],
  ])('refuses %j by the name of the setting', (settings, values, text) => {
    expect(() => microsoft.direct(settings, values, ada)).toThrow(text);
  });

  it('registers a client with a secret or with a certificate', () => {
    const problem = (secrets: object) =>
      microsoftIntegration.problem({ settings: { client_id: 'a' }, secrets } as IntegrationValues);
    expect(problem({ client_secret: 'b' })).toBeNull();
    expect(problem({ client_certificate: 'c', client_private_key: 'k' })).toBeNull();
    expect(problem({ client_certificate: 'c' })).toMatchObject({ missing: ['client_private_key'] });
    expect(problem({})).toMatchObject({ missing: ['client_secret'] });
  });
});
