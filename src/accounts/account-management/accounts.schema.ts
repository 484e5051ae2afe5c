import { z } from 'zod';
import { pageQuery } from '../../platform/wire/pagination.schema.ts';
import { metadataInput, metadataQuery } from '../../platform/wire/wire.schema.ts';
import {
  BILLING_STATES,
  ORGANIZATION_UNITS,
  SYNC_STATES,
} from '../../platform/auth/grant-status.ts';
import { addressProofView } from '../grants/grants.schema.ts';

const collectionResult = (what: string) =>
  z
    .object({
      checked: z.number().int(),
      repaired: z.number().int().describe('How many of them differed; each was repaired'),
      missing: z.number().int().describe('Of these: how many were missing here'),
      surplus: z.number().int().describe('How many existed only here'),
      changed: z.number().int().describe('How many had another content here'),
      skipped: z
        .number()
        .int()
        .describe('Calendars or address books that could not be compared; tried again after a day'),
    })
    .describe(`${what} that the last comparison listed at the provider`);

/** Result of the audits of an account. */
export const mirrorView = z
  .object({
    checked_at: z
      .number()
      .int()
      .describe('When the last comparison of the whole mailbox was complete'),
    messages_checked: z.number().int().describe('Messages that it compared'),
    differences_found: z
      .number()
      .int()
      .describe('Differences found by it and by the comparisons of recent messages since then'),
    repaired: z.number().int(),
    missing: z.number().int().describe('Of the differences: messages that were missing here'),
    surplus: z.number().int().describe('Messages that existed only here'),
    misplaced: z.number().int().describe('Messages that were in other folders here'),
    unrepaired: z
      .number()
      .int()
      .describe('Differences that the last comparison found and could not repair'),
    folders_skipped: z
      .number()
      .int()
      .describe('Folders that the last comparison could not list; their messages are unproven'),
    events: collectionResult('Events'),
    contacts: collectionResult('Contacts'),
  })
  .nullable()
  .describe(
    'Result of the audits, which compare the mailbox with what is stored here (docs/audits.md); null before the first one is complete',
  );
/** An example of `mirrorView`. */
export const mirrorExample = {
  checked_at: 1_700_000_000,
  messages_checked: 10_000,
  differences_found: 0,
  repaired: 0,
  missing: 0,
  surplus: 0,
  misplaced: 0,
  unrepaired: 0,
  folders_skipped: 0,
  events: { checked: 500, repaired: 0, missing: 0, surplus: 0, changed: 0, skipped: 0 },
  contacts: { checked: 200, repaired: 0, missing: 0, surplus: 0, changed: 0, skipped: 0 },
};

/** An account as requests with its own token see it. */
export const accountView = z
  .object({
    id: z.string(),
    object: z.literal('account'),
    account_id: z.string(),
    name: z.string(),
    email_address: z.string(),
    ...addressProofView,
    provider: z.string(),
    organization_unit: z
      .enum(ORGANIZATION_UNITS)
      .describe('Whether the account has folders or labels'),
    sync_state: z.enum(SYNC_STATES).describe('`running` is healthy'),
    linked_at: z.number().int(),
    billing_state: z.enum(BILLING_STATES),
    mirror: mirrorView,
  })
  .meta({
    id: 'Account',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      object: 'account',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      name: 'Ada Example',
      email_address: 'ada@sandbox.test',
      address_proven: true,
      proof: 'sandbox',
      provider: 'sandbox',
      organization_unit: 'folder',
      sync_state: 'running',
      linked_at: 1_700_000_000,
      billing_state: 'paid',
      mirror: mirrorExample,
    },
  });
export type AccountView = z.infer<typeof accountView>;

/** An account as its application sees it. */
export const applicationAccountView = z
  .object({
    id: z.string(),
    account_id: z.string(),
    email: z.string(),
    ...addressProofView,
    provider: z.string(),
    sync_state: z
      .enum(['invalid-credentials', ...SYNC_STATES.filter((state) => state !== 'invalid')])
      .describe('`running` is healthy'),
    billing_state: z.enum(BILLING_STATES),
    trial: z.literal(false),
    authentication_type: z.enum(['password', 'oauth']),
    metadata: z
      .record(z.string(), z.string())
      .describe('Booleans and numbers of the grant are shown as text'),
    sending_paused: z
      .string()
      .nullable()
      .describe(
        'Why messages wait, if the operator of the server has paused sending (docs/outbox-reference.md); null otherwise',
      ),
    mirror: mirrorView,
  })
  .meta({
    id: 'ApplicationAccount',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      email: 'ada@sandbox.test',
      address_proven: true,
      proof: 'sandbox',
      provider: 'sandbox',
      sync_state: 'running',
      billing_state: 'paid',
      trial: false,
      authentication_type: 'password',
      metadata: { team: 'sales' },
      sending_paused: null,
      mirror: mirrorExample,
    },
  });
export type ApplicationAccountView = z.infer<typeof applicationAccountView>;

export const applicationAccountsView = z.array(applicationAccountView);

export const listAccountsSchema = z.object({ ...pageQuery, ...metadataQuery });
export type ListAccounts = z.infer<typeof listAccountsSchema>;

export const updateAccountSchema = z
  .object({
    metadata: metadataInput.optional().describe('Replaces all metadata; absent: nothing changes'),
  })
  .meta({ id: 'UpdateAccount', example: { metadata: { team: 'sales' } } });
export type UpdateAccount = z.infer<typeof updateAccountSchema>;

const token = z
  .string()
  .min(1, 'must not be empty')
  .max(200, 'must not be longer than 200 characters');

export const revokeAllSchema = z
  .object({ keep_access_token: token.nullish().describe('The only token that keeps working') })
  .meta({ id: 'RevokeAll', example: { keep_access_token: 'token-to-keep' } });
export type RevokeAll = z.infer<typeof revokeAllSchema>;

export const tokenInfoSchema = z
  .object({ access_token: token })
  .meta({ id: 'TokenInfoRequest', example: { access_token: 'token-to-look-at' } });
export type TokenInfoRequest = z.infer<typeof tokenInfoSchema>;

export const tokenInfoView = z
  .object({
    created_at: z.number().int(),
    updated_at: z.number().int(),
    scopes: z.string().describe('Comma separated'),
    state: z.enum(['valid', 'invalid']).describe('`invalid`: revoked or expired'),
  })
  .meta({
    id: 'TokenInfo',
    example: {
      created_at: 1_700_000_000,
      updated_at: 1_700_000_000,
      scopes: 'email.modify,calendar',
      state: 'valid',
    },
  });
export type TokenInfoView = z.infer<typeof tokenInfoView>;

const done = { success: z.literal('true') };

/** `{"success": "true"}`: the response after tokens of an account were revoked. */
export const doneView = z.object(done).meta({ id: 'Done', example: { success: 'true' } });

/**
 * An account after it was cancelled or reactivated. Some clients read `success`, others read the
 * account.
 */
export const changedAccountView = applicationAccountView
  .extend(done)
  .meta({ id: 'ChangedApplicationAccount' });
export type ChangedAccountView = z.infer<typeof changedAccountView>;
