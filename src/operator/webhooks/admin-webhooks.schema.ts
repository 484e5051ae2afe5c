import { z } from 'zod';
import { feedProgressFields } from '../../platform/webhooks/feed/feed.schema.ts';
import { filtersView } from '../../platform/webhooks/webhook-filters.schema.ts';
import {
  WEBHOOK_CONTENTS,
  WEBHOOK_DELIVERIES,
  WEBHOOK_STATES,
} from '../../platform/webhooks/webhook-state.ts';
import { inOrder } from '../../platform/wire/wire.schema.ts';
import { filterText, instant, listOf, tokenPageQuery } from '../search/list.schema.ts';

const OUTCOMES = ['delivered', 'retry', 'dropped'] as const;

/** `GET /admin/webhooks`. */
export const listOperatorWebhooksQuery = z.object({
  state: z
    .enum([...WEBHOOK_STATES, 'unwell'])
    .optional()
    .describe('A state, or `unwell`: `failing`, `failed`, or without a success since a failure'),
  application: filterText(100).optional().describe('Id or client id of the application'),
  url: filterText(2_000).optional().describe('A part of the callback address'),
  ...tokenPageQuery,
});
export type ListOperatorWebhooksQuery = z.infer<typeof listOperatorWebhooksQuery>;

/** `GET /admin/webhooks/{id}/attempts`. */
export const listAttemptsQuery = inOrder(
  z.object({
    outcome: z.enum(OUTCOMES).optional().describe('Only attempts that ended like this'),
    event_id: filterText(100).optional().describe('The `webhook-id` header of the delivery'),
    since: instant().optional(),
    until: instant().optional(),
    ...tokenPageQuery,
  }),
  ['since', 'until'],
);
export type ListAttemptsQuery = z.infer<typeof listAttemptsQuery>;

/** `POST /admin/webhooks/{id}/replay`. */
export const replaySchema = z
  .object({
    event_id: filterText(100).optional().describe('One event'),
    since: instant().optional().describe('All events since then, as far back as they are stored'),
    until: instant()
      .optional()
      .describe('With `since`: only events before this time')
      .meta({ example: 1_899_993_600 }),
    failed: z
      .literal(true)
      .optional()
      .describe('All events that the receiver has not confirmed although their delivery was tried'),
    undelivered_only: z
      .boolean()
      .default(false)
      .describe('With `since`: leave out events that the receiver has confirmed'),
    dry_run: z
      .boolean()
      .default(true)
      .describe('True, the default, sends nothing and says how many events would be sent'),
  })
  .refine(
    ({ event_id: event, since, failed }) =>
      [event, since, failed].filter((one) => one !== undefined).length === 1,
    { error: 'event_id, since or failed: send exactly one of them' },
  )
  .refine(({ since, until }) => until === undefined || since !== undefined, {
    error: 'until can only be sent with since',
  })
  .meta({
    id: 'Replay',
    example: { since: 1_899_990_000, undelivered_only: true, dry_run: false },
  });
export type ReplayInput = z.infer<typeof replaySchema>;

/** `POST /admin/webhooks/{id}/pause`. */
export const pauseWebhookSchema = z
  .object({
    reason: z.string().trim().max(300).nullish().describe('Your words for the audit log'),
  })
  .meta({ id: 'PauseWebhook', example: { reason: 'The receiver asked for it' } });
export type PauseWebhook = z.infer<typeof pauseWebhookSchema>;

const webhookFields = {
  id: z.string(),
  application_id: z.string(),
  client_id: z.string(),
  application_name: z.string(),
  delivery: z.enum(WEBHOOK_DELIVERIES).describe('How events reach the owner'),
  callback_url: z.string().nullable().describe('Null for a pull webhook'),
  state: z.enum(WEBHOOK_STATES),
  paused: z.boolean().describe('An operator stopped it; its `state` is `failed` then'),
  triggers: z.array(z.string()),
  filters: filtersView.nullable().describe('Which events are delivered; null: all of the triggers'),
  content: z.enum(WEBHOOK_CONTENTS).describe('What deliveries say about the object of an event'),
  failing_since: z.number().int().nullable().describe('First failure since the last success'),
  failures: z.number().int().describe('Failed deliveries since the last success'),
  last_failure: z.string().nullable().describe('Why it fails, or which operator paused it'),
  backlog: z.number().int().describe('Queued deliveries, counted up to 10,000'),
  backlog_is_more: z.boolean().describe('There are more than `backlog`'),
  oldest_due_at: z.number().int().nullable().describe('When the oldest queued event was queued'),
  created_at: z.number().int(),
};

