import { z } from 'zod';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { unknownNamesError } from '../../platform/wire/error-texts.ts';
import {
  COMMON_SETTINGS,
  type IntegrationDescriptor,
  type IntegrationProblem,
  type IntegrationValues,
  textSetting,
} from '../port/sign-in/integration-descriptor.ts';
import type {
  DirectSignIn,
  OauthCredential,
  OauthDescriptor,
  OauthRegistration,
  OauthSource,
} from '../port/sign-in/oauth-descriptor.ts';
import { readIdentity } from '../port/sign-in/oauth-identity.ts';
import { coveredScopes, neededScopes } from '../port/sign-in/provider-scope-map.ts';
import { GOOGLE_SCOPES } from './google.scopes.ts';
import { readServiceAccount } from './google.service-account.ts';

const PUB_SUB_NAME = /^projects\/[^/\s]+\/(topics|subscriptions)\/[^/\s]+$/;
const pubSubName = (kind: 'topics' | 'subscriptions') =>
  z
    .string()
    .trim()
    .max(500, 'must not be longer than 500 characters')
    .refine(
      (name) => name === '' || PUB_SUB_NAME.exec(name)?.[1] === kind,
      `must be the full name at Pub/Sub, projects/{project}/${kind}/{name}`,
    )
    .nullish();

const SETTINGS = {
  ...COMMON_SETTINGS,
  hosted_domain: textSetting(),
  pubsub_topic: pubSubName('topics'),
  pubsub_push_account: textSetting(),
  pubsub_subscription: pubSubName('subscriptions'),
  service_account_json: z
    .union([z.string().max(20_000), z.record(z.string(), z.unknown())])
    .nullish()
    .transform((value) =>
      value === null || value === undefined || typeof value === 'string'
        ? value
        : JSON.stringify(value),
    ),
};

/** What an application can set for Google: its OAuth client, a service account, or both. */
export const googleIntegration: IntegrationDescriptor = {
  settingsSchema: z.strictObject(SETTINGS, { error: unknownNamesError(Object.keys(SETTINGS)) }),
  secrets: ['client_secret', 'service_account_json'],
  addresses: [],
  secretsGoTo: [],
  problem({ settings, secrets }) {
    const key = secrets['service_account_json'];
    if (key !== undefined) readServiceAccount(key);
    const pubSub = pubSubProblem({ settings, secrets });
    if (pubSub) return pubSub;
    const isClientGiven = Boolean(settings['client_id'] ?? secrets['client_secret']);
    if (key !== undefined && !isClientGiven) return null;
    const missing = [
      ...(settings['client_id'] ? [] : ['client_id']),
      ...(secrets['client_secret'] ? [] : ['client_secret']),
    ];
    return missing.length > 0 ? { missing, for: 'google' } : null;
  },
};

/** Pub/Sub needs a topic, and a service account if its messages are pulled. */
function pubSubProblem({ settings, secrets }: IntegrationValues): IntegrationProblem | null {
  const receiving = (['pubsub_push_account', 'pubsub_subscription'] as const).find(
    (name) => settings[name],
  );
  if (receiving && !settings['pubsub_topic']) return { missing: ['pubsub_topic'], for: receiving };
  if (settings['pubsub_subscription'] && secrets['service_account_json'] === undefined)
    return { missing: ['service_account_json'], for: 'pubsub_subscription' };
  return null;
}

const SIGN_IN_SETTINGS = [
  'refresh_token',
  'google_refresh_token',
  'google_client_id',
  'google_client_secret',
  'service_account_json',
  'redirect_uri',
] as const;

/** Settings that only Google's accounts have. They tell its native sign-ins from passwords. */
export const GOOGLE_ONLY = SIGN_IN_SETTINGS.slice(1, 5);

const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() ? value.trim() : null;

/**
 * Sign-in at Google: by its pages, with a refresh token of the application's, or by a service
 * account with domain-wide delegation.
 * @param issuer `https://accounts.google.com`, or the address that the operator has set instead
 */
