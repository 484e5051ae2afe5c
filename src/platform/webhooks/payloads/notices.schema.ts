import { z } from 'zod';

/*
 * What webhooks say in `object_data.attributes` and `object_data.metadata`. The modules that record
 * the changes build these objects; `test/e2e/webhook-triggers` compares deliveries with the
 * schemas.
 */

const ID = '019aa1b2-0000-7000-8000-000000000001';
const OTHER_ID = '019aa1b2-0000-7000-8000-000000000002';
const SECONDS = 1_795_255_200;

const id = (text: string) => z.string().describe(text);
const seconds = (text: string) => z.int().describe(`${text}, in Unix seconds`);

const LOST =
  'null if Carillon had lost the object, and an audit has stored it again under another id';

/** A message that is new or has changed. */
export const messageNotice = z
  .object({
    thread_id: id('Id of its thread'),
    received_date: seconds('When the message was received'),
  })
  .meta({ example: { thread_id: OTHER_ID, received_date: SECONDS } });

/** A message that was deleted. */
export const deletedMessageNotice = messageNotice
  .nullable()
  .meta({ description: LOST, example: { thread_id: OTHER_ID, received_date: SECONDS } });

/** An event of a calendar. */
export const eventNotice = z
  .object({
    calendar_id: id('Id of its calendar'),
    created_before_account_connection: z.literal(false).describe('Always false'),
  })
  .meta({ example: { calendar_id: OTHER_ID, created_before_account_connection: false } });

/** An event of a calendar that was deleted. */
export const deletedEventNotice = eventNotice.nullable().meta({
  description: LOST,
  example: { calendar_id: OTHER_ID, created_before_account_connection: false },
});

/** A job whose state has changed. */
export const jobNotice = z
  .object({
    action: z.string().describe('What the job does'),
    job_status_id: id('Same as `object_data.id`'),
    message_id: id('The sent message, after `job.successful`; else null').nullable().optional(),
    thread_id: id('Thread of the sent message; null as `message_id`').nullable().optional(),
    object: z
      .string()
      .nullable()
      .optional()
      .describe('Kind of object that the job changes; absent with `new_outbox`'),
    id: id('Id of the object that the job changes; absent with `new_outbox`').nullable().optional(),
    extras: z
      .object({
        reason: z.string().nullable().describe('Why the job has this state'),
        send_at: z.int().nullable().describe('When the message is or was to be sent'),
        original_send_at: z.int().nullable().describe('Its first send time'),
        refused: z
          .array(
            z.object({
              email: z.string().describe('Address of the recipient'),
              reason: z.string().describe('Why it was refused'),
            }),
          )
          .optional()
          .describe('The first 100 recipients who refused the message'),
      })
      .optional()
      .describe('Present for failed, delayed and cancelled jobs, and if recipients refused'),
  })
  .meta({
    example: {
      action: 'new_outbox',
      job_status_id: ID,
      message_id: null,
      thread_id: null,
      extras: { reason: '550 5.1.1 User unknown', send_at: SECONDS, original_send_at: SECONDS },
    },
  });

/** State of an account. */
export const accountNotice = z
  .object({
    reason: z.string().nullable().describe('Why the account has this state; null if all is well'),
    sign_in_url: z
      .string()
      .nullable()
      .describe(
        'Page on which the user can sign in again; null if that does not help, or if the application has registered no redirect address',
      ),
  })
  .meta({
    example: {
      reason: '535 5.7.8 Authentication failed',
      sign_in_url:
        'https://carillon.example.com/oauth/authorize?client_id=4k2c7tq0h5v9w1x8y3z6a0b4d&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback&response_type=code&provider=imap&login_hint=ada%40example.com',
    },
  });

/** Whether the address of an account is proven. */
export const proofNotice = z
  .object({
    address_proven: z.boolean().describe('Whether the mailbox belongs to the address'),
    proof: z.string().nullable().describe('What proves it; null if nothing does'),
  })
  .meta({ example: { address_proven: true, proof: 'oauth' } });

const grantFields = {
  grant_id: id('Id of the grant, which is the id of the account'),
  provider: z.string().describe('Provider of the account'),
};
const grantExample = { grant_id: ID, provider: 'imap' };

/** A grant that was created or deleted. */
export const grantNotice = z.object(grantFields).meta({ example: grantExample });

/** A grant that was changed. */
export const updatedGrantNotice = z
  .object({
    ...grantFields,
    reauthenticated: z
      .boolean()
      .describe(
        'Whether the user has signed in again; else its settings, metadata or scopes changed',
      ),
  })
  .meta({ example: { ...grantExample, reauthenticated: true } });

/** A grant whose user has to sign in again. */
export const expiredGrantNotice = z
  .object({ ...grantFields, ...accountNotice.shape })
  .meta({ example: { ...grantExample, ...(accountNotice.meta()?.['example'] as object) } });

/** A reminder that was sent, or will not be sent any more. */
export const reminderNotice = z
  .object({
    event_id: id('The event that it is about'),
    notification_id: id('The notification of the event'),
    type: z.enum(['email', 'sms', 'webhook']).describe('How it is sent'),
    participant: z.string().nullable().describe('Address or phone number; null for webhooks'),
    due_at: seconds('When it was due'),
    sent_at: z.int().nullable().describe('When it was sent, in Unix seconds; null if it failed'),
    attempts: z.int().describe('Attempts begun'),
    reason: z.string().nullable().describe('Why it failed; null if it was sent'),
  })
  .meta({
    example: {
      event_id: OTHER_ID,
      notification_id: '019aa1b2-0000-7000-8000-000000000003',
      type: 'email',
      participant: 'bo@example.test',
      due_at: SECONDS,
      sent_at: SECONDS,
      attempts: 1,
      reason: null,
    },
  });

