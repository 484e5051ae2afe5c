import { z } from 'zod';
import { SEND_ROUTES } from '../../job-statuses/job-status.ts';
import { inOrder } from '../../platform/wire/wire.schema.ts';
import { filterText, instant, listOf, tokenPageQuery } from '../search/list.schema.ts';
import {
  ALLOWED_ACTIONS,
  JOB_KINDS,
  JOB_STATE_FILTERS,
  JOB_STATE_NAMES,
  SETTLED_OUTCOMES,
  TIMELINE_KINDS,
} from './job-types.ts';

const filter = {
  id: filterText(100).optional().describe('Id of the job'),
  kind: z
    .enum(JOB_KINDS)
    .optional()
    .describe('`sync` jobs, one for each mailbox, are listed only if they are asked for'),
  state: z
    .enum(JOB_STATE_FILTERS)
    .optional()
    .describe(
      '`open`: pending or delayed; `late`: open and more than a minute past its time; `running`: claimed by a worker; `unknown`: open, and an attempt has an unknown outcome; `quarantined`: workers died while they ran it, so it has failed, or is open and runs apart',
    ),
  account: filterText(400).optional().describe('Id or email address of the account'),
  application: filterText(100).optional().describe('Id or client id of the application'),
  recipient: filterText(2_000)
    .optional()
    .describe(
      'Email address, phone number or URL of a recipient, whole; upper and lower case are equal',
    ),
  message_id: filterText(1_000).optional().describe('Message-ID, with or without angle brackets'),
  subject: filterText(500)
    .optional()
    .describe('Words of the subject, whole words, all of them, in any order and case'),
  since: instant().optional().describe('Accepted at or after this time'),
  until: instant().optional().describe('Accepted before this time'),
};

/** `GET /admin/jobs`. */
export const listJobsQuery = inOrder(z.object({ ...filter, ...tokenPageQuery }), [
  'since',
  'until',
]);
export type ListJobsQuery = z.infer<typeof listJobsQuery>;

const jobFilter = inOrder(z.strictObject(filter), ['since', 'until']).meta({
  id: 'JobFilter',
  example: { state: 'delayed' },
});
export type JobFilterInput = z.infer<typeof jobFilter>;

const reason = z
  .string()
  .trim()
  .max(300)
  .nullish()
  .describe('Your words for the audit log; users see them in the reason of a cancellation')
  .meta({ example: 'The provider is back' });

/** `POST /admin/jobs/{id}/retry` and the like. */
export const actOnJobSchema = z
  .object({ reason })
  .meta({ id: 'ActOnJob', example: { reason: 'The provider is back' } });
export type ActOnJob = z.infer<typeof actOnJobSchema>;

/** `POST /admin/jobs/{id}/settle`. */
export const settleJobSchema = z
  .object({
    outcome: z
      .enum(SETTLED_OUTCOMES)
      .describe('`sent`: everybody has the message, except recipients who refused it'),
    reason: z
      .string()
      .trim()
      .min(1)
      .max(300)
      .describe('How you found out; users see it in the timeline')
      .meta({ example: 'The log of the mail server lists it' }),
  })
  .meta({
    id: 'SettleJob',
    example: { outcome: 'sent', reason: 'The log of the mail server lists it' },
  });
export type SettleJob = z.infer<typeof settleJobSchema>;

/** `POST /admin/jobs/retry` and the like. */
export const actOnJobsSchema = z
  .object({
    filter: jobFilter.describe('Which jobs, as in the list; at least one condition'),
    dry_run: z
      .boolean()
      .default(true)
      .describe('True, the default, changes nothing and says what would be changed'),
    reason,
    page_token: z
      .string()
      .max(1_000)
      .optional()
      .describe('`next_page_token` of the call before, to go on with the next 5,000 jobs')
      .meta({ example: 'WyIwMTlhYTFiMi0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDEiXQ' }),
  })
  .meta({
    id: 'ActOnJobs',
    example: { filter: { state: 'delayed', account: 'ada@sandbox.test' }, dry_run: true },
  });