const EXAMPLE = {
  id: '019aa1b2-0000-7000-8000-000000000001',
  application_id: '019aa1b2-0000-7000-8000-000000000003',
  client_id: '4k2c7tq0h5v9w1x8y3z6a0b4d',
  application_name: 'Shop',
  delivery: 'push' as const,
  callback_url: 'https://app.example.com/hooks/mail',
  state: 'failing' as const,
  paused: false,
  triggers: ['message.created', 'message.updated'],
  filters: { from_domains: ['example.com'] },
  content: 'ids' as const,
  failing_since: 1_899_990_000,
  failures: 212,
  last_failure: 'the receiver answered 500',
  backlog: 212,
  backlog_is_more: false,
  oldest_due_at: 1_899_990_000,
  created_at: 1_890_000_000,
};

export const operatorWebhook = z
  .object(webhookFields)
  .meta({ id: 'OperatorWebhook', example: EXAMPLE });
export type OperatorWebhookView = z.infer<typeof operatorWebhook>;

export const operatorWebhooks = listOf(operatorWebhook).meta({ id: 'OperatorWebhooks' });

/** `GET /admin/webhooks/{id}`. */
export const operatorWebhookDetails = z
  .object({
    ...webhookFields,
    subscribed_at: z
      .number()
      .int()
      .describe(
        'Start of the subscription, in Unix seconds: when the webhook was created, or last activated after it was `inactive`',
      ),
    last_hour: z
      .object({
        delivered: z.number().int().describe('Attempts that the receiver confirmed'),
        retry: z.number().int().describe('Failed attempts whose event is delivered again later'),
        dropped: z.number().int().describe('Failed attempts whose event was given up'),
      })
      .describe('Attempts of the last hour by outcome; of the newest 10,000'),
    last_delivered_at: z
      .number()
      .int()
      .nullable()
      .describe(
        'Start of the last attempt that the receiver confirmed, in Unix seconds; null if there is none within 30 days',
      ),
    replayable_since: z.number().int().describe('`replay` reaches back to this time'),
    feed: z.object(feedProgressFields).describe('How far the feed is acknowledged'),
  })
  .meta({
    id: 'OperatorWebhookDetails',
    example: {
      ...EXAMPLE,
      subscribed_at: 1_890_000_000,
      last_hour: { delivered: 0, retry: 24, dropped: 0 },
      last_delivered_at: 1_899_989_900,
      replayable_since: 1_899_395_200,
      feed: { cursor: null, acknowledged_at: null, waiting: 212, waiting_is_more: false },
    },
  });
export type OperatorWebhookDetailsView = z.infer<typeof operatorWebhookDetails>;

/** One attempt to deliver one event. */
export const operatorAttempt = z
  .object({
    id: z.string(),
    event_id: z.string().describe('The `webhook-id` header of the delivery'),
    account_id: z.string().nullable().describe('Account of the events'),
    deltas: z.number().int().describe('How many events of the account the request had'),
    first_sequence: z.number().int().nullable().describe('`sequence` of the first event'),
    last_sequence: z.number().int().nullable().describe('`sequence` of the last event'),
    trigger: z.string().nullable().describe('Null once the event is no longer stored (7 days)'),
    attempt: z.number().int(),
    started_at: z.number().int(),
    took_ms: z.number().int(),
    http_status: z
      .number()
      .int()
      .nullable()
      .describe('HTTP status of the response; null if there was none'),
    outcome: z.enum(OUTCOMES),
    detail: z.string().nullable().describe('Why the event was not delivered'),
    response: z
      .string()
      .nullable()
      .describe(
        "The first kilobyte of the receiver's answer as plain text, or 128 bytes if it confirmed the event",
      ),
    next_attempt_at: z.number().int().nullable(),
  })
  .meta({
    id: 'OperatorWebhookAttempt',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000003',
      event_id: '019aa1b2-0000-7000-8000-000000000002',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      deltas: 1,
      first_sequence: 4711,
      last_sequence: 4711,
      trigger: 'job.failed',
      attempt: 2,
      started_at: 1_899_990_000,
      took_ms: 31,
      http_status: 500,
      outcome: 'retry',
      detail: 'the receiver answered 500',
      response: 'relation "orders" does not exist',
      next_attempt_at: 1_899_990_312,
    },
  });
export type OperatorAttemptView = z.infer<typeof operatorAttempt>;
export const operatorAttempts = listOf(operatorAttempt).meta({ id: 'OperatorWebhookAttempts' });

/** Result of a replay. */
export const replayResult = z
  .object({
    matched: z.number().int().describe('Stored events that match'),
    queued: z.number().int().describe('Deliveries that were queued; in a dry run, would be'),
    running: z.number().int().describe('Deliveries that a worker is making at this moment'),
    reaches_back_to: z.number().int().describe('Earlier events are not stored or not for it'),
    dry_run: z.boolean().describe('Whether nothing was queued'),
  })
  .meta({
    id: 'ReplayResult',
    example: {
      matched: 212,
      queued: 212,
      running: 0,
      reaches_back_to: 1_899_395_200,
      dry_run: true,
    },
  });
export type ReplayResultView = z.infer<typeof replayResult>;