export function googleOauth(issuer: string): OauthDescriptor {
  const server = { issuer };
  const client = (clientId: string, secret: string): OauthRegistration => ({
    server,
    clientId,
    authentication: { kind: 'secret', secret, method: 'client_secret_post' },
  });

  function registration({ integration, own }: OauthSource): OauthRegistration | null {
    if (own?.['google_client_id'])
      return client(String(own['google_client_id']), String(own['google_client_secret']));
    if (own?.['service_account_json'] ?? own?.['service_account'])
      return { server, clientId: 'service-account', authentication: { kind: 'credential' } };
    const id = text(integration?.settings['client_id']);
    const secret = integration?.secrets['client_secret'];
    return id !== null && secret ? client(id, secret) : null;
  }

  function assertion(key: unknown, subject: string, scope: string): OauthCredential {
    const { client_email, private_key, private_key_id } = readServiceAccount(key);
    return {
      kind: 'jwt-bearer',
      issuer: client_email,
      subject,
      keyId: private_key_id ?? null,
      privateKey: private_key,
      scope,
    };
  }

  function byServiceAccount(
    own: { service_account_json: unknown } | { service_account: true },
    key: unknown,
    email: string,
    scope: string,
  ): DirectSignIn {
    if (!email) {
      throw new InvalidInputError(
        'settings.email is required: a service account acts for the user with this address',
        { missingFields: ['settings.email'] },
      );
    }
    return {
      registration: { server, clientId: 'service-account', authentication: { kind: 'credential' } },
      credential: assertion(key, email, scope),
      own,
      ofIntegration: 'service_account' in own,
    };
  }

  return {
    signInSettings: SIGN_IN_SETTINGS,
    revokesWholeConsent: true,
    registration,
    scopesFor: (scopes) => neededScopes(GOOGLE_SCOPES, scopes),
    covered: (granted) => coveredScopes(GOOGLE_SCOPES, granted),
    // Earlier consents are not included (`include_granted_scopes`): each sign-in asks for all that
    // it needs, and a metadata scope of an earlier one would limit the token.
    authorizationParameters({ source, loginHint, again }) {
      const domain = text(source.integration?.settings['hosted_domain']);
      // Google gives a refresh token at the first consent only, or if it asks again.
      const prompt = again ? 'consent' : loginHint === null ? 'select_account' : null;
      return {
        access_type: 'offline',
        ...(prompt ? { prompt } : {}),
        ...(domain ? { hd: domain } : {}),
      };
    },
    identity: readIdentity,
    direct(settings, integration, { email, scopes }) {
      const scope = neededScopes(GOOGLE_SCOPES, scopes).join(' ');
      const key = settings['service_account_json'];
      if (key !== undefined && key !== null)
        return byServiceAccount({ service_account_json: key }, key, email, scope);
      const refreshToken = text(settings['google_refresh_token'] ?? settings['refresh_token']);
      if (refreshToken !== null) return withRefreshToken(settings, integration, refreshToken);
      const shared = integration?.secrets['service_account_json'];
      if (shared !== undefined)
        return byServiceAccount({ service_account: true }, shared, email, scope);
      throw new InvalidInputError(
        'settings.google_refresh_token is required: give a refresh token, or settings.service_account_json, or let the user sign in on a page (GET /oauth/authorize, POST /connect/auth)',
        { missingFields: ['settings.google_refresh_token'] },
      );
    },
    renewal({ integration, own }, { email, scopes }) {
      const key =
        own?.['service_account_json'] ??
        (own?.['service_account'] ? integration?.secrets['service_account_json'] : undefined);
      return key === undefined ? null : assertion(key, email, scopes.join(' '));
    },
    accountSettings: (_, { settings }) => ({ ...settings }),
  };

  function withRefreshToken(
    settings: Readonly<Record<string, unknown>>,
    integration: IntegrationValues | null,
    refreshToken: string,
  ): DirectSignIn {
    const id = text(settings['google_client_id']);
    const secret = text(settings['google_client_secret']);
    const isOwn = id !== null && id !== text(integration?.settings['client_id']);
    if (isOwn && secret === null) {
      throw new InvalidInputError(
        'settings.google_client_secret is required together with google_client_id',
        { missingFields: ['settings.google_client_secret'] },
      );
    }
    const own = isOwn ? { google_client_id: id, google_client_secret: secret } : null;
    const found = registration({ integration, own });
    if (!found) {
      throw new InvalidInputError(
        'settings.google_client_id and settings.google_client_secret are required: the application has no integration for google with a client of its own',
        { missingFields: ['settings.google_client_id', 'settings.google_client_secret'] },
      );
    }
    return {
      registration: found,
      credential: { kind: 'refresh-token', refreshToken },
      own,
      ofIntegration: false,
    };
  }
}
