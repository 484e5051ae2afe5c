import { z } from 'zod';
import { EXAMPLE_SCOPES, scopeList } from '../../platform/auth/scope.schema.ts';
import { GRANT_STATUSES } from '../../platform/auth/grant-status.ts';
import { metadataFilter } from '../../platform/database/metadata-filter.ts';
import { betaPageQuery } from '../../platform/wire/pagination.schema.ts';
import {
  emailAddress,
  metadataQuery,
  queryText,
  unixSeconds,
} from '../../platform/wire/wire.schema.ts';
import { providerField, providerFilter } from '../integrations/integrations.schema.ts';
import { ADDRESS_PROOFS } from '../../providers/port/sign-in/address-proof.ts';
import type { AccountCredentials } from './credentials/credentials.ts';
import type { ConnectOptions } from './moves/grant-connections.service.ts';
import type { GrantChange } from './grants.service.ts';
import type { GrantFilter } from './list-grants.ts';

/**
 * Metadata of a grant: the same as for other objects, but values may also be booleans and numbers.
 */
export const grantMetadataInput = z
  .record(
    z.string().min(1).max(40, 'keys must not be longer than 40 characters'),
    z.union(
      [
        z.string().max(500, 'values must not be longer than 500 characters'),
        z.number(),
        z.boolean(),
      ],
      {
        error: 'values must be text, numbers or booleans',
      },
    ),
  )
  .refine((pairs) => Object.keys(pairs).length <= 50, 'must not have more than 50 pairs')
  .meta({ id: 'GrantMetadataInput', example: { isAdmin: true } });

const settingsInput = z.record(z.string(), z.unknown());

export const listGrantsSchema = z.object({
  ...betaPageQuery,
  provider: providerFilter,
  // An unencoded `+` arrives as a space, which no address contains.
  email: queryText()
    .transform((value) => value.trim().replaceAll(' ', '+'))
    .optional()
    .describe('Address of the account, in upper or lower case'),
  grant_status: z.enum(GRANT_STATUSES, 'must be valid or invalid').optional(),
  ...metadataQuery,
});
export type ListGrants = z.infer<typeof listGrantsSchema>;

export const createGrantSchema = z
  .object({
    provider: providerField.describe(
      'Names like `gmail` and `yahoo` stand for the provider that the settings fit: with a password for `imap`',
    ),
    settings: settingsInput.describe(
      'Credentials that the provider needs; `email` is the address of the account. The response names settings that the provider does not have',
    ),
    scope: scopeList().optional().describe('Instead of the scopes of the integration'),
    state: z.string().max(255, 'must not be longer than 255 characters').nullish(),
    metadata: grantMetadataInput.nullish(),
    revoke_other_tokens: z
      .boolean()
      .nullish()
      .describe(
        'Whether to revoke the earlier tokens of the account; if absent, the setting of the application decides',
      ),
  })
  .meta({
    id: 'CreateGrant',
    example: {
      provider: 'sandbox',
      settings: { email: 'cy@sandbox.test', password: 'anything' },
      scope: EXAMPLE_SCOPES,
      state: 'signup-17',
      metadata: { isAdmin: true },
    },
  });
export type CreateGrant = z.infer<typeof createGrantSchema>;

export const updateGrantSchema = z
  .object({
    settings: settingsInput
      .nullish()
      .describe(
        'Merged into the stored settings, then verified with the provider. Settings that the provider does not have, or that cannot be changed, are refused',
      ),
    metadata: grantMetadataInput.nullish().describe('Replaces all metadata'),
    scope: scopeList().optional().describe('Empty or null for the scopes of the integration'),
  })
  .meta({
    id: 'UpdateGrant',
    example: { metadata: { isAdmin: false }, scope: EXAMPLE_SCOPES },
  });
export type UpdateGrant = z.infer<typeof updateGrantSchema>;

export const syncGrantSchema = z.object({
  sync_from: unixSeconds()
    .optional()
    .describe('Accepted for compatibility: the mirror always covers the whole mailbox'),
});

/** Fields of grants and accounts that report whether the address is proven. */
export const addressProofView = {
  address_proven: z
    .boolean()
    .describe('Whether it is proven that this mailbox belongs to the address'),
  proof: z
    .enum(ADDRESS_PROOFS)
    .nullable()
    .describe('The proof; null if there is none (docs/account-ownership.md)'),
};

