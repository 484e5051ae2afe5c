import { z } from 'zod';
import { unixSeconds } from '../../wire/wire.schema.ts';
import { trigger } from '../webhooks.schema.ts';

/** `POST /a/{client_id}/webhooks/{id}/replay`. */
export const replayWebhookSchema = z
  .object({
    event_id: z.string().max(100).nullish().describe('One event'),
    since: unixSeconds()
      .nullish()
      .describe('All events since then, as far back as they are stored (7 days)'),
    until: unixSeconds().nullish().describe('With `since`: only events before this time'),
    failed: z
      .literal(true, { error: 'must be true, or left out' })
      .nullish()
      .describe('All events that the receiver has not confirmed although their delivery was tried'),
  })
  .refine(
    ({ event_id: event, since, failed }) =>
      [event, since, failed].filter((one) => one != null).length === 1,
    { error: 'event_id, since or failed: send exactly one of them' },
  )
  .refine(({ since, until }) => until == null || since != null, {
    error: 'until can only be sent with since',
  })
  .meta({ id: 'ReplayWebhook', example: { since: 1_795_255_200, until: 1_795_258_800 } });
export type ReplayWebhook = z.infer<typeof replayWebhookSchema>;

export const webhookReplayView = z
  .object({
    matched: z.number().int().describe('Stored events that match'),
    queued: z.number().int().describe('Deliveries that were queued'),
    running: z.number().int().describe('Deliveries that are being made at this moment'),
    reaches_back_to: z
      .number()
      .int()
      .describe('Earlier events are not stored, or are from before the subscription'),
  })
  .meta({
    id: 'WebhookReplay',
    example: { matched: 12, queued: 12, running: 0, reaches_back_to: 1_794_650_400 },
  });
export type WebhookReplayView = z.infer<typeof webhookReplayView>;

/** `POST /a/{client_id}/webhooks/{id}/test`. */
export const testWebhookSchema = z
  .object({ trigger: trigger.describe('Of which trigger to send an example') })
  .meta({ id: 'TestWebhook', example: { trigger: 'job.failed' } });
export type TestWebhook = z.infer<typeof testWebhookSchema>;

export const webhookTestView = z
  .object({
    event_id: z.string().describe('Id of the test event'),
    delivered: z
      .boolean()
      .nullable()
      .describe('Whether the receiver answered 2xx; null for a pull webhook, whose feed has it'),
    http_status: z.number().int().nullable().describe('Null if there was no response'),
    took_ms: z.number().int().nullable().describe('Duration of the request in milliseconds'),
    detail: z.string().nullable().describe('Why it was not delivered'),
  })
  .meta({
    id: 'WebhookTest',
    example: {
      event_id: '019aa1b2-0000-7000-8000-000000000002',
      delivered: true,
      http_status: 200,
      took_ms: 31,
      detail: null,
    },
  });
export type WebhookTestView = z.infer<typeof webhookTestView>;
