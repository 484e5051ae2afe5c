import { z } from 'zod';
import { pageQuery, viewQuery } from '../wire/pagination.schema.ts';
import { listByView } from '../wire/response-shapes.ts';
import { filtersSchema, filtersView } from './webhook-filters.schema.ts';
import { feedProgressFields } from './feed/feed.schema.ts';
import {
  OWNER_STATES,
  type Trigger,
  TRIGGERS,
  WEBHOOK_CONTENTS,
  WEBHOOK_DELIVERIES,
  WEBHOOK_STATES,
} from './webhook-state.ts';

const unknownTrigger = (input: unknown): string =>
  `unknown trigger ${JSON.stringify(input)?.slice(0, 60)}`;

/** `AccountSyncError` for `account.sync_error`: the name under which the Java client sends it. */
const constantOf = (trigger: Trigger): string =>
  trigger.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());

const TRIGGER_NAMES: ReadonlyMap<string, Trigger> = new Map(
  TRIGGERS.flatMap((name) => [
    [name, name],
    [constantOf(name), name],
  ]),
);

/** A trigger by its name, or by the name under which the Java client sends it. */
export const trigger = z
  .string({ error: ({ input }) => unknownTrigger(input) })
  .transform((name, context): Trigger => {
    const known = TRIGGER_NAMES.get(name);
    if (known) return known;
    context.addIssue({ code: 'custom', message: unknownTrigger(name) });
    return z.NEVER;
  })
  .meta({ enum: [...TRIGGERS] });
const CONTENT_TEXT =
  'What deliveries say about the object of an event: `ids` names it, `summary` has some of its fields, `full` all that its own endpoint shows. The scopes of the account limit what is shown';
const content = z.enum(WEBHOOK_CONTENTS, { error: 'must be ids, summary or full' });
const ownerState = z.enum(OWNER_STATES, { error: 'must be active or inactive' });

/** `POST /a/{client_id}/webhooks`. */
export const createWebhookSchema = z
  .object({
    delivery: z
      .enum(WEBHOOK_DELIVERIES, { error: 'must be push or pull' })
      .nullish()
      .transform((delivery) => delivery ?? 'push')
      .describe(
        '`push`, the default: Carillon sends events to `callback_url`; `pull`: you read them from `GET /a/{client_id}/events`',
      ),
    callback_url: z
      .string()
      .nullish()
      .describe(
        'A public https address; unique within the application. Required unless `delivery` is `pull`, which has none',
      ),
    triggers: z
      .array(trigger)
      .min(1, 'must name at least one trigger')
      .max(100)
      .transform((triggers) => [...new Set(triggers)]),
    state: ownerState.nullish().transform((state) => state ?? 'active'),
    filters: filtersSchema
      .nullish()
      .describe('Which events of the triggers are delivered; all filters must match'),
    content: content
      .nullish()
      .transform((value) => value ?? 'ids')
      .describe(CONTENT_TEXT),
  })
  .superRefine(({ delivery, callback_url: url }, context) => {
    const wrong = (message: string) =>
      context.addIssue({ code: 'custom', path: ['callback_url'], message });
    if (delivery === 'push' && url == null) wrong('is required');
    if (delivery === 'pull' && url != null)
      wrong('must be left out, because the owner of a pull webhook reads its events');
  })
  .meta({
    id: 'CreateWebhook',
    example: {
      callback_url: 'https://app.example.com/hooks/mail',
      triggers: ['message.created', 'message.updated'],
      state: 'active',
      filters: { from_domains: ['example.com'] },
      content: 'summary',
    },
  });
export type CreateWebhook = z.infer<typeof createWebhookSchema>;

/** `PUT /a/{client_id}/webhooks/{id}`. */
export const updateWebhookSchema = z
  .object({
    state: ownerState,
    delivery: z
      .unknown()
      .optional()
      .describe('Cannot be changed; may repeat the stored value')
      .meta({ example: 'push' }),
    callback_url: z.unknown().optional().describe('Cannot be changed; may repeat the stored value'),
    triggers: z.unknown().optional().describe('Cannot be changed; may repeat the stored value'),
    filters: filtersSchema.nullish().describe('Cannot be changed; may repeat the stored value'),
    content: content.nullish().describe('Cannot be changed; may repeat the stored value'),
  })
  .meta({ id: 'UpdateWebhook', example: { state: 'active' } });
