import { z } from 'zod';
import { unknownNamesError } from '../../platform/wire/error-texts.ts';
import { integerLike } from '../../platform/wire/wire.schema.ts';
import {
  COMMON_SETTINGS,
  type IntegrationDescriptor,
  type IntegrationProblem,
  type ShownSettings,
  textSetting,
} from '../port/sign-in/integration-descriptor.ts';
import { CLIENT_AUTH_METHODS } from '../port/sign-in/oauth-descriptor.ts';
import { SECURITIES } from './imap.settings.ts';

/** Settings that say how accounts of the integration sign in by OAuth. */
const OAUTH_SETTINGS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
  'token_endpoint_auth_method',
  'oauth_scope',
] as const;

/** Settings of the servers that OAuth accounts use, with the names of the account's settings. */
export const SERVER_SETTINGS = [
  'imap_host',
  'imap_port',
  'imap_security',
  'smtp_host',
  'smtp_port',
  'smtp_security',
  'smtp_files_sent',
  'caldav_url',
  'carddav_url',
] as const;

const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint'] as const;

const security = z
  .enum(
    [...SECURITIES, ''],
    `must be ${SECURITIES.slice(0, -1).join(', ')} or ${SECURITIES.at(-1)}`,
  )
  .nullish();
const mailPort = z.union([z.literal(''), integerLike({ min: 1, max: 65_535 })]).nullish();
const mailHost = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(/^[a-z0-9._:-]*$/, 'must be a host name or an address')
  .nullish();

const SETTINGS = {
  ...COMMON_SETTINGS,
  issuer: textSetting(),
  authorization_endpoint: textSetting(),
  token_endpoint: textSetting(),
  revocation_endpoint: textSetting(),
  token_endpoint_auth_method: z
    .enum([...CLIENT_AUTH_METHODS, ''], `must be ${CLIENT_AUTH_METHODS.join(' or ')}`)
    .nullish(),
  oauth_scope: textSetting(),
  imap_host: mailHost,
  imap_port: mailPort,
  imap_security: security,
  smtp_host: mailHost,
  smtp_port: mailPort,
  smtp_security: security,
  smtp_files_sent: z.union([z.boolean(), z.stringbool()], 'must be true or false').nullish(),
  caldav_url: textSetting(),
  carddav_url: textSetting(),
};

/**
 * What an application can set for mail servers: how accounts sign in by OAuth, and the servers that
 * those accounts use (docs/oauth.md). The OAuth settings are complete or absent.
 */
export const imapIntegration: IntegrationDescriptor = {
  settingsSchema: z.strictObject(SETTINGS, { error: unknownNamesError(Object.keys(SETTINGS)) }),
  secrets: ['client_secret'],
  addresses: [
    'issuer',
    'authorization_endpoint',
    'token_endpoint',
    'revocation_endpoint',
    'caldav_url',
    'carddav_url',
  ],
  secretsGoTo: ['issuer', 'token_endpoint', 'revocation_endpoint'],
  problem({ settings }) {
    if (![...OAUTH_SETTINGS, ...SERVER_SETTINGS].some((name) => isSet(settings, name))) return null;
    const wrong = isSet(settings, 'issuer') ? issuerProblem(settings) : endpointsProblem(settings);
    return wrong ?? missingOf(settings, ['client_id', 'imap_host', 'smtp_host']);
  },
};

const isSet = (settings: Readonly<ShownSettings>, name: string): boolean =>
  settings[name] !== undefined;

function missingOf(
  settings: Readonly<ShownSettings>,
  names: readonly string[],
): IntegrationProblem | null {
  const missing = names.filter((name) => !isSet(settings, name));
  return missing.length > 0 ? { missing, for: 'imap accounts that sign in by OAuth' } : null;
}

function issuerProblem(settings: Readonly<ShownSettings>): IntegrationProblem | null {
  const extra = ENDPOINTS.find((name) => isSet(settings, name));
  if (!extra) return null;
  const text = 'the issuer already defines this endpoint: give either the issuer or the endpoints';
  return { setting: extra, text };
}

function endpointsProblem(settings: Readonly<ShownSettings>): IntegrationProblem | null {
  const needed = ['authorization_endpoint', 'token_endpoint', 'oauth_scope'];
  const none = needed.every((name) => !isSet(settings, name));
  const problem = missingOf(settings, none ? ['issuer'] : needed);
  if (problem || !oauthScopes(settings).includes('openid')) return problem;
  return { setting: 'oauth_scope', text: 'must not have openid without settings.issuer' };
}

/** Default scopes: the user's identity, and access while the user is away. */
const USUAL_SCOPES = ['openid', 'email', 'offline_access'];

/** The scopes that an integration asks its authorization server for. */
export function oauthScopes({ oauth_scope: scope }: Readonly<ShownSettings>): readonly string[] {
  return typeof scope === 'string' && scope ? scope.split(/\s+/) : USUAL_SCOPES;
}
