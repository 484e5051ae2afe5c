import { createHash } from 'node:crypto';
import type { StubApp } from '../directory/directory.ts';
import type { Json, StubAnswer, StubRequest } from '../http/types.ts';
import type { World } from '../world.ts';
import { tenantOf } from './authorize.ts';
import { authenticateClient } from './client-auth.ts';
import { signJwt } from './jwt.ts';
import { EntraError, entraErrors } from './oauth-error.ts';
import { type AuthorizationCode, type Grant, OPENID_SCOPES, permissionOf } from './token-store.ts';

interface TokenRequest {
  world: World;
  app: StubApp;
  form: URLSearchParams;
  tenantName: string;
}

/** Answers `POST /{tenant}/oauth2/v2.0/token`. */
export function token(world: World, request: StubRequest, tenantName: string): StubAnswer {
  try {
    const form = new URLSearchParams(request.body.toString());
    const base = `${world.origin}/${tenantName}`;
    const tenant = tenantOf(world, tenantName);
    const audiences = [
      `${base}/oauth2/v2.0/token`,
      `${base}/v2.0`,
      ...(tenant ? [`${world.origin}/${tenant.id}/v2.0`] : []),
    ];
    const app = authenticateClient(world.directory, request, form, audiences, world.now());
    const body = answerGrant({ world, app, form, tenantName });
    return { status: 200, headers: { 'cache-control': 'no-store', pragma: 'no-cache' }, body };
  } catch (error) {
    if (error instanceof EntraError) return error.answer();
    throw error;
  }
}

function answerGrant(request: TokenRequest): Json {
  const type = request.form.get('grant_type');
  switch (type) {
    case 'authorization_code':
      return redeemCode(request);
    case 'refresh_token':
      return refresh(request);
    case 'client_credentials':
      return clientCredentials(request);
    case null:
      throw entraErrors.missing('grant_type');
    default:
      throw new EntraError(
        'unsupported_grant_type',
        70003,
        `The app returned an unsupported grant type '${type}'.`,
      );
  }
}

function redeemCode({ world, app, form }: TokenRequest): Json {
  const text = form.get('code');
  if (text === null) throw entraErrors.missing('code');
  const code = world.tokens.useCode(text);
  if (code.grant.app !== app) {
    throw entraErrors.invalidGrant(70002, 'The code was issued to another application.');
  }
  if (form.get('redirect_uri') !== code.redirectUri) {
    throw entraErrors.invalidGrant(500112, 'The reply address does not match the one of the code.');
  }
  checkVerifier(code, form.get('code_verifier'));
  return userTokens(world, code.grant, code.scope, code.nonce);
}

function checkVerifier({ challenge, method }: AuthorizationCode, verifier: string | null): void {
  if (challenge === null) return;
  const given =
    verifier !== null && method === 'S256'
      ? createHash('sha256').update(verifier).digest('base64url')
      : verifier;
  if (given !== challenge) {
    throw entraErrors.invalidGrant(
      501481,
      'The Code_Verifier does not match the code_challenge supplied in the authorization request.',
    );
  }
}

function refresh({ world, app, form }: TokenRequest): Json {
  const text = form.get('refresh_token');
  if (text === null) throw entraErrors.missing('refresh_token');
  const { grant, scope } = world.tokens.useRefreshToken(text, app);
  const asked = form.get('scope') ?? scope;
  for (const name of asked.split(/\s+/)) {
    const isKnown = OPENID_SCOPES.has(name) || name.endsWith('/.default') || hasScope(grant, name);
    if (!isKnown) {
      throw entraErrors.invalidGrant(
        65001,
        `The user or administrator has not consented to use the application with ID '${app.clientId}'. Send an interactive authorization request for this user and resource.`,
        'consent_required',
      );
    }
  }
  // A refresh token answers with another one although the request does not name offline_access.
  return userTokens(world, grant, `${asked} offline_access`, null);
}

const hasScope = (grant: Grant, name: string) =>
  [...grant.scopes].some((scope) => permissionOf(scope) === permissionOf(name));

function userTokens(world: World, grant: Grant, scope: string, nonce: string | null): Json {
  const names = new Set(scope.split(/\s+/));
  const granted = [...grant.scopes];
  const permissions = granted.map(permissionOf);
  const visible = [
    ...granted,
    ...[...names].filter((name) => OPENID_SCOPES.has(name) && name !== 'offline_access'),
  ];
  return {
    token_type: 'Bearer',
    scope: visible.join(' '),
    expires_in: world.settings.accessTokenSeconds,
    ext_expires_in: world.settings.accessTokenSeconds,
    access_token: world.tokens.newAccessToken(grant, permissions),
    ...(names.has('offline_access')
      ? { refresh_token: world.tokens.newRefreshToken(grant, scope) }
      : {}),
    ...(names.has('openid') ? { id_token: idToken(world, grant, names, nonce) } : {}),
  };
}

function idToken(world: World, grant: Grant, names: Set<string>, nonce: string | null): string {
  const { user, app, tenantId } = grant;
  if (!user) throw new Error('an id token needs a user');
  const seconds = Math.floor(world.now() / 1_000);
  const profile = names.has('profile')
    ? { name: user.displayName, preferred_username: user.email, oid: user.id }
    : {};
  return signJwt({
    aud: app.clientId,
    iss: `${world.origin}/${tenantId}/v2.0`,
    iat: seconds,
    nbf: seconds,
    exp: seconds + 3_600,
    sub: createHash('sha256').update(`${app.clientId} ${user.id}`).digest('base64url'),
    tid: tenantId,
    ver: '2.0',
    ...profile,
    ...(names.has('email') ? { email: user.email } : {}),
    ...(nonce === null ? {} : { nonce }),
  });
}

function clientCredentials({ world, app, form, tenantName }: TokenRequest): Json {
  const tenant = tenantOf(world, tenantName);
  if (!tenant) {
    throw new EntraError(
      'invalid_request',
      900023,
      `Specified tenant identifier '${tenantName}' is neither a valid DNS name, nor a valid external domain.`,
    );
  }
  const scope = form.get('scope');
  if (scope === null) throw entraErrors.missing('scope');
  if (!scope.endsWith('/.default')) {
    throw new EntraError(
      'invalid_scope',
      1002012,
      `The provided value for scope ${scope} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).`,
    );
  }
  if (app.isPublic) throw entraErrors.missingSecret();
  const grant = world.tokens.grant(app, null, tenant.id);
  const roles = app.consentedTenants.has(tenant.id) ? app.appRoles : [];
  return {
    token_type: 'Bearer',
    expires_in: world.settings.accessTokenSeconds,
    ext_expires_in: world.settings.accessTokenSeconds,
    access_token: world.tokens.newAccessToken(grant, roles),
  };
}
