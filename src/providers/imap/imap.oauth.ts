import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { IntegrationValues } from '../port/sign-in/integration-descriptor.ts';
import { readIdentity } from '../port/sign-in/oauth-identity.ts';
import type {
  ClientAuthMethod,
  OauthDescriptor,
  OauthRegistration,
  OauthSource,
} from '../port/sign-in/oauth-descriptor.ts';
import { oauthScopes, SERVER_SETTINGS } from './imap.integration.ts';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function registrationOf(integration: IntegrationValues | null): OauthRegistration | null {
  const { settings, secrets } = integration ?? { settings: {}, secrets: {} };
  const { issuer, authorization_endpoint, token_endpoint, revocation_endpoint } = settings;
  if (!issuer && !token_endpoint) return null;
  const secret = secrets['client_secret'];
  const method = (settings['token_endpoint_auth_method'] as ClientAuthMethod | undefined) ?? null;
  return {
    server: issuer
      ? { issuer: textOf(issuer) }
      : {
          authorizationEndpoint: textOf(authorization_endpoint),
          tokenEndpoint: textOf(token_endpoint),
          revocationEndpoint: revocation_endpoint ? textOf(revocation_endpoint) : null,
        },
    clientId: textOf(settings['client_id']),
    authentication: secret ? { kind: 'secret', secret, method } : { kind: 'none' },
  };
}

/**
 * Sign-in by OAuth at any mail server that accepts XOAUTH2 or OAUTHBEARER. The integration has the
 * authorization server and the mail servers.
 */
export const imapOauth: OauthDescriptor = {
  signInSettings: ['refresh_token'],
  hasOnlySignInSettings: true,
  registration: ({ integration }) => registrationOf(integration),
  scopesFor: (_, { integration }) => oauthScopes(integration?.settings ?? {}),
  // These servers know no scopes of ours: a user who signs in has allowed the whole mailbox.
  covered: () => null,
  // Servers give a refresh token only if the user is asked for consent (OpenID Connect Core 11),
  // and some only for `access_type`.
  authorizationParameters: () => ({ prompt: 'consent', access_type: 'offline' }),
  identity(claims) {
    const identity = readIdentity(claims);
    // The mail server decides whose mailbox it is. A subject would lock users out when the
    // application moves to another authorization server.
    return identity === 'unverified' ? identity : { ...identity, subject: null };
  },
  direct(settings, integration) {
    const refreshToken = settings['refresh_token'];
    if (refreshToken === undefined) return null;
    if (typeof refreshToken !== 'string' || !refreshToken)
      throw new InvalidInputError('settings.refresh_token: must be a non-empty text');
    const registration = registrationOf(integration);
    if (!registration) {
      throw new InvalidInputError(
        'settings.refresh_token: accounts of the integration for imap do not sign in by OAuth',
      );
    }
    const credential = { kind: 'refresh-token', refreshToken } as const;
    return { registration, credential, own: null, ofIntegration: false };
  },
  renewal: () => null,
  accountSettings: ({ integration }: OauthSource, { email }) => {
    const servers = SERVER_SETTINGS.flatMap((name) => {
      const value = integration?.settings[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...Object.fromEntries(servers), imap_username: email, smtp_username: email };
  },
};
