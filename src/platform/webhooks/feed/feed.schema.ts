import { z } from 'zod';
import { integerLike, queryText } from '../../wire/wire.schema.ts';

const CURSOR = '3c-mi8zkq0x-1f0c9b2a7d3e';
const WEBHOOK = '019aa1b2-0000-7000-8000-000000000001';

const webhookId = () =>
  queryText()
    .describe('Whose events to read; a push webhook may be read, too')
    .meta({ example: WEBHOOK });
const cursor = () =>
  queryText()
    .optional()
    .describe(
      'A `cursor_end`, or the `cursor` of a delta. `0`: the oldest stored event. Without one, reading continues after the acknowledged position, or at the oldest stored event if nothing was acknowledged',
    );

/** Query of `GET /a/{client_id}/events`. */
export const feedQuery = z.object({
  webhook_id: webhookId(),
  cursor: cursor(),
  limit: integerLike({ min: 1, max: 1_000 }).default(100).describe('Most events to return'),
  timeout: integerLike({ min: 0, max: 1_800 })
    .default(0)
    .describe('Longest wait for an event in seconds; 0 does not wait'),
});
export type FeedQuery = z.infer<typeof feedQuery>;

/** Query of `GET /a/{client_id}/events/streaming`. */
export const feedStreamQuery = z.object({
  webhook_id: webhookId(),
  cursor: cursor(),
  timeout: integerLike({ min: 1, max: 86_400 })
    .default(1800)
    .describe('Seconds until the stream ends'),
});
export type FeedStreamQuery = z.infer<typeof feedStreamQuery>;

/** `POST /a/{client_id}/events/ack`. */
export const acknowledgeSchema = z
  .object({
    webhook_id: z.string().max(100).describe('Id of the webhook'),
    cursor: z
      .string()
      .max(255)
      .describe('A `cursor_end`, or the `cursor` of a delta: everything up to it is processed'),
    rewind: z
      .boolean()
      .nullish()
      .transform((rewind) => rewind ?? false)
      .describe(
        'True also stores an earlier position than the stored one. Default false: the position never goes back',
      ),
  })
  .meta({ id: 'AcknowledgeEvents', example: { webhook_id: WEBHOOK, cursor: '0', rewind: true } });
export type Acknowledge = z.infer<typeof acknowledgeSchema>;

export const acknowledgedView = z
  .object({
    webhook_id: z.string().describe('Id of the webhook'),
    cursor: z.string().describe('The stored position'),
    moved: z
      .boolean()
      .describe(
        'Whether this request stored it; false if the stored position was as late or later',
      ),
  })
  .meta({
    id: 'AcknowledgedEvents',
    example: { webhook_id: WEBHOOK, cursor: CURSOR, moved: true },
  });

/** How far the feed of a webhook is acknowledged. */
export const feedProgressFields = {
  cursor: z.string().nullable().describe('The acknowledged position; null if there is none'),
  acknowledged_at: z.number().int().nullable().describe('When it was acknowledged'),
  waiting: z.number().int().describe('Events after the position, counted up to 1,000'),
  waiting_is_more: z.boolean().describe('There may be more than `waiting`'),
};
const feedProgress = z.object(feedProgressFields);
export type FeedProgressView = z.infer<typeof feedProgress>;

const ACCOUNT = '019aa1b2-0000-7000-8000-00000000000a';
const JOB = '019aa1b2-0000-7000-8000-000000000004';

const eventDelta = z
  .looseObject({
    date: z.number().int().describe('Time of the event'),
    object: z.string(),
    type: z.string().describe('The trigger'),
    object_data: z.record(z.string(), z.unknown()).describe('What changed, and its account'),
    event_id: z.string().describe('Id of the event; it stays the same in every delivery'),
    sequence: z.number().int().describe('Number of the event; the numbers of an account increase'),
    previous_sequence: z
      .number()
      .int()
      .nullable()
      .describe('Number of the previous event of the account for this webhook'),
    cursor: z.string().describe('Continues after this event'),
  })
  .meta({
    id: 'EventDelta',
    example: {
      date: 1795255200,
      object: 'job_status',
      type: 'job.failed',
      object_data: {
        namespace_id: ACCOUNT,
        account_id: ACCOUNT,
        object: 'job_status',
        id: JOB,
        attributes: { action: 'new_outbox', job_status_id: JOB },
        metadata: null,
      },
      event_id: '019aa1b2-0000-7000-8000-000000000002',
      sequence: 120,
      previous_sequence: 107,
      cursor: CURSOR,
    },
  });

export const feedView = z
  .object({
    cursor_start: z.string(),
    cursor_end: z.string().describe('Cursor to continue from'),
    deltas: z.array(eventDelta),
    has_more: z
      .boolean()
      .describe('Whether there may be more now. A page may be empty although it is true'),
  })
  .meta({ id: 'EventFeed' });
export type FeedView = z.infer<typeof feedView>;

export const feedLines = z.unknown().meta({
  id: 'EventLines',
  description: 'Events as they occur, one line of JSON each, and an empty line every second',
});
