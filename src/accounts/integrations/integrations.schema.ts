import { z } from 'zod';
import { scopeList } from '../../platform/auth/scope.schema.ts';
import { betaPageQuery } from '../../platform/wire/pagination.schema.ts';
import { unknownNamesError } from '../../platform/wire/error-texts.ts';
import { httpUrl, integerLike, queryText } from '../../platform/wire/wire.schema.ts';
import { CLIENT_AUTH_METHODS } from '../oauth/oauth-registration.ts';
import { PROVIDER_NAMES } from '../../providers/port/provider-name.ts';
import type {
  IntegrationChange,
  IntegrationSettings,
  NewIntegration,
} from './integrations.service.ts';

/** Default lifetime of a login request that is created through an integration. */
const DEFAULT_EXPIRES_IN_SECONDS = 3600;

const setting = z.string().trim().max(2000, 'must not be longer than 2000 characters').nullish();

const security = z.enum(['tls', 'starttls', 'none', ''], 'must be tls, starttls or none').nullish();
const mailPort = z.union([z.literal(''), integerLike({ min: 1, max: 65_535 })]).nullish();
const mailHost = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(/^[a-z0-9._:-]*$/, 'must be a host name or an address')
  .nullish();

/**
 * Settings with their names in the API; others are refused. `imap` accounts can sign in by OAuth
 * (docs/oauth.md).
 */
const SETTINGS = {
  client_id: setting,
  client_secret: setting,
  tenant: setting,
  issuer: setting.describe('imap: issuer of the authorization server (OpenID Connect Discovery)'),
  authorization_endpoint: setting.describe('imap: instead of `issuer`'),
  token_endpoint: setting.describe('imap: instead of `issuer`'),
  revocation_endpoint: setting.describe('imap: instead of `issuer`'),
  token_endpoint_auth_method: z
    .enum([...CLIENT_AUTH_METHODS, ''], `must be ${CLIENT_AUTH_METHODS.join(' or ')}`)
    .nullish(),
  oauth_scope: setting.describe('imap: scopes to request, separated by spaces'),
  imap_host: mailHost,
  imap_port: mailPort.describe('Default 993'),
  imap_security: security,
  smtp_host: mailHost,
  smtp_port: mailPort.describe('Default 587'),
  smtp_security: security,
  smtp_files_sent: z.union([z.boolean(), z.stringbool()], 'must be true or false').nullish(),
  caldav_url: setting,
  carddav_url: setting,
};
const settingsInput = z
  .strictObject(SETTINGS, { error: unknownNamesError(Object.keys(SETTINGS)) })
  .describe(
    'Null or absent settings stay as they are; empty ones are removed; unknown ones are refused. `client_id` and `client_secret` are required for google and microsoft. For imap, all settings concern accounts that sign in by OAuth.',
  );

const fields = {
  name: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(200, 'must not be longer than 200 characters'),
  settings: settingsInput.nullish(),
  redirect_uris: z.array(httpUrl()).max(100, 'must not have more than 100 addresses').nullish(),
  expires_in: integerLike({ min: 61, max: 315_359_999 })
    .nullish()
    .describe(`Lifetime of a login request in seconds; default ${DEFAULT_EXPIRES_IN_SECONDS}`),
  scope: scopeList()
    .optional()
    .describe('Scopes of grants without scopes of their own; empty or null for all'),
  require_proven_address: z
    .boolean('must be true or false')
    .nullish()
    .describe('Whether its accounts may be used only while their address is proven; default false'),
};

/** A provider name. Other names are refused with the list of allowed ones. */
export const providerField = z.enum(PROVIDER_NAMES, { error: providerError(PROVIDER_NAMES) });

/** Providers that clients know, but that are set up in another way (ADR 0067). */
const ELSEWHERE: ReadonlyMap<unknown, string> = new Map([
  [
    'nylas',
    'virtual calendars (provider nylas) have no integration: connect them with POST /connect/authorize',
  ],
  [
    'zoom',
    'users do not connect Zoom accounts of their own: set Zoom up for the whole application with PUT /a/{client_id}/conferencing (kind zoom), then create events with conferencing.autocreate',
  ],
]);

/** The error text for a provider name that is not in `names`. */
export function providerError(names: readonly string[]) {
  const usual = `must be one of ${names.join(', ')}`;
  return ({ input }: { input?: unknown }) => {
    const elsewhere = ELSEWHERE.get(input);
    return elsewhere === undefined ? usual : `${usual}; ${elsewhere}`;
  };
}

export const createIntegrationSchema = z.object({ ...fields, provider: providerField }).meta({
  id: 'CreateIntegration',
  example: {
    name: 'Sandbox',
    provider: 'sandbox',
    settings: {},
    redirect_uris: ['https://app.example.test/callback'],
    expires_in: 3600,
    scope: ['email.modify', 'email.send', 'calendar'],
  },
});
export type CreateIntegration = z.infer<typeof createIntegrationSchema>;

export const updateIntegrationSchema = z
  .object({ ...fields, name: fields.name.optional() })
  .meta({ id: 'UpdateIntegration', example: { name: 'Sandbox 2', scope: ['email.send'] } });
export type UpdateIntegration = z.infer<typeof updateIntegrationSchema>;

export const listIntegrationsSchema = z.object({
  ...betaPageQuery,
  provider: queryText().optional(),
});
export type ListIntegrations = z.infer<typeof listIntegrationsSchema>;

export const integrationView = z
  .object({
    id: z.string(),
    name: z.string(),
    provider: z.string(),
    settings: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .describe('All settings except `client_secret`, which is never shown'),
    redirect_uris: z.array(z.string()),
    expires_in: z.number().int(),
    scope: z.array(z.string()),
    require_proven_address: z.boolean(),
  })
  .meta({
    id: 'Integration',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      name: 'Google',
      provider: 'google',
      settings: { client_id: '1234.apps.example.test' },
      redirect_uris: ['https://app.example.test/callback'],
      expires_in: 3600,
      scope: ['email.modify'],
      require_proven_address: false,
    },
  });
export type IntegrationView = z.infer<typeof integrationView>;

export const integrationEnvelope = z
  .object({ success: z.literal(true), data: integrationView })
  .meta({ id: 'IntegrationEnvelope' });
export type IntegrationEnvelope = z.infer<typeof integrationEnvelope>;

export const integrationListView = z
  .object({ data: z.array(integrationView), limit: z.number().int(), offset: z.number().int() })
  .meta({ id: 'IntegrationList' });
export type IntegrationListView = z.infer<typeof integrationListView>;

function toSettings({
  client_secret,
  ...shown
}: z.infer<typeof settingsInput>): IntegrationSettings {
  const given = Object.entries(shown).map(([name, value]) => [name, value ?? undefined]);
  return { clientSecret: client_secret ?? undefined, shown: Object.fromEntries(given) };
}

export function toNewIntegration(body: CreateIntegration): NewIntegration {
  return {
    provider: body.provider,
    name: body.name,
    settings: toSettings(body.settings ?? {}),
    redirectUris: body.redirect_uris ?? [],
    expiresIn: body.expires_in ?? DEFAULT_EXPIRES_IN_SECONDS,
    scope: body.scope ?? null,
    requireProvenAddress: body.require_proven_address ?? false,
  };
}

export function toIntegrationChange(body: UpdateIntegration): IntegrationChange {
  return {
    name: body.name,
    settings: body.settings ? toSettings(body.settings) : undefined,
    redirectUris: body.redirect_uris ?? undefined,
    expiresIn: body.expires_in ?? undefined,
    scope: body.scope,
    requireProvenAddress: body.require_proven_address ?? undefined,
  };
}
