import { z } from 'zod';

const credential = z.string().min(1, 'must not be empty').max(200, 'must not be longer than 200 characters');

/** The same by GET as query, by POST as form or as JSON (api facts 3.1). */
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
    access_token: z.string().describe('Shown this once'),
    account_id: z.string(),
    email_address: z.string(),
    provider: z.string(),
    token_type: z.literal('bearer'),
    expires_at: z.number().int().optional().describe('Absent: it works until it is revoked'),
  })
  .meta({
    id: 'Token',
    example: {
      access_token: 'k2p0a8k3n1m7q9w4e6r2t8yx5f2p0a8k3n1m7q9w4e6r2t8yx5f',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      email_address: 'ada@example.test',
      provider: 'imap',
      token_type: 'bearer',
    },
  });
export type TokenView = z.infer<typeof tokenView>;
