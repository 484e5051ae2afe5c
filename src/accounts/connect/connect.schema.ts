import { z } from 'zod';
import { accountView } from '../account-management/accounts.schema.ts';
import { EXAMPLE_SCOPES, scopeList } from '../../platform/auth/scope.schema.ts';
import { emailAddress, emptyListToMap } from '../../platform/wire/wire.schema.ts';
import type { NativeRequest } from './connect.service.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

const credential = z
  .string()
  .min(1, 'must not be empty')
  .max(200, 'must not be longer than 200 characters');

export const authorizeSchema = z
  .object({
    client_id: credential,
    client_secret: credential
      .nullish()
      .describe('Authenticates the application; error messages then contain details about servers'),
    name: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(200, 'must not be longer than 200 characters'),
    email_address: emailAddress().optional(),
    email: emailAddress().optional().describe('Other name of `email_address`'),
    provider: z.string().min(1).max(50),
    settings: z
      .preprocess(emptyListToMap, z.record(z.string(), z.unknown()).nullish())
      .describe(
        'Credentials that the provider needs. The response names settings that the provider does not have',
      ),
    scopes: scopeList()
      .optional()
      .describe('Comma separated or an array; if absent, the scopes of the integration, or all'),
    reauth_account_id: z.string().max(100).nullish().describe('The account to authenticate again'),
  })
  .meta({
    id: 'Authorize',
    example: {
      client_id: '5f2p0a8k3n1m7q9w4e6r2t8yx',
      name: 'Ada Example',
      email_address: 'ada@sandbox.test',
      provider: 'sandbox',
      settings: { password: 'anything' },
      scopes: EXAMPLE_SCOPES.join(','),
    },
  });
export type Authorize = z.infer<typeof authorizeSchema>;

export const codeView = z
  .object({ code: z.string().describe('Valid for one exchange within ten minutes') })
  .meta({ id: 'AuthorizationCode', example: { code: 'q8w4e6r2t8y5f2p0a8k3n1m7q9w4e6r2t8y5f2p0' } });

export const exchangeCodeSchema = z
  .object({ client_id: credential, client_secret: credential, code: credential })
  .meta({
    id: 'ExchangeCode',
    example: {
      client_id: '5f2p0a8k3n1m7q9w4e6r2t8yx',
      client_secret: 'the-client-secret',
      code: 'q8w4e6r2t8y5f2p0a8k3n1m7q9w4e6r2t8y5f2p0',
    },
  });
export type ExchangeCode = z.infer<typeof exchangeCodeSchema>;

/** Clients send the same fields by GET as query, or by POST as form or JSON. */
export const oauthTokenSchema = z
  .object({
    client_id: credential,
    client_secret: credential,
    grant_type: z
      .literal('authorization_code', 'must be authorization_code')
      .default('authorization_code')
      .optional(),
    code: credential,
  })
  .meta({
    id: 'OauthToken',
    example: {
      client_id: '5f2p0a8k3n1m7q9w4e6r2t8yx',
      client_secret: 'the-client-secret',
      grant_type: 'authorization_code',
      code: 'q8w4e6r2t8y5f2p0a8k3n1m7q9w4e6r2t8y5f2p0',
    },
  });
export type OauthToken = z.infer<typeof oauthTokenSchema>;

export const tokenView = z
  .object({
    access_token: z.string().describe('Shown only in this response'),
    account_id: z.string(),
    email_address: z.string(),
    provider: z.string(),
    token_type: z.literal('bearer'),
    expires_at: z
      .number()
      .int()
      .optional()
      .describe('Absent if the token works until it is revoked'),
  })
  .meta({
    id: 'Token',
    example: {
      access_token: 'k2p0a8k3n1m7q9w4e6r2t8yx5f2p0a8k3n1m7q9w',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      email_address: 'ada@example.test',
      provider: 'imap',
      token_type: 'bearer',
    },
  });
export type TokenView = z.infer<typeof tokenView>;

export const connectedAccountView = accountView
  .extend({
    access_token: z.string().describe('Shown only in this response'),
    expires_at: z
      .number()
      .int()
      .optional()
      .describe('Absent if the token works until it is revoked'),
  })
  .meta({ id: 'ConnectedAccount' });
export type ConnectedAccountView = z.infer<typeof connectedAccountView>;

export const detectProviderSchema = z
  .object({ client_id: credential, client_secret: credential, email_address: emailAddress() })
  .meta({
    id: 'DetectProvider',
    example: {
      client_id: '5f2p0a8k3n1m7q9w4e6r2t8yx',
      client_secret: 'the-client-secret',
      email_address: 'ada@sandbox.test',
    },
  });
export type DetectProviderBody = z.infer<typeof detectProviderSchema>;

export const detectedProviderView = z
  .object({
    auth_name: z.string().nullable().describe('Null if the provider is not known'),
    detected: z.boolean(),
    email_address: z.string(),
    is_imap: z.boolean(),
    provider_name: z.string().nullable().describe('Null if the provider is not known'),
  })
  .meta({
    id: 'DetectedProvider',
    example: {
      auth_name: 'sandbox',
      detected: true,
      email_address: 'ada@sandbox.test',
      is_imap: false,
      provider_name: 'sandbox',
    },
  });
export type DetectedProviderView = z.infer<typeof detectedProviderView>;

/**
 * @param from IP address and user agent of the client
 * @throws {InvalidInputError} if neither `email_address` nor `email` is given
 */
export function toNativeRequest(
  body: Authorize,
  { client, userAgent }: { client: string; userAgent: string | undefined },
): NativeRequest {
  const email = body.email_address ?? body.email;
  if (!email)
    throw new InvalidInputError('email_address is required', { missingFields: ['email_address'] });
  return {
    caller: { clientId: body.client_id, clientSecret: body.client_secret ?? null, client },
    credentials: { provider: body.provider, email, name: body.name, settings: body.settings ?? {} },
    scope: body.scopes,
    userAgent,
    reauthAccountId: body.reauth_account_id ?? undefined,
  };
}
