import { z } from 'zod';
import { pageQuery, viewQuery } from '../platform/wire/pagination.schema.ts';
import { listByView } from '../platform/wire/response-shapes.ts';
import { JOB_STATES, SEND_ROUTES } from './job-status.ts';

export const listJobStatusesQuery = z.object({
  ...pageQuery,
  view: viewQuery(['ids', 'count', 'expanded']),
});
export type ListJobStatusesQuery = z.infer<typeof listJobStatusesQuery>;
export const jobStatusQuery = z.object({ view: viewQuery(['expanded']) });

/** One attempt in the timeline of a job status. */
export const jobAttempt = z
  .object({
    attempt: z.number().int(),
    started_at: z.number().int(),
    ended_at: z.number().int(),
    outcome: z
      .enum(['sent', 'not-sent', 'unknown'])
      .describe('`sent` means that at least one recipient has accepted the message'),
    route: z
      .enum(SEND_ROUTES)
      .nullable()
      .describe(
        "The account's provider (`account`) or the mailing service (`relay`); null if sending did not begin",
      ),
    phase: z.string().nullable().describe('The step that the exchange with the provider reached'),
    code: z.string().nullable(),
    detail: z.string().nullable().describe('Error text of the provider'),
    next_at: z.number().int().nullable(),
    rule: z.string().nullable().describe('The retry rule that decided what to do next'),
  })
  .meta({ id: 'JobAttempt' });

/** A job status. */
export const jobStatus = z
  .object({
    job_status_id: z.string(),
    id: z.string().nullable().describe('The affected object'),
    account_id: z.string(),
    action: z.string(),
    object: z.string(),
    status: z.enum(JOB_STATES),
    reason: z.string().optional().describe('Present when delayed, failed or cancelled'),
    created_at: z.number().int(),
    send_at: z.number().int().optional(),
    original_send_at: z.number().int().optional(),
    message_id: z.string().nullable().optional(),
    thread_id: z.string().nullable().optional(),
    route: z
      .enum(SEND_ROUTES)
      .nullable()
      .optional()
      .describe(
        "The account's provider (`account`) or the mailing service (`relay`); null if the message was not sent yet",
      ),
    metadata: z.record(z.string(), z.unknown()).nullable(),
    original_data: z.record(z.string(), z.unknown()).optional(),
    recipients: z
      .object({
        accepted: z.array(z.string()),
        refused: z.array(z.object({ email: z.string(), reason: z.string() })),
      })
      .optional()
      .describe(
        'Only for messages, with view=expanded: recipients that have accepted the message, and recipients that have refused it permanently',
      ),
    attempts: z.array(jobAttempt).optional().describe('Only with view=expanded'),
  })
  .meta({
    id: 'JobStatus',
    example: {
      job_status_id: '019aa1b2-0000-7000-8000-000000000001',
      id: null,
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      action: 'new_outbox',
      object: 'message',
      status: 'failed',
      reason: 'retry limit datetime reached; last error: 450 4.2.1 try again later',
      created_at: 1_899_990_000,
      send_at: 1_900_000_000,
      original_send_at: 1_900_000_000,
      message_id: null,
      thread_id: null,
      metadata: null,
    },
  });
export type JobStatusView = z.infer<typeof jobStatus>;
/** Job statuses, or with `view` their ids or their number. */
export const jobStatuses = listByView(jobStatus);