export type ActOnJobs = z.infer<typeof actOnJobsSchema>;

const jobFields = {
  id: z.string(),
  kind: z.enum(JOB_KINDS).describe('What the job does: the kind of its queue row'),
  action: z.string().describe('Such as `new_outbox`, `update_event`, `email_reminder`'),
  state: z.enum(JOB_STATE_NAMES),
  reason: z.string().nullable().describe('Why it is delayed, failed, cancelled or skipped'),
  quarantined: z.boolean().describe('Failed because workers died while they ran it'),
  running: z.boolean().describe('A worker has claimed it'),
  outcome_unknown: z.boolean().describe('Open, and an attempt has an unknown outcome'),
  on_hold: z
    .boolean()
    .describe('Its account was moved to another mailbox, and it waits for a new send time'),
  account_id: z.string(),
  account_email: z.string().describe('Email address of the account'),
  application_id: z.string(),
  application_name: z.string(),
  subject: z.string().nullable(),
  recipients: z.array(z.string()).describe('The first 20'),
  recipient_count: z.number().int().describe('Number of all recipients; 0 if nothing is sent'),
  message_id_header: z
    .string()
    .nullable()
    .describe('Message-ID of the email that the job sends; null if it sends none'),
  object: z.string().nullable().describe('Kind of the object that it is about'),
  object_id: z.string().nullable().describe('Id of that object; null while there is none'),
  accepted_at: z
    .number()
    .int()
    .describe(
      'When the job was accepted, in Unix seconds; for `sync`, the last authentication of the account',
    ),
  due_at: z.number().int().nullable().describe('The promised time'),
  next_at: z
    .number()
    .int()
    .nullable()
    .describe('When the next attempt is due; null if it has ended or is running'),
  attempts: z.number().int().describe('Attempts that were begun, look-ups included'),
  route: z.enum(SEND_ROUTES).nullable(),
};

const EXAMPLE = {
  id: '019aa1b2-0000-7000-8000-000000000001',
  kind: 'message' as const,
  action: 'new_outbox',
  state: 'delayed' as const,
  reason: 'could not be sent yet: 451 4.3.0 Try again later',
  quarantined: false,
  running: false,
  outcome_unknown: false,
  on_hold: false,
  account_id: '019aa1b2-0000-7000-8000-000000000002',
  account_email: 'ann@example.test',
  application_id: '019aa1b2-0000-7000-8000-000000000003',
  application_name: 'Shop',
  subject: 'Your invoice',
  recipients: ['bo@example.test'],
  recipient_count: 1,
  message_id_header: '<019aa1b2-0000-7000-8000-000000000001@mail.example.test>',
  object: 'message',
  object_id: null,
  accepted_at: 1_899_990_000,
  due_at: 1_900_000_000,
  next_at: 1_900_000_030,
  attempts: 1,
  route: null,
};

export const operatorJob = z.object(jobFields).meta({ id: 'OperatorJob', example: EXAMPLE });
export type OperatorJobView = z.infer<typeof operatorJob>;

export const operatorJobs = listOf(operatorJob).meta({ id: 'OperatorJobs' });

const attempt = z.object({
  number: z.number().int(),
  started_at: z.number().int(),
  ended_at: z.number().int(),
  outcome: z.enum(['sent', 'not-sent', 'unknown']),
  route: z.enum(SEND_ROUTES).nullable(),
  phase: z
    .string()
    .nullable()
    .describe('How far it got: connect, login, envelope, content, confirmation'),
  code: z.string().nullable(),
  server: z
    .string()
    .nullable()
    .describe('Host, port and protocol of the server that was asked; null if none was'),
  rule: z.string().nullable().describe('The rule that decided what follows'),
  next_at: z.number().int().nullable(),
});

