import type { SendRoute } from '../../job-statuses/job-status.ts';

/**
 * Kinds of jobs: `message` (outbox, direct sends, invitations), `write` (a change on its way to a
 * provider), `reminder`, and `sync` (the sync passes of one mailbox).
 */
export const JOB_KINDS = ['message', 'write', 'reminder', 'sync'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** States of all kinds of jobs. A `skipped` job is a reminder that came too late. */
export const JOB_STATE_NAMES = [
  'pending',
  'delayed',
  'successful',
  'failed',
  'cancelled',
  'skipped',
] as const;
export type JobStateName = (typeof JOB_STATE_NAMES)[number];

/**
 * What a search can ask for: a state, or one of these groups.
 *
 * - `open`: pending or delayed
 * - `late`: open, and more than a minute past its time
 * - `running`: claimed by a worker
 * - `unknown`: open, and an earlier attempt has an unknown outcome
 * - `quarantined`: workers died while they ran it, so it has failed, or is open and runs apart
 */
export const JOB_STATE_FILTERS = [
  'open',
  'late',
  'running',
  'unknown',
  'quarantined',
  ...JOB_STATE_NAMES,
] as const;
export type JobStateFilter = (typeof JOB_STATE_FILTERS)[number];

/** Which jobs to find. All conditions must hold; an empty filter finds all jobs. */
export interface JobFilter {
  id?: string | undefined;
  kind?: JobKind | undefined;
  state?: JobStateFilter | undefined;
  /** Id or email address of the account. */
  account?: string | undefined;
  /** Id or client id of the application. */
  application?: string | undefined;
  /** Email address, phone number or URL of a recipient; upper and lower case are equal. */
  recipient?: string | undefined;
  /** With or without angle brackets. */
  messageId?: string | undefined;
  /** Words of the subject, all of them, in any order and case. */
  subject?: string | undefined;
  /** Jobs that were accepted at or after this time. */
  since?: Date | undefined;
  /** Jobs that were accepted before this time. */
  until?: Date | undefined;
}

/** One job in a list. It has no content of mail but subject and recipients. */
export interface JobSummary {
  id: string;
  kind: JobKind;
  /** For example `new_outbox`, `update_event`, `email_reminder`, `sync_mailbox`. */
  action: string;
  state: JobStateName;
  reason: string | null;
  /** Whether it failed because workers died while they ran it. */
  quarantined: boolean;
  /** Whether a worker has claimed it. */
  running: boolean;
  /** Whether an open job has an attempt with an unknown outcome. */
  outcomeUnknown: boolean;
  /** Whether it waits for a new send time, because its account was moved to another mailbox. */
  onHold: boolean;
  accountId: string;
  accountEmail: string;
  applicationId: string;
  applicationName: string;
  subject: string | null;
  /** The first 20 recipients. */
  recipients: string[];
  recipientCount: number;
  messageIdHeader: string | null;
  /** Kind and id of the object that the job is about; `null` if there is none yet. */
  object: string | null;
  objectId: string | null;
  acceptedAt: Date;
  /** The promised time; `null` if the job is due when it is accepted. */
  dueAt: Date | null;
  /** When the next attempt is due; `null` if the job has ended or is running. */
  nextAt: Date | null;
  /** Attempts that were begun, look-ups included. */
  attempts: number;
  route: SendRoute | null;
}

/** What a line of a timeline is about. */
export const TIMELINE_KINDS = [
  'accepted',
  'edited',
  'attempt',
  'look-up',
  'claimed',
  'waiting',
  'copy',
  'webhook',
  'operator',
  'ended',
] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

/** One line of a timeline. */
export interface TimelineEntry {
  kind: TimelineKind;
  /** `null` if it was not recorded. */
  at: Date | null;
  /** What happened, as a sentence. */
  text: string;
  /** What the provider or the receiver answered, word for word; `null` if nothing was answered. */
  said: string | null;
  /** For attempts and look-ups; absent otherwise. */
  attempt?: JobAttemptInfo;
}

/** One attempt, as the timeline of the job status has it. */
export interface JobAttemptInfo {
  number: number;
  startedAt: Date;
  endedAt: Date;
  outcome: 'sent' | 'not-sent' | 'unknown';
  route: SendRoute | null;
  /** How far it got: connect, login, envelope, content, confirmation. */
  phase: string | null;
  code: string | null;
  /** Host, port and protocol of the server that was asked; `null` if none was. */
  server: string | null;
  /** The rule that decided what follows. */
  rule: string | null;
  nextAt: Date | null;
}

/** One job with everything that is known of it. */
export interface JobDetails extends JobSummary {
  /** No attempt is made after this time; `null` if the kind has no such limit. */
  retryLimitAt: Date | null;
  /** Recipients that have accepted the message, and those that refused it for good. */
  accepted: string[];
  refused: { email: string; reason: string }[];
  /** The worker that has claimed it; `null` if none has. */
  worker: { id: number; seenAt: Date | null } | null;
  /** Set while the account's circuit breaker lets nothing through. */
  accountClosed: { until: Date; reason: string | null } | null;
  /** Oldest first. */
  timeline: TimelineEntry[];
  /** Actions that would change the job now. */
  allowed: AllowedAction[];
}

/** What an operator can do with one job or with many. */
export const JOB_ACTION_NAMES = ['retry', 'cancel', 'release'] as const;
export type JobActionName = (typeof JOB_ACTION_NAMES)[number];

/** What an operator can do with one job. `settle` needs a finding about each message. */
export const ALLOWED_ACTIONS = [...JOB_ACTION_NAMES, 'settle'] as const;
export type AllowedAction = (typeof ALLOWED_ACTIONS)[number];

/** What an operator found out about a message whose outcome is unknown. */
export const SETTLED_OUTCOMES = ['sent', 'not-sent'] as const;
export type SettledOutcome = (typeof SETTLED_OUTCOMES)[number];

/** Result of one action on many objects. */
export interface BulkResult<T> {
  /** Number of objects that match the filter. */
  matched: number;
  /** Number of objects that were changed; in a dry run, that would be changed. */
  changed: number;
  /** The others, counted by why they were left alone. */
  skipped: { reason: string; count: number }[];
  /** Some of those that were (or would be) changed. */
  sample: T[];
  dryRun: boolean;
  /** Set if more objects match than one call handles: call again with it. */
  nextPageToken: string | null;
}

/** A message as the console shows it. Addresses in it may lead anywhere: show it in a sandbox. */
export interface MessagePreview {
  id: string;
  subject: string;
  from: string[];
  to: string[];
  cc: string[];
  /** HTML, as its sender wrote it: not cleaned. */
  html: string;
  /** Header block. */
  headers: string | null;
  attachments: { filename: string; contentType: string }[];
  bytes: number;
}
