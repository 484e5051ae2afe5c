import type { StubApp, StubTenant, StubUser } from '../directory/directory.ts';
import { PERSONAL_TENANT } from '../directory/directory.ts';
import type { StubAnswer, StubRequest } from '../http/types.ts';
import type { World } from '../world.ts';
import { EntraError, entraErrors } from './oauth-error.ts';
import { OPENID_SCOPES } from './token-store.ts';

/** Names in the path that stand for any tenant, or for a kind of tenants. */
const ANY = new Set(['common', 'organizations', 'consumers']);

/** The tenant that a path names; `null` for `common` and its like. */
export function tenantOf(world: World, name: string): StubTenant | null {
  if (ANY.has(name)) return null;
  const tenant = world.directory.tenant(name);
  if (!tenant) throw entraErrors.unknownTenant(name);
  return tenant;
}

/**
 * Answers `/{tenant}/oauth2/v2.0/authorize`. The pages of sign-in and consent answer themselves:
 * the user is the one of `login_hint` or of the setting `signInAs`, the decision is the setting
 * `consent`. Errors about the application or its address are shown as a page, others are sent to
 * the redirect address.
 */
export function authorize(world: World, request: StubRequest, tenantName: string): StubAnswer {
  const query =
    request.method === 'POST' ? new URLSearchParams(request.body.toString()) : request.query;
  const app = world.directory.apps.get(query.get('client_id') ?? '');
  const redirectUri = query.get('redirect_uri');
  if (!app) return page(entraErrors.unknownClient(query.get('client_id') ?? ''));
  if (redirectUri === null || !acceptsRedirect(app, redirectUri)) {
    return page(
      new EntraError(
        'invalid_request',
        50011,
        `The redirect URI '${redirectUri}' specified in the request does not match the redirect URIs configured for the application '${app.clientId}'.`,
      ),
    );
  }
  try {
    const code = newCode(world, query, app, redirectUri, tenantName);
    return back(query, redirectUri, { code, session_state: world.tokens.newState() });
  } catch (error) {
    if (!(error instanceof EntraError)) throw error;
    return back(query, redirectUri, {
      error: error.error,
      ...(error.suberror === undefined ? {} : { error_subcode: error.suberror }),
      error_description: error.description,
    });
  }
}

function newCode(
  world: World,
  query: URLSearchParams,
  app: StubApp,
  redirectUri: string,
  tenantName: string,
): string {
  const tenant = tenantOf(world, tenantName);
  if (query.get('response_type') !== 'code') {
    throw new EntraError(
      'unsupported_response_type',
      70005,
      'Only the response type code is enabled.',
    );
  }
  const scope = query.get('scope');
  if (!scope) throw entraErrors.missing('scope');
  const user = signedIn(world, query, tenant, tenantName);
  decide(world, query);
  const grant = world.tokens.grant(app, user, user.tenantId);
  for (const name of scope.split(/\s+/)) if (!OPENID_SCOPES.has(name)) grant.scopes.add(name);
  grant.refusal = null;
  return world.tokens.newCode({
    grant,
    scope,
    redirectUri,
    challenge: query.get('code_challenge'),
    method: query.get('code_challenge_method') ?? 'plain',
    nonce: query.get('nonce'),
  });
}

function signedIn(
  world: World,
  query: URLSearchParams,
  tenant: StubTenant | null,
  tenantName: string,
): StubUser {
  const name = query.get('login_hint') ?? world.settings.signInAs;
  const user = name === null ? world.directory.users[0] : world.directory.user(name);
  if (!user) {
    throw new EntraError('login_required', 50034, `The user account ${name} does not exist.`);
  }
  const isPersonal = user.tenantId === PERSONAL_TENANT;
  const fits =
    tenant === null
      ? !(tenantName === 'consumers' && !isPersonal) &&
        !(tenantName === 'organizations' && isPersonal)
      : tenant.id === user.tenantId;
  if (!fits) {
    throw new EntraError(
      'access_denied',
      50020,
      `User account '${user.email}' does not exist in tenant '${tenantName}' and cannot access the application in that tenant.`,
    );
  }
  return user;
}

function decide(world: World, query: URLSearchParams): void {
  const { consent } = world.settings;
  if (consent === 'granted') return;
  if (consent === 'admin-required') {
    const code = query.get('prompt') === 'none' ? 65001 : 90094;
    throw new EntraError(
      'consent_required',
      code,
      'An administrator of the organization has to consent to this application.',
    );
  }
  throw new EntraError('access_denied', 65004, 'User declined to consent to access the app.', {
    suberror: 'cancel',
  });
}

/**
 * Answers `/{tenant}/adminconsent` and `/{tenant}/v2.0/adminconsent`: the administrator agrees to
 * all application permissions, or declines.
 */
export function adminConsent(world: World, { query }: StubRequest, tenantName: string): StubAnswer {
  const app = world.directory.apps.get(query.get('client_id') ?? '');
  const redirectUri = query.get('redirect_uri');
  if (!app) return page(entraErrors.unknownClient(query.get('client_id') ?? ''));
  if (redirectUri === null || !acceptsRedirect(app, redirectUri)) {
    return page(new EntraError('invalid_request', 50011, 'The redirect URI does not match.'));
  }
  const tenant = tenantOf(world, tenantName) ?? adminsTenant(world);
  if (world.settings.adminConsent === 'denied') {
    return back(query, redirectUri, {
      error: 'access_denied',
      error_subcode: 'cancel',
      error_description: new EntraError(
        'access_denied',
        65004,
        'User declined to consent to access the app.',
      ).description,
      admin_consent: 'True',
    });
  }
  app.consentedTenants.add(tenant.id);
  const scope = query.get('scope');
  return back(query, redirectUri, {
    tenant: tenant.id,
    admin_consent: 'True',
    ...(scope === null ? {} : { scope }),
  });
}

function adminsTenant(world: World): StubTenant {
  const { signInAs } = world.settings;
  const admin = signInAs === null ? world.directory.users[0] : world.directory.user(signInAs);
  const tenant = admin && world.directory.tenants.get(admin.tenantId);
  if (!tenant) throw entraErrors.unknownTenant('common');
  return tenant;
}

function acceptsRedirect(app: StubApp, redirectUri: string): boolean {
  return app.redirectUris === null || app.redirectUris.has(redirectUri);
}

/** An error page, for errors that must not be sent to an unchecked address. */
function page(error: EntraError): StubAnswer {
  const text = `<!doctype html><title>Sign in to your account</title><p>Sorry, but we’re having trouble signing you in.<p>${error.message}`;
  return { status: 400, headers: { 'content-type': 'text/html; charset=utf-8' }, raw: text };
}

function back(
  query: URLSearchParams,
  redirectUri: string,
  values: Record<string, string>,
): StubAnswer {
  const state = query.get('state');
  const all = { ...values, ...(state === null ? {} : { state }) };
  if (query.get('response_mode') === 'form_post') {
    const inputs = Object.entries(all)
      .map(([name, value]) => `<input type="hidden" name="${name}" value="${escape(value)}">`)
      .join('');
    const raw = `<!doctype html><body onload="document.forms[0].submit()"><form method="post" action="${escape(redirectUri)}">${inputs}</form>`;
    return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, raw };
  }
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return { status: 302, headers: { location: url.href } };
}

const escape = (text: string) =>
  text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;');