const timelineEntry = z
  .object({
    kind: z.enum(TIMELINE_KINDS).describe('Kind of the line'),
    at: z.number().int().nullable().describe('Null for what is true now'),
    text: z.string().describe('The line in words'),
    said: z
      .string()
      .nullable()
      .describe('What the provider or the receiver answered, word for word'),
    attempt: attempt.optional().describe('For attempts and look-ups'),
  })
  .meta({ id: 'JobTimelineEntry' });

/** `GET /admin/jobs/{id}`. */
export const operatorJobDetails = z
  .object({
    ...jobFields,
    retry_limit_at: z.number().int().nullable().describe('No attempt is made after this time'),
    accepted: z.array(z.string()).describe('Recipients that accepted it while others did not'),
    refused: z.array(z.object({ email: z.string(), reason: z.string() })),
    worker: z
      .object({
        id: z.number().int(),
        seen_at: z
          .number()
          .int()
          .nullable()
          .describe('Last heartbeat of the worker, in Unix seconds; null if unknown'),
      })
      .nullable()
      .describe('The worker that has claimed it, and when it was last heard of'),
    account_closed: z
      .object({
        until: z.number().int().describe('No message is sent before this time, in Unix seconds'),
        reason: z.string().nullable(),
      })
      .nullable()
      .describe("Set while the account's circuit breaker lets nothing through"),
    timeline: z.array(timelineEntry).describe('Oldest first'),
    allowed: z.array(z.enum(ALLOWED_ACTIONS)).describe('Actions that would change it now'),
  })
  .meta({
    id: 'OperatorJobDetails',
    example: {
      ...EXAMPLE,
      retry_limit_at: 1_900_086_400,
      accepted: [],
      refused: [],
      worker: null,
      account_closed: null,
      timeline: [{ kind: 'accepted', at: 1_899_990_000, text: 'Accepted.', said: null }],
      allowed: ['retry', 'cancel'],
    },
  });
export type OperatorJobDetailsView = z.infer<typeof operatorJobDetails>;

/** Result of an action on all jobs that match. */
export const bulkJobs = z
  .object({
    matched: z.number().int().describe('Matching jobs that this call handled, at most 5,000'),
    changed: z.number().int().describe('In a dry run: would be changed'),
    skipped: z
      .array(z.object({ reason: z.string(), count: z.number().int() }))
      .describe('Jobs that were left alone, counted by reason; the most frequent reason first'),
    sample: z.array(operatorJob).describe('Some of those that were, or would be, changed'),
    dry_run: z.boolean().describe('Whether nothing was changed'),
    next_page_token: z
      .string()
      .nullable()
      .describe('Set if more than 5,000 jobs match: call again with it'),
  })
  .meta({
    id: 'BulkJobs',
    example: {
      matched: 12,
      changed: 11,
      skipped: [{ reason: 'a worker is running it at this moment', count: 1 }],
      sample: [EXAMPLE],
      dry_run: true,
      next_page_token: null,
    },
  });
export type BulkJobsView = z.infer<typeof bulkJobs>;

/** `GET /admin/jobs/{id}/preview`. */
export const messagePreview = z
  .object({
    id: z.string(),
    subject: z.string(),
    from: z.array(z.string()),
    to: z.array(z.string()),
    cc: z.array(z.string()),
    html: z
      .string()
      .describe('As the sender wrote it, not cleaned: show it in a sandbox without scripts'),
    headers: z.string().nullable().describe('Header block; null if it could not be read'),
    attachments: z
      .array(z.object({ filename: z.string(), content_type: z.string() }))
      .describe('Names and types of its files, inline ones included'),
    bytes: z.number().int().describe('Size of the whole message in bytes'),
  })
  .meta({
    id: 'MessagePreview',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      subject: 'Your invoice',
      from: ['Ann <ann@example.test>'],
      to: ['bo@example.test'],
      cc: [],
      html: '<p>Hello Bo</p>',
      headers: 'Subject: Your invoice',
      attachments: [],
      bytes: 1_843,
    },
  });
export type MessagePreviewView = z.infer<typeof messagePreview>;
