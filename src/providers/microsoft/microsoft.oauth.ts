import { z } from 'zod';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { unknownNamesError } from '../../platform/wire/error-texts.ts';
import {
  COMMON_SETTINGS,
  type IntegrationDescriptor,
  type IntegrationValues,
  textSetting,
} from '../port/sign-in/integration-descriptor.ts';
import type {
  ClientAuthentication,
  DirectSignIn,
  OauthDescriptor,
  OauthIdentity,
  OauthRegistration,
  OauthSource,
} from '../port/sign-in/oauth-descriptor.ts';
import { coveredScopes, neededScopes } from '../port/sign-in/provider-scope-map.ts';
import { MICROSOFT_SCOPES, withWholeMail } from './microsoft.scopes.ts';

/** Addresses of Microsoft's services. National clouds have others. */
export interface MicrosoftAddresses {
  /** Default `https://login.microsoftonline.com`. */
  login: string;
  /** Default `https://graph.microsoft.com`. */
  graph: string;
}

/** Tenants that stand for many, and in which no application can act by itself. */
const SHARED_TENANTS: readonly string[] = ['common', 'organizations', 'consumers'];
const TENANT = /^[A-Za-z0-9.-]{1,253}$/;

const pem = () => z.string().trim().max(20_000).nullish();
const SETTINGS = {
  ...COMMON_SETTINGS,
  tenant: z
    .string()
    .trim()
    .regex(
      /^[A-Za-z0-9.-]{0,253}$/,
      'must be common, organizations, consumers, or the id or domain of a tenant',
    )
    .nullish(),
  domain_hint: textSetting(),
  client_certificate: pem(),
  client_private_key: pem(),
};

/** What an application can set for Microsoft: its client, with a secret or with a certificate. */
export const microsoftIntegration: IntegrationDescriptor = {
  settingsSchema: z.strictObject(SETTINGS, { error: unknownNamesError(Object.keys(SETTINGS)) }),
  secrets: ['client_secret', 'client_certificate', 'client_private_key'],
  addresses: [],
  secretsGoTo: [],
  problem({ settings, secrets }) {
    const withCertificate = secrets['client_certificate'] ?? secrets['client_private_key'];
    const needed = withCertificate
      ? ['client_certificate', 'client_private_key']
      : ['client_secret'];
    const missing = [
      ...(settings['client_id'] ? [] : ['client_id']),
      ...needed.filter((name) => !secrets[name]),
    ];
    return missing.length > 0 ? { missing, for: 'microsoft' } : null;
  },
};

const SIGN_IN_SETTINGS = [
  'refresh_token',
  'microsoft_refresh_token',
  'microsoft_client_id',
  'microsoft_client_secret',
  'microsoft_client_certificate',
  'microsoft_client_private_key',
  'microsoft_tenant',
  'app_only',
  'redirect_uri',
] as const;

/** Settings that only Microsoft's accounts have. They tell its native sign-ins from passwords. */
export const MICROSOFT_ONLY = SIGN_IN_SETTINGS.slice(1, 8);

const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() ? value.trim() : null;

/** The user by tenant and object id, which never change and are never used again. */
function identity(claims: Readonly<Record<string, unknown>>): OauthIdentity {
  const { tid, oid, email, preferred_username: login, name } = claims;
  const address = text(email) ?? text(login);
  return {
    subject: text(tid) && text(oid) ? `${text(tid)}:${text(oid)}` : null,
    // Administrators can set this claim to any address: the mailbox itself has the last word.
    email: address?.includes('@') ? address.toLowerCase() : null,
    name: text(name)?.slice(0, 200) ?? null,
  };
}

function authenticationOf(
  secret: unknown,
  certificate: unknown,
  privateKey: unknown,
): ClientAuthentication | null {
  if (text(certificate) && text(privateKey))
    return {
      kind: 'certificate',
      certificate: String(certificate),
      privateKey: String(privateKey),
    };
  // Microsoft's secrets may contain characters that servers decode differently in Basic.
  return text(secret)
    ? { kind: 'secret', secret: String(secret), method: 'client_secret_post' }
    : null;
}