export type UpdateWebhook = z.infer<typeof updateWebhookSchema>;

export const listWebhooksQuery = z.object({ ...pageQuery, view: viewQuery(['ids', 'count']) });
export type ListWebhooksQuery = z.infer<typeof listWebhooksQuery>;

/** A webhook. */
export const webhookView = z
  .object({
    id: z.string(),
    application_id: z.string().describe('The client id of the application'),
    delivery: z.enum(WEBHOOK_DELIVERIES).describe('How events reach the owner'),
    callback_url: z.string().nullable().describe('Null for a pull webhook'),
    state: z
      .enum(WEBHOOK_STATES)
      .describe(
        '`failing`: only failures for 15 minutes; `failed`: only failures for 72 hours or a 410, and deliveries have stopped',
      ),
    triggers: z.array(z.string()),
    filters: filtersView
      .nullable()
      .describe('Which events of the triggers are delivered; null: all of them'),
    content: z.enum(WEBHOOK_CONTENTS).describe(CONTENT_TEXT),
    version: z.literal('2.0'),
    feed: z
      .object(feedProgressFields)
      .optional()
      .describe('How far the feed is acknowledged; only when one webhook is read'),
  })
  .meta({
    id: 'Webhook',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      application_id: '4k2c7tq0h5v9w1x8y3z6a0b4d',
      delivery: 'push',
      callback_url: 'https://app.example.com/hooks/mail',
      state: 'active',
      triggers: ['message.created', 'message.updated'],
      filters: { from_domains: ['example.com'] },
      content: 'summary',
      version: '2.0',
    },
  });
export type WebhookView = z.infer<typeof webhookView>;

/** The list of webhooks, in the requested view. */
export const webhooksView = listByView(webhookView);
export type WebhooksView = z.infer<typeof webhooksView>;

export const webhookDeletedView = z
  .object({ success: z.literal(true) })
  .meta({ id: 'WebhookDeleted', example: { success: true } });

export const listDeliveriesQuery = z.object(pageQuery);
export type ListDeliveriesQuery = z.infer<typeof listDeliveriesQuery>;

/** One request to the address of a webhook. */
export const deliveryView = z
  .object({
    id: z.string(),
    event_id: z
      .string()
      .describe('The first event of the request; with one delta, also its `webhook-id` header'),
    account_id: z.string().nullable().describe('Account of the events'),
    deltas: z.number().int().describe('How many events of the account the request had'),
    first_sequence: z.number().int().nullable().describe('`sequence` of the first event'),
    last_sequence: z.number().int().nullable().describe('`sequence` of the last event'),
    trigger: z
      .string()
      .nullable()
      .describe('Null once the event itself is no longer stored (7 days)'),
    attempt: z.number().int().describe('1 for the first'),
    started_at: z.number().int(),
    took_ms: z.number().int(),
    http_status: z.number().int().nullable().describe('Null if there was no response'),
    outcome: z.enum(['delivered', 'retry', 'dropped']),
    detail: z.string().nullable().describe('Why the events were not delivered'),
    next_attempt_at: z.number().int().nullable(),
  })
  .meta({
    id: 'WebhookDelivery',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000003',
      event_id: '019aa1b2-0000-7000-8000-000000000002',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      deltas: 1,
      first_sequence: 4711,
      last_sequence: 4711,
      trigger: 'job.failed',
      attempt: 2,
      started_at: 1795255200,
      took_ms: 10001,
      http_status: null,
      outcome: 'retry',
      detail: 'no complete response within 10000 ms',
      next_attempt_at: 1795255512,
    },
  });
export type DeliveryView = z.infer<typeof deliveryView>;

/** The list of attempts. */
export const deliveriesView = z.array(deliveryView);
