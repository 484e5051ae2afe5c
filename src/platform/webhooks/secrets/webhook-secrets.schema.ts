import { z } from 'zod';
import { LONGEST_OVERLAP_SECONDS } from '../../base/secret-overlap.ts';

const DAY_SECONDS = 86_400;

/** `POST /a/{client_id}/webhooks/{id}/secrets`. */
export const createWebhookSecretSchema = z
  .object({
    previous_expires_in: z
      .number()
      .int()
      .min(0)
      .max(LONGEST_OVERLAP_SECONDS)
      .nullish()
      .transform((seconds) => seconds ?? DAY_SECONDS)
      .describe(
        'Seconds for which the secrets before it sign as well; 0: they end at once. Default: 86400, a day; at most 30 days',
      ),
  })
  .meta({ id: 'CreateWebhookSecret', example: { previous_expires_in: DAY_SECONDS } });
export type CreateWebhookSecret = z.infer<typeof createWebhookSecretSchema>;

const about = {
  id: z.string(),
  created_at: z.number().int(),
  expires_at: z
    .number()
    .int()
    .nullable()
    .describe('From then on it signs nothing; null: it signs until it is replaced or deleted'),
};
const EXAMPLE = {
  id: '019aa1b2-0000-7000-8000-000000000004',
  created_at: 1795255200,
  expires_at: null,
};

/** A secret without its value. */
const webhookSecretView = z.object(about).meta({ id: 'WebhookSecret', example: EXAMPLE });
export type WebhookSecretView = z.infer<typeof webhookSecretView>;

/** The list of valid secrets. */
export const webhookSecretsView = z.array(webhookSecretView);

/** A new secret. */
export const createdWebhookSecretView = z
  .object({
    ...about,
    secret: z
      .string()
      .describe(
        '`whsec_` and the base64 text of the 32 bytes that sign (Standard Webhooks). Shown only in this response',
      ),
    previous_expires_at: z
      .number()
      .int()
      .describe(
        'Until then the secrets before it sign as well, or the client secret if there were none. Secrets that end earlier keep their end',
      ),
  })
  .meta({
    id: 'CreatedWebhookSecret',
    example: {
      ...EXAMPLE,
      secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD8Pr8Lt9c5zE=',
      previous_expires_at: 1795341600,
    },
  });
export type CreatedWebhookSecretView = z.infer<typeof createdWebhookSecretView>;
