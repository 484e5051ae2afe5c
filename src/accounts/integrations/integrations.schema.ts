import { z } from 'zod';
import { EXAMPLE_SCOPES, scopeList } from '../../platform/auth/scope.schema.ts';
import { betaPageQuery } from '../../platform/wire/pagination.schema.ts';
import { httpUrl, integerLike, queryText } from '../../platform/wire/wire.schema.ts';
import type { IntegrationChange, NewIntegration } from './integrations.service.ts';

/** Default lifetime of a login request that is created through an integration. */
const DEFAULT_EXPIRES_IN_SECONDS = 3600;

const settingsInput = z
  .record(z.string().max(100, 'names must not be longer than 100 characters'), z.unknown(), {
    error: 'must be an object',
  })
  .describe(
    'Each provider has its own settings; unknown ones are refused with the list of those allowed. Null or absent settings stay as they are; empty ones are removed. `google` and `microsoft`: `client_id` and `client_secret`, or their other credentials (docs/oauth.md). `imap`: how accounts sign in by OAuth (`issuer`, `client_id`, `client_secret`, …), and their servers.',
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

/** Which names a provider may have is known to the service only. */
export const providerField = z
  .string()
  .min(1, 'must not be empty')
  .max(50)
  .describe('`sandbox`, `google`, `microsoft`, `imap`, or another that this server knows');

/** A filter by provider; `ConnectorRegistry.filtered` knows the names. */
export const providerFilter = queryText()
  .optional()
  .describe('Name of the provider, or the one that account objects show: `google` or `gmail`');

export const createIntegrationSchema = z.object({ ...fields, provider: providerField }).meta({
  id: 'CreateIntegration',
  example: {
    name: 'Sandbox',
    provider: 'sandbox',
    settings: {},
    redirect_uris: ['https://app.example.test/callback'],
    expires_in: 3600,
    scope: EXAMPLE_SCOPES,
  },
});
export type CreateIntegration = z.infer<typeof createIntegrationSchema>;

export const updateIntegrationSchema = z
  .object({ ...fields, name: fields.name.optional() })
  .meta({ id: 'UpdateIntegration', example: { name: 'Sandbox 2', scope: EXAMPLE_SCOPES } });
export type UpdateIntegration = z.infer<typeof updateIntegrationSchema>;

export const listIntegrationsSchema = z.object({
  ...betaPageQuery,
  provider: providerFilter,
});
export type ListIntegrations = z.infer<typeof listIntegrationsSchema>;

export const integrationView = z
  .object({
    id: z.string(),
    name: z.string(),
    provider: z.string(),
    settings: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .describe('All settings except secrets such as `client_secret`, which are never shown'),
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

export function toNewIntegration(body: CreateIntegration): NewIntegration {
  return {
    provider: body.provider,
    name: body.name,
    settings: body.settings ?? {},
    redirectUris: body.redirect_uris ?? [],
    expiresIn: body.expires_in ?? DEFAULT_EXPIRES_IN_SECONDS,
    scope: body.scope ?? null,
    requireProvenAddress: body.require_proven_address ?? false,
  };
}

export function toIntegrationChange(body: UpdateIntegration): IntegrationChange {
  return {
    name: body.name,
    settings: body.settings ?? undefined,
    redirectUris: body.redirect_uris ?? undefined,
    expiresIn: body.expires_in ?? undefined,
    scope: body.scope,
    requireProvenAddress: body.require_proven_address ?? undefined,
  };
}
