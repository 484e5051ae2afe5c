import { z } from 'zod';
import {
  LONGEST_TOKEN_SECONDS,
  SHORTEST_TOKEN_SECONDS,
} from '../../applications/token-lifetime.ts';
import { scopeList } from '../../../platform/auth/scope.schema.ts';
import { betaPageQuery } from '../../../platform/wire/pagination.schema.ts';
import { integerLike } from '../../../platform/wire/wire.schema.ts';

export const listTokensSchema = z.object(betaPageQuery);
export type ListTokens = z.infer<typeof listTokensSchema>;

export const createTokenSchema = z
  .object({
    expires_in: integerLike({ min: SHORTEST_TOKEN_SECONDS, max: LONGEST_TOKEN_SECONDS })
      .nullish()
      .describe(
        'Lifetime in seconds; if absent, `access_token_expires_in` of the application applies',
      ),
    scope: scopeList()
      .optional()
      .describe(
        'Scopes of the token, within those of the account; if absent, all scopes of the account',
      ),
    revoke_other_tokens: z
      .boolean()
      .nullish()
      .describe('Whether to revoke all earlier tokens of the account'),
  })
  .meta({ id: 'CreateAccessToken', example: { expires_in: 3600, scope: ['email.read_only'] } });
export type CreateToken = z.infer<typeof createTokenSchema>;

export const accessTokenView = z
  .object({
    id: z.string().describe('Identifies the token; cannot be used as a token'),
    state: z.enum(['valid', 'revoked', 'expired']),
    scope: z.array(z.string()).describe('The scopes of requests with this token'),
    created_at: z.number().int(),
    last_used_at: z
      .number()
      .int()
      .nullable()
      .describe('Up to two minutes late; null if the token was never used'),
    expires_at: z.number().int().nullable().describe('Null if the token works until it is revoked'),
    revoked_at: z.number().int().nullable(),
  })
  .meta({
    id: 'AccessToken',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000002',
      state: 'valid',
      scope: ['email.modify', 'calendar'],
      created_at: 1_700_000_000,
      last_used_at: 1_700_003_600,
      expires_at: null,
      revoked_at: null,
    },
  });
export type AccessTokenView = z.infer<typeof accessTokenView>;

export const accessTokenListView = z
  .object({ data: z.array(accessTokenView), limit: z.number().int(), offset: z.number().int() })
  .meta({ id: 'AccessTokenList' });
export type AccessTokenListView = z.infer<typeof accessTokenListView>;

export const newAccessTokenEnvelope = z
  .object({
    success: z.literal(true),
    data: accessTokenView
      .extend({ access_token: z.string().describe('Shown only in this response') })
      .meta({ id: 'NewAccessToken' }),
  })
  .meta({ id: 'NewAccessTokenEnvelope' });
export type NewAccessTokenEnvelope = z.infer<typeof newAccessTokenEnvelope>;
