import { z } from 'zod';
import {
  addressView,
  integerLike,
  queryBoolean,
  unixSeconds,
} from '../../platform/wire/wire.schema.ts';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import { listByView, withOtherShapes } from '../../platform/wire/response-shapes.ts';
import { refusesUnknown } from '../../platform/wire/schema-fields.ts';
import { JOB_STATES, SEND_ROUTES } from '../../job-statuses/job-status.ts';
import { messageFields, trackingInput, trackingView } from '../composing/message-fields.schema.ts';
import { DEFAULT_MAX_LATENESS_SECONDS, MOST_LATENESS_SECONDS } from './accept/outbox-terms.ts';
import { ON_MISSED, ON_UNKNOWN } from './accept/outbox-content.ts';

const fields = {
  ...messageFields,
  thread_id: z
    .string()
    .nullish()
    .describe('Conversation of the message: it replies to the last message of this thread'),
  tracking: trackingInput.nullish(),
  send_at: unixSeconds().nullish().describe('Unix time; absent or 0: now'),
  retry_limit_datetime: unixSeconds()
    .nullish()
    .describe(
      'Unix time of the last attempt. Default: 24 hours after send_at. At most 7 days after send_at; 0 or send_at: a single attempt',
    ),
  on_missed: z
    .enum(ON_MISSED, 'must be send or skip')
    .nullish()
    .describe(
      'What to do if no attempt has begun and the message is late: send it all the same, or skip it; default send',
    ),
  max_lateness_seconds: integerLike({ min: 0, max: MOST_LATENESS_SECONDS })
    .nullish()
    .describe(
      `Seconds a message with on_missed "skip" may be late and still be sent; default ${DEFAULT_MAX_LATENESS_SECONDS}`,
    ),
  on_unknown: z
    .enum(ON_UNKNOWN, 'must be resend or fail')
    .nullish()
    .describe(
      'What to do if it stays unknown whether the message was sent: resend it (perhaps twice) or fail (perhaps not sent at all). Default: the server setting',
    ),
};

const expectedVersion = integerLike({ min: 0 })
  .nullish()
  .describe(
    'The expected version; 409 if the message has another version. 0 counts as absent, and so does any version next to thread_id and to: it is the version of a draft',
  );

/** Body of POST /v2/outbox. */
export const createOutboxMessage = refusesUnknown(
  z.object(fields).meta({
    id: 'CreateOutboxMessage',
    example: {
      to: [{ email: 'bo@example.test', name: 'Bo' }],
      subject: 'Hello',
      body: '<p>Hello Bo</p>',
      send_at: 1_900_000_000,
      retry_limit_datetime: 1_900_086_400,
    },
  }),
  'misspelt',
);
export type CreateOutboxMessage = z.infer<typeof createOutboxMessage>;

/** Body of PATCH and PUT /v2/outbox/{job_status_id}; each field is optional. */
export const updateOutboxMessage = refusesUnknown(
  z.object({ ...fields, version: expectedVersion }).meta({
    id: 'UpdateOutboxMessage',
    example: { subject: 'Hello again', send_at: 1_900_003_600 },
  }),
  'misspelt',
);

export type UpdateOutboxMessage = z.infer<typeof updateOutboxMessage>;

/** Body of DELETE /v2/outbox/{job_status_id}; usually there is none. */
export const cancelOutboxMessage = z
  .object({ version: expectedVersion })
  .meta({ id: 'CancelOutboxMessage', example: {} });
export type CancelOutboxMessage = z.infer<typeof cancelOutboxMessage>;

export const createOutboxQuery = z.object({
  dry_run: queryBoolean()
    .optional()
    .describe('true: check the request and return what would happen, without storing anything'),
});

export const listOutboxQuery = z.object({ ...pageQuery, view: viewQuery(['ids', 'count']) });
export type ListOutboxQuery = z.infer<typeof listOutboxQuery>;

/** Content of an outbox message. */
export const originalData = z
  .object({
    from: z.array(addressView),
    to: z.array(addressView),
    cc: z.array(addressView),
    bcc: z.array(addressView),
    reply_to: z.array(addressView),
    subject: z.string(),
    body: z.string(),
    send_at: z.number().int(),
    original_send_at: z.number().int(),
    retry_limit_datetime: z
      .number()
      .int()
      .describe('As it was sent; 0 or send_at: a single attempt'),
    reply_to_message_id: z.string().nullish(),
    file_ids: z.array(z.string()).optional(),
    files: z
      .array(
        z.object({
          id: z.string(),
          object: z.literal('file'),
          filename: z.string(),
          content_type: z.string(),
          size: z.number().int(),
        }),
      )
      .optional()
      .describe('The files of `file_ids`'),
    metadata: z.record(z.string(), z.string()).optional(),
    tracking: trackingView.optional(),
  })
  .meta({ id: 'OutboxOriginalData' });