/** A quota that is used up. */
export const quotaNotice = z
  .object({
    quota: z.string().describe('`sms`, `reminders` or `meetings`'),
    per: z.enum(['account', 'application']).describe('What the quota counts for'),
    limit: z.int().describe('The limit of a day'),
    window_start: seconds('Begin of the day (UTC)'),
    window_end: seconds('End of the day'),
  })
  .meta({
    example: {
      quota: 'sms',
      per: 'account',
      limit: 100,
      window_start: 1_795_219_200,
      window_end: 1_795_305_600,
    },
  });

/** A webhook whose deliveries have begun to fail, have stopped, or succeed again. */
export const webhookNotice = z
  .object({
    callback_url: z.string().describe('Its address, without the query'),
    state: z.enum(['active', 'failing', 'failed']).describe('Its new state'),
    reason: z.string().nullable().describe('Why the last delivery failed; null if it succeeded'),
    failing_since: z
      .int()
      .nullable()
      .describe('First failure since the last success, in Unix seconds; null if it succeeded'),
    failures: z.int().describe('Failed deliveries since the last success'),
  })
  .meta({
    example: {
      callback_url: 'https://app.example.com/hooks/mail',
      state: 'failing',
      reason: 'the receiver answered 500',
      failing_since: SECONDS,
      failures: 12,
    },
  });

/** Metadata that clients gave an object. */
export const objectMetadata = z
  .record(z.string(), z.unknown())
  .meta({ example: { project: 'apollo' } });

const tracked = {
  message_id: id('The tracked message'),
  payload: z.string().describe('The `payload` of the request that sent the message'),
  sender_app_id: z.string().describe('Client id of the application that sent it'),
  timestamp: seconds('When it happened'),
  count: z.int().describe('How often it has happened'),
};
const visit = {
  id: z.int().describe('Number of the visit, from 0'),
  ip: z.string().describe('Address of the visitor'),
  user_agent: z.string().describe('Program of the visitor'),
  timestamp: seconds('When it happened'),
};
const trackedExample = {
  message_id: ID,
  payload: 'order-17',
  sender_app_id: '4k2c7tq0h5v9w1x8y3z6a0b4d',
  timestamp: SECONDS,
};
const visitExample = { id: 0, ip: '192.0.2.7', user_agent: 'Mail/1.0', timestamp: SECONDS };

/** The first opening of a message. */
export const openedMetadata = z
  .object({
    ...tracked,
    recents: z.array(z.object(visit)).describe('The last 50 openings, newest first'),
  })
  .meta({ example: { ...trackedExample, count: 1, recents: [visitExample] } });

/** A click on a link of a message. */
export const clickedMetadata = z
  .object({
    ...tracked,
    link_data: z
      .array(
        z.object({
          url: z.string().describe('Target of the link'),
          count: z.int().describe('How often it was clicked'),
        }),
      )
      .describe('The links of the message'),
    recents: z
      .array(z.object({ ...visit, link_index: z.int().describe('Position in `link_data`') }))
      .describe('The last 50 clicks, newest first'),
  })
  .meta({
    example: {
      ...trackedExample,
      count: 1,
      link_data: [{ url: 'https://example.com/', count: 1 }],
      recents: [{ ...visitExample, link_index: 0 }],
    },
  });

/** A report that a message did not arrive. */
export const bouncedMetadata = z
  .object({
    message_id: id('The message that bounced'),
    thread_id: id('Its thread'),
    report_message_id: id('The report'),
    timestamp: seconds('When the report arrived'),
    type: z.enum(['hard', 'soft']).describe('`soft`: it may arrive later'),
    code: z.string().nullable().describe('Enhanced status or SMTP code; null if unknown'),
    bounce_reason: z.string().describe('Text of the report'),
    bounced_addresses: z.array(z.string()).describe('Recipients who did not get the message'),
    recipients: z
      .array(z.record(z.string(), z.unknown()))
      .describe('`email`, `type`, `code`, `smtp_code` and `text` of each of them'),
  })
  .meta({
    example: {
      message_id: ID,
      thread_id: OTHER_ID,
      report_message_id: '019aa1b2-0000-7000-8000-000000000003',
      timestamp: SECONDS,
      type: 'hard',
      code: '5.1.1',
      bounce_reason: 'User unknown',
      bounced_addresses: ['bo@example.test'],
      recipients: [{ email: 'bo@example.test', type: 'hard', code: '5.1.1' }],
    },
  });

/** A reply to a tracked message. */
export const repliedMetadata = z
  .object({
    message_id: id('The reply'),
    reply_to_message_id: id('The tracked message'),
    thread_id: id('Their thread'),
    timestamp: seconds('When the reply was received'),
    from_self: z.boolean().describe('Whether the account itself wrote it'),
    payload: tracked.payload,
    sender_app_id: tracked.sender_app_id,
  })
  .meta({
    example: {
      message_id: OTHER_ID,
      reply_to_message_id: ID,
      thread_id: '019aa1b2-0000-7000-8000-000000000003',
      timestamp: SECONDS,
      from_self: false,
      payload: 'order-17',
      sender_app_id: '4k2c7tq0h5v9w1x8y3z6a0b4d',
    },
  });