export const grantView = z
  .object({
    id: z.string().describe('Also the account id'),
    provider: z.string(),
    grant_status: z
      .enum(['valid', 'invalid'])
      .describe('`invalid`: the user has to authenticate again'),
    email: z.string(),
    ...addressProofView,
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    scope: z.array(z.string()).describe('Empty if the scopes of the integration apply'),
    granted_scope: z
      .array(z.string())
      .describe(
        'What the user has agreed to, here and at the provider. The scopes that apply go no further. Empty for every scope',
      ),
    user_agent: z.string(),
    ip: z.string(),
    state: z.string(),
    created_at: z.number().int(),
    updated_at: z.number().int(),
  })
  .meta({
    id: 'Grant',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      provider: 'sandbox',
      grant_status: 'valid',
      email: 'ada@sandbox.test',
      address_proven: true,
      proof: 'sandbox',
      metadata: { isAdmin: true },
      scope: ['email.modify'],
      granted_scope: ['email.modify'],
      user_agent: 'curl/8.5.0',
      ip: '198.51.100.7',
      state: 'signup-17',
      created_at: 1_700_000_000,
      updated_at: 1_700_000_000,
    },
  });
export type GrantView = z.infer<typeof grantView>;

/** A grant that is read alone. */
const singleGrantView = grantView
  .extend({
    settings: z
      .record(z.string(), z.unknown())
      .describe(
        'The settings without secrets. You may send them back with a change; the stored secrets stay',
      ),
  })
  .meta({
    id: 'SingleGrant',
    description: 'The grant, with its settings',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      provider: 'imap',
      grant_status: 'valid',
      email: 'ada@example.test',
      address_proven: true,
      proof: 'preset',
      metadata: { isAdmin: true },
      scope: ['email.modify'],
      granted_scope: ['email.modify'],
      user_agent: 'curl/8.5.0',
      ip: '198.51.100.7',
      state: 'signup-17',
      created_at: 1_700_000_000,
      updated_at: 1_700_000_000,
      settings: { imap_host: 'imap.example.test', imap_port: 993, imap_security: 'tls' },
    },
  });

export const grantEnvelope = z
  .object({ success: z.literal(true), data: singleGrantView })
  .meta({ id: 'GrantEnvelope' });
export type GrantEnvelope = z.infer<typeof grantEnvelope>;

export const newGrantEnvelope = z
  .object({
    success: z.literal(true),
    data: grantView
      .extend({ access_token: z.string().describe('Shown only in this response') })
      .meta({ id: 'NewGrant' }),
  })
  .meta({ id: 'NewGrantEnvelope' });
export type NewGrantEnvelope = z.infer<typeof newGrantEnvelope>;

export const grantListView = z
  .object({ data: z.array(grantView), limit: z.number().int(), offset: z.number().int() })
  .meta({ id: 'GrantList' });
export type GrantListView = z.infer<typeof grantListView>;

/** @throws {InvalidInputError} if a metadata pair is not `key:value` */
export function toGrantFilter(query: ListGrants): GrantFilter {
  const { provider, email, grant_status: status } = query;
  return { provider, email, status, metadata: metadataFilter(query) };
}

const EMAIL_SETTINGS = ['email', 'email_address', 'username', 'imap_username'] as const;

/** Credentials with the address taken from the setting in which clients usually send it. */
export function toCredentials({ provider, settings }: CreateGrant): AccountCredentials {
  const addressIn = (key: string) => emailAddress().safeParse(settings[key]).data;
  const email = EMAIL_SETTINGS.map(addressIn).find((address) => address !== undefined);
  const name = settings['name'];
  // A user name that is no address may be meant as the login, which has another name.
  const username = addressIn('username') === undefined ? [] : ['username'];
  return {
    provider,
    settings,
    settingsRead: ['email', 'email_address', 'name', ...username],
    email: email ?? '',
    name: typeof name === 'string' ? name.trim().slice(0, 200) : '',
  };
}

/** @param client user agent and IP address of the caller, stored with the grant */
export function toConnectOptions(
  { scope, state, metadata, revoke_other_tokens }: CreateGrant,
  client: { userAgent?: string; ip?: string },
): ConnectOptions {
  return {
    integrationRequired: true,
    scope,
    state: state ?? undefined,
    metadata: metadata ?? undefined,
    revokeOtherTokens: revoke_other_tokens ?? undefined,
    userAgent: client.userAgent,
    ip: client.ip,
  };
}

export function toGrantChange({ settings, metadata, scope }: UpdateGrant): GrantChange {
  return {
    settings: settings && Object.keys(settings).length > 0 ? settings : undefined,
    metadata: metadata ?? undefined,
    scope,
  };
}