/** Sign-in at Microsoft: by its pages, with a refresh token, or as the application itself. */
export function microsoftOauth({ login, graph }: MicrosoftAddresses): OauthDescriptor {
  const permission = (name: string) => (/^[A-Z]/.test(name) ? `${graph}/${name}` : name);
  const bare = (name: string) => name.slice(name.lastIndexOf('/') + 1);

  function tenantOf({ integration, own }: OauthSource): string {
    const tenant = text(own?.['microsoft_tenant']) ?? text(integration?.settings['tenant']);
    if (tenant !== null && !TENANT.test(tenant))
      throw new InvalidInputError(
        'settings.microsoft_tenant: must be the id or domain of a tenant',
      );
    return tenant ?? 'common';
  }

  function registration(source: OauthSource): OauthRegistration | null {
    const { integration, own } = source;
    const ownId = text(own?.['microsoft_client_id']);
    const clientId = ownId ?? text(integration?.settings['client_id']);
    const values: Readonly<Record<string, unknown>> = integration?.secrets ?? {};
    const authentication = ownId
      ? authenticationOf(
          own?.['microsoft_client_secret'],
          own?.['microsoft_client_certificate'],
          own?.['microsoft_client_private_key'],
        )
      : authenticationOf(
          values['client_secret'],
          values['client_certificate'],
          values['client_private_key'],
        );
    if (clientId === null || authentication === null) return null;
    const issuer = `${login}/${tenantOf(source)}/v2.0`;
    return { server: { issuer, tenantIssuer: true }, clientId, authentication };
  }

  const appScope = `${graph}/.default`;
  return {
    signInSettings: SIGN_IN_SETTINGS,
    registration,
    scopesFor: (scopes) => neededScopes(MICROSOFT_SCOPES, scopes).map(permission),
    covered(granted) {
      // The roles of an application are not in the answer: its administrator has given them.
      if (granted.length === 0 || granted.includes(appScope)) return null;
      return withWholeMail(coveredScopes(MICROSOFT_SCOPES, granted.map(bare)));
    },
    authorizationParameters({ source, loginHint, again }) {
      const domain = text(source.integration?.settings['domain_hint']);
      const prompt = again ? 'consent' : loginHint === null ? 'select_account' : null;
      return { ...(prompt ? { prompt } : {}), ...(domain ? { domain_hint: domain } : {}) };
    },
    identity,
    direct(settings, integration, { email }) {
      const token = text(settings['microsoft_refresh_token'] ?? settings['refresh_token']);
      const own = ownOf(settings, integration);
      const isApp = token === null && isTrue(settings['app_only']);
      if (token === null && !isApp) {
        throw new InvalidInputError(
          'settings.microsoft_refresh_token is required: give a refresh token, or settings.app_only, or let the user sign in on a page (GET /oauth/authorize, POST /connect/auth)',
          { missingFields: ['settings.microsoft_refresh_token'] },
        );
      }
      const kept = isApp ? { ...own, app_only: true } : own;
      const found = registration({ integration, own: kept });
      if (!found) throw clientMissing();
      if (token !== null) {
        const credential = { kind: 'refresh-token', refreshToken: token } as const;
        return { registration: found, credential, own: kept, ofIntegration: false };
      }
      return asApplication(found, { integration, own: kept }, email);
    },
    renewal: ({ own }) =>
      own?.['app_only'] ? { kind: 'client-credentials', scope: appScope } : null,
    accountSettings: ({ own }, { settings }) => ({
      ...settings,
      ...(own?.['app_only'] ? { app_only: true } : {}),
    }),
  };

  function asApplication(
    found: OauthRegistration,
    source: OauthSource,
    email: string,
  ): DirectSignIn {
    if (!email) {
      throw new InvalidInputError(
        'settings.email is required: the application acts on the mailbox with this address',
        { missingFields: ['settings.email'] },
      );
    }
    if (SHARED_TENANTS.includes(tenantOf(source))) {
      throw new InvalidInputError(
        'settings.app_only: an application acts by itself in one tenant only: set tenant of the integration, or settings.microsoft_tenant, to the id or domain of that tenant',
      );
    }
    return {
      registration: found,
      credential: { kind: 'client-credentials', scope: appScope },
      own: source.own,
      ofIntegration: source.own?.['microsoft_client_id'] === undefined,
    };
  }
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}

function clientMissing(): InvalidInputError {
  return new InvalidInputError(
    'settings.microsoft_client_id and settings.microsoft_client_secret are required: the application has no integration for microsoft with a client of its own',
    { missingFields: ['settings.microsoft_client_id', 'settings.microsoft_client_secret'] },
  );
}

/** The client that the account brings, unless it is that of the integration. */
function ownOf(
  settings: Readonly<Record<string, unknown>>,
  integration: IntegrationValues | null,
): Record<string, unknown> | null {
  const id = text(settings['microsoft_client_id']);
  const isOwn = id !== null && id !== text(integration?.settings['client_id']);
  const names = [
    'microsoft_tenant',
    ...(isOwn
      ? [
          'microsoft_client_id',
          'microsoft_client_secret',
          'microsoft_client_certificate',
          'microsoft_client_private_key',
        ]
      : []),
  ];
  const given = names.flatMap((name) => {
    const value = text(settings[name]);
    return value === null ? [] : [[name, value] as const];
  });
  return given.length > 0 ? Object.fromEntries(given) : null;
}
