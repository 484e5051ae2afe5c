import { z } from 'zod';
import { emailAddress } from '../../platform/wire/wire.schema.ts';
import { RELAY_KINDS } from '../../providers/port/mail/relay.ts';

const kind = z.enum(RELAY_KINDS, { error: `must be one of ${RELAY_KINDS.join(', ')}` });

/** `PUT /a/{client_id}/relay`. */
export const setRelaySchema = z
  .object({
    kind,
    settings: z
      .record(z.string(), z.unknown())
      .describe(
        'sendgrid: `api_key`, optional `base_url` (default https://api.sendgrid.com) and `sender_address`; smtp: `host`, `port`, `security` (tls, starttls or none), optional `username` and `password`',
      ),
  })
  .meta({
    id: 'SetRelay',
    example: {
      kind: 'sendgrid',
      settings: { api_key: 'SG.xxxxxxxx', base_url: 'https://api.sendgrid.com' },
    },
  });
export type SetRelay = z.infer<typeof setRelaySchema>;

/** The mailing service of an application. */
export const relayView = z
  .object({
    kind,
    settings: z.record(z.string(), z.unknown()).describe('Without keys and passwords'),
    last_error: z
      .string()
      .nullable()
      .describe('Refused credentials or no credits left, until a message goes through again'),
    last_error_at: z.number().int().nullable(),
    created_at: z.number().int(),
    updated_at: z.number().int(),
  })
  .meta({
    id: 'Relay',
    example: {
      kind: 'sendgrid',
      settings: { base_url: 'https://api.sendgrid.com' },
      last_error: null,
      last_error_at: null,
      created_at: 1795255200,
      updated_at: 1795255200,
    },
  });
export type RelayView = z.infer<typeof relayView>;

export const relayDeletedView = z
  .object({ success: z.literal(true) })
  .meta({ id: 'RelayDeleted', example: { success: true } });

/** Response of `GET /v2/outbox/onboard/verified_status`. */
export const verifiedStatusView = z
  .object({ results: z.object({ domain_verified: z.boolean(), sender_verified: z.boolean() }) })
  .meta({
    id: 'VerifiedStatus',
    example: { results: { domain_verified: false, sender_verified: true } },
  });
export type VerifiedStatusView = z.infer<typeof verifiedStatusView>;

/** `DELETE /v2/outbox/onboard/subuser`. */
export const removeSenderSchema = z
  .object({
    email: emailAddress()
      .optional()
      .describe("The account's own address. Required if there is a body"),
  })
  .meta({ id: 'RemoveSender', example: { email: 'ada@sandbox.test' } });
export type RemoveSender = z.infer<typeof removeSenderSchema>;
