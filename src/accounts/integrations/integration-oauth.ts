import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import type { ClientAuthMethod, OauthRegistration } from '../oauth/oauth-registration.ts';
import type { ProviderName } from '../../providers/port/provider-name.ts';
import { openIntegrationSecrets } from './integration-secrets.ts';
import type { Integration, ShownSettings } from './integration.entity.ts';
import { IntegrationSettingsError } from './integrations.errors.ts';

/**
 * Settings that define how accounts of an `imap` integration sign in by OAuth, with their names in
 * the API.
 */
export const OAUTH_SETTINGS = [
  'issuer', 'authorization_endpoint', 'token_endpoint', 'revocation_endpoint', 'token_endpoint_auth_method',
  'oauth_scope',
] as const; // prettier-ignore

/**
 * Settings of the servers that OAuth accounts use, with the names that the `imap` connector knows.
 */
export const SERVER_SETTINGS = [
  'imap_host', 'imap_port', 'imap_security', 'smtp_host', 'smtp_port', 'smtp_security', 'smtp_files_sent',
  'caldav_url', 'carddav_url',
] as const; // prettier-ignore

/** Settings with URLs, which the egress policy must allow. */
export const ADDRESS_SETTINGS = [
  'issuer', 'authorization_endpoint', 'token_endpoint', 'revocation_endpoint', 'caldav_url', 'carddav_url',
] as const; // prettier-ignore

/** The provider whose accounts can sign in by OAuth. */
export const OAUTH_PROVIDER = 'imap' satisfies ProviderName;

/** Default scopes: the user's identity, and access while the user is away. */
const USUAL_SCOPE = 'openid email offline_access';

const isSet = (settings: ShownSettings, name: string): boolean => settings[name] !== undefined;

/**
 * Checks that an integration's settings fit together: OAuth settings must be complete or absent,
 * and are only for `imap`.
 * @throws {InvalidInputError} naming a setting that is not allowed
 * @throws {IntegrationSettingsError} naming the missing settings
 */
export function checkOauthSettings(provider: string, settings: ShownSettings): void {
  const given = [...OAUTH_SETTINGS, ...SERVER_SETTINGS].filter((name) => isSet(settings, name));
  const [first] = given;
  if (first === undefined) return;
  if (provider !== OAUTH_PROVIDER)
    throw new InvalidInputError(`settings.${first}: is for the provider imap only`);
  if (isSet(settings, 'issuer')) checkIssuer(settings);
  else checkEndpoints(settings);
  const missing = ['client_id', 'imap_host', 'smtp_host'].filter((name) => !isSet(settings, name));
  if (missing.length > 0)
    throw new IntegrationSettingsError('imap accounts that sign in by OAuth', missing);
}

function checkIssuer(settings: ShownSettings): void {
  const extra = (['authorization_endpoint', 'token_endpoint', 'revocation_endpoint'] as const).find(
    (name) => isSet(settings, name),
  );
  if (extra)
    throw new InvalidInputError(
      `settings.${extra}: the issuer already defines this endpoint: give either the issuer or the endpoints`,
    );
}

function checkEndpoints(settings: ShownSettings): void {
  const missing = ['authorization_endpoint', 'token_endpoint', 'oauth_scope'].filter(
    (name) => !isSet(settings, name),
  );
  if (missing.length === 3) missing.splice(0, 3, 'issuer');
  if (missing.length > 0)
    throw new IntegrationSettingsError('imap accounts that sign in by OAuth', missing);
  if (scopesOf(settings).includes('openid')) {
    throw new InvalidInputError(
      'settings.oauth_scope: must not have openid without settings.issuer',
    );
  }
}

const scopesOf = ({ oauth_scope: scope }: ShownSettings): string[] =>
  textOf(scope ?? '').split(/\s+/);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * The OAuth registration for accounts of an integration; `null` if they do not sign in by OAuth.
 * @throws {UnsealError}
 */
export function oauthRegistrationOf(
  box: SecretBox,
  { id, provider, settings, secretSettingsSealed }: OauthIntegration,
): OauthRegistration | null {
  const { issuer, authorization_endpoint, token_endpoint, revocation_endpoint } = settings;
  if (provider !== OAUTH_PROVIDER || (!issuer && !token_endpoint)) return null;
  const secrets = secretSettingsSealed
    ? openIntegrationSecrets(box, id, secretSettingsSealed)
    : null;
  return {
    server: issuer
      ? { issuer: textOf(issuer) }
      : {
          authorizationEndpoint: textOf(authorization_endpoint),
          tokenEndpoint: textOf(token_endpoint),
          revocationEndpoint: revocation_endpoint ? textOf(revocation_endpoint) : null,
        },
    clientId: textOf(settings['client_id']),
    clientSecret: secrets?.client_secret ?? null,
    clientAuth: (settings['token_endpoint_auth_method'] as ClientAuthMethod | undefined) ?? null,
    scope: settings['oauth_scope'] ? scopesOf(settings).join(' ') : USUAL_SCOPE,
  };
}

/** The fields of an integration that define how its accounts sign in. */
export type OauthIntegration = Pick<
  Integration,
  'id' | 'provider' | 'settings' | 'secretSettingsSealed'
>;

/**
 * The settings of an OAuth account: the servers of its integration, and its own address as login.
 * The connector completes settings that the integration leaves open.
 */
export function oauthAccountSettings(
  { settings }: Pick<Integration, 'settings'>,
  email: string,
): Record<string, unknown> {
  const servers = SERVER_SETTINGS.flatMap((name) => {
    const value = settings[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(servers), imap_username: email, smtp_username: email };
}