/** An outbox message, with the additional fields that the official clients read. */
export const outboxMessage = z
  .object({
    job_status_id: z.string(),
    account_id: z.string(),
    action: z.literal('new_outbox'),
    status: z.enum(JOB_STATES),
    reason: z.string().optional().describe('Present if the status is delayed, failed or cancelled'),
    created_at: z.number().int(),
    send_at: z.number().int(),
    original_send_at: z.number().int(),
    message_id: z
      .string()
      .nullable()
      .describe('Id of the message in the mailbox, once it was sent'),
    thread_id: z.string().nullable(),
    route: z
      .enum(SEND_ROUTES)
      .nullable()
      .describe(
        "Route over which the message was sent: the account's provider or the mailing service. Null: not sent yet",
      ),
    original_data: originalData,
    version: z.number().int().describe('Grows with each edit. Also in ETag, for If-Match'),
    on_missed: z.enum(ON_MISSED),
    max_lateness_seconds: z.number().int().nullable().describe('Null unless on_missed is skip'),
    on_unknown: z.enum(ON_UNKNOWN).nullable().describe('Null: the server setting applies'),
  })
  .meta({
    id: 'OutboxMessage',
    example: {
      job_status_id: '019aa1b2-0000-7000-8000-000000000001',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      action: 'new_outbox',
      status: 'pending',
      created_at: 1_899_990_000,
      send_at: 1_900_000_000,
      original_send_at: 1_900_000_000,
      message_id: null,
      thread_id: null,
      route: null,
      original_data: {
        from: [{ email: 'ada@example.test', name: 'Ada' }],
        to: [{ email: 'bo@example.test', name: 'Bo' }],
        cc: [],
        bcc: [],
        reply_to: [],
        subject: 'Hello',
        body: '<p>Hello Bo</p>',
        send_at: 1_900_000_000,
        original_send_at: 1_900_000_000,
        retry_limit_datetime: 1_900_086_400,
      },
      version: 1,
      on_missed: 'send',
      max_lateness_seconds: null,
      on_unknown: null,
    },
  });
export type OutboxMessageView = z.infer<typeof outboxMessage>;
/** Outbox messages, or with `view` their ids or their number. */
export const outboxMessages = listByView(outboxMessage);

/** What would happen to a message: the response with `dry_run=true`. */
export const outboxPlan = z
  .object({
    dry_run: z.literal(true),
    account_id: z.string(),
    send_at: z.number().int().describe('When the message would be due'),
    retry_limit_datetime: z.number().int().describe('The deadline; 0 or send_at: a single attempt'),
    planned_attempts: z
      .array(z.object({ at: z.number().int(), route: z.enum(SEND_ROUTES) }))
      .describe(
        'All attempts until the deadline if each failed for a temporary reason. Actual times vary by up to 10 %',
      ),
    route: z.enum(SEND_ROUTES).describe('Route of the first attempt'),
    relay_available: z
      .boolean()
      .describe(
        "Whether the application's mailing service would take over, after five failed attempts or at a daily limit",
      ),
    account_closed_until: z
      .number()
      .int()
      .nullable()
      .describe(
        'Until then nothing of the account is sent, except last attempts at a deadline. The plan begins there',
      ),
    account_closed_reason: z.string().nullable(),
    account_queue_until: z
      .number()
      .int()
      .nullable()
      .describe(
        "Until then messages that were due earlier wait for the account's pace. This message may have to wait as well",
      ),
    size: z.number().int().describe('Size of the composed message in bytes'),
    recipients: z.number().int().describe('Number of different addresses in to, cc and bcc'),
    on_missed: z.enum(ON_MISSED),
    max_lateness_seconds: z.number().int().nullable(),
    on_unknown: z.enum(ON_UNKNOWN).nullable(),
    original_data: originalData,
  })
  .meta({ id: 'OutboxPlan' });
export type OutboxPlanView = z.infer<typeof outboxPlan>;
/** Response to POST: a message, or a plan with `dry_run`. */
export const outboxMessageOrPlan = withOtherShapes(outboxMessage, {
  '`dry_run=true` (status 200)': outboxPlan,
});
