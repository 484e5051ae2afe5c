import type { Route } from '../http/routes.ts';
import type { Json, StubAnswer, StubRequest } from '../http/types.ts';
import type { World } from '../world.ts';
import { adminConsent, authorize, tenantOf } from './authorize.ts';
import { keySet } from './jwt.ts';
import { EntraError } from './oauth-error.ts';
import { token } from './token-endpoint.ts';

export interface EntraContext {
  world: World;
  request: StubRequest;
}

type Handler = (world: World, request: StubRequest, tenant: string) => StubAnswer;

const route = (method: string, path: string, handler: Handler): Route<EntraContext> => ({
  method,
  path: `{tenant}/${path}`,
  handle: ({ world, request }, { tenant = '' }) => {
    try {
      return handler(world, request, tenant);
    } catch (error) {
      if (error instanceof EntraError) return error.answer();
      throw error;
    }
  },
});

/** Routes of Microsoft Entra. It has no endpoint that revokes tokens. */
export const entraRoutes: Route<EntraContext>[] = [
  route('GET', 'oauth2/v2.0/authorize', authorize),
  route('POST', 'oauth2/v2.0/authorize', authorize),
  route('POST', 'oauth2/v2.0/token', token),
  route('GET', 'oauth2/v2.0/logout', logout),
  route('GET', 'adminconsent', adminConsent),
  route('GET', 'v2.0/adminconsent', adminConsent),
  route('GET', 'v2.0/.well-known/openid-configuration', (world, _request, tenant) => ({
    status: 200,
    body: discovery(world, tenant),
  })),
  route('GET', 'discovery/v2.0/keys', () => ({ status: 200, body: keySet() })),
];

function logout(_world: World, { query }: StubRequest): StubAnswer {
  const location = query.get('post_logout_redirect_uri');
  if (location !== null) return { status: 302, headers: { location } };
  return { status: 200, headers: { 'content-type': 'text/html' }, raw: 'You signed out.' };
}

/** The issuer for several tenants is a template, as at Microsoft. */
function discovery(world: World, tenantName: string): Json {
  const tenant = tenantOf(world, tenantName);
  const base = `${world.origin}/${tenantName}`;
  return {
    issuer: `${world.origin}/${tenant?.id ?? '{tenantid}'}/v2.0`,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    token_endpoint: `${base}/oauth2/v2.0/token`,
    end_session_endpoint: `${base}/oauth2/v2.0/logout`,
    jwks_uri: `${base}/discovery/v2.0/keys`,
    token_endpoint_auth_methods_supported: [
      'client_secret_post',
      'private_key_jwt',
      'client_secret_basic',
    ],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    response_types_supported: ['code', 'id_token', 'code id_token', 'id_token token'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
    claims_supported: [
      'sub',
      'iss',
      'aud',
      'exp',
      'iat',
      'nonce',
      'preferred_username',
      'name',
      'tid',
      'ver',
      'email',
    ],
  };
}
