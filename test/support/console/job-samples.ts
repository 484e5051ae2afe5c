import type {
  BulkResult,
  JobDetails,
  JobSummary,
  MessagePreview,
} from '../../../src/operator/jobs/job-types.ts';
import type {
  WebhookAttemptInfo,
  WebhookDetails,
} from '../../../src/operator/webhooks/webhook-types.ts';

/** Changes every text that others wrote. */
export type Text = (words: string) => string;

const ID = '019aa1b2-0000-7000-8000-0000000000';
const ago = (now: Date, minutes: number): Date => new Date(now.getTime() - minutes * 60_000);

function summary(now: Date, text: Text, number: number): JobSummary {
  return {
    id: `${ID}${10 + number}`,
    kind: 'message',
    action: 'new_outbox',
    state: 'successful',
    reason: null,
    quarantined: false,
    running: false,
    outcomeUnknown: false,
    onHold: false,
    accountId: `${ID}01`,
    accountEmail: text('ada@example.com'),
    applicationId: `${ID}02`,
    applicationName: text('Front desk'),
    subject: text('Your appointment on Thursday'),
    recipients: [text('grace@example.org')],
    recipientCount: 1,
    messageIdHeader: text('<5f2c@example.com>'),
    object: 'message',
    objectId: `${ID}03`,
    acceptedAt: ago(now, 3 * number + 5),
    dueAt: ago(now, 3 * number + 1),
    nextAt: null,
    attempts: 1,
    route: 'account',
  };
}

/** One job in each state. */
export function jobSamples(now: Date, text: Text): JobSummary[] {
  const changes: Partial<JobSummary>[] = [
    { state: 'failed', reason: text('550 5.1.1 No such user'), attempts: 3 },
    {
      state: 'failed',
      quarantined: true,
      reason: 'two workers died while they sent it',
      attempts: 2,
    },
    {
      state: 'delayed',
      reason: text('421 4.7.0 Try again later'),
      nextAt: ago(now, -12),
      attempts: 4,
      subject: text('Invoice 2026-118'),
    },
    {
      state: 'pending',
      outcomeUnknown: true,
      attempts: 1,
      subject: text('Minutes of the meeting'),
    },
    {
      state: 'pending',
      dueAt: ago(now, -2_880),
      attempts: 0,
      subject: text('Happy birthday'),
      recipientCount: 41,
      recipients: [text('team@example.org'), text('office@example.org')],
    },
    {
      state: 'pending',
      running: true,
      kind: 'write',
      action: 'update_event',
      subject: null,
      recipients: [],
      recipientCount: 0,
      route: null,
    },
    { state: 'successful' },
    { state: 'cancelled', attempts: 0 },
  ];
  return changes.map((change, index) => ({ ...summary(now, text, index), ...change }));
}

/** A message that waits for its third attempt. */
export function jobDetailsSample(now: Date, text: Text): JobDetails {
  const attempt = (number: number, outcome: 'not-sent' | 'unknown', minutes: number) => ({
    number,
    startedAt: ago(now, minutes),
    endedAt: new Date(ago(now, minutes).getTime() + 1_240),
    outcome,
    route: 'account' as const,
    phase: outcome === 'unknown' ? 'confirmation' : 'connect',
    server: text('mail.acme.example:587 (SMTP)'),
    code: text(outcome === 'unknown' ? 'outcome-unknown' : 'unavailable'),
    rule: outcome === 'unknown' ? 'look-up' : 'backoff',
    nextAt: outcome === 'unknown' ? null : ago(now, -12),
  });
  return {
    ...(jobSamples(now, text)[2] as JobSummary),
    retryLimitAt: ago(now, -60 * 24),
    accepted: [text('office@example.org')],
    refused: [{ email: text('grace@example.org'), reason: text('550 5.1.1 No such user') }],
    worker: null,
    accountClosed: { until: ago(now, -4), reason: text('421 4.7.0 Try again later') },
    allowed: ['retry', 'cancel'],
    timeline: [
      {
        kind: 'accepted',
        at: ago(now, 14),
        text: 'Accepted, due at 2026-11-24T03:30:00.000Z.',
        said: null,
      },
      {
        kind: 'attempt',
        at: ago(now, 10),
        text: 'Attempt 1 ended.',
        said: text('The connection closed before the server confirmed'),
        attempt: attempt(1, 'unknown', 10),
      },
      {
        kind: 'look-up',
        at: ago(now, 9),
        text: 'Looked up in the mailbox: the message is not there.',
        said: null,
      },
      {
        kind: 'attempt',
        at: ago(now, 8),
        text: 'Attempt 2 ended.',
        said: text('421 4.7.0 mx1.example.org: too many connections, try again later'),
        attempt: attempt(2, 'not-sent', 8),
      },
      {
        kind: 'webhook',
        at: ago(now, 8),
        text: 'The webhook job.delayed was delivered.',
        said: null,
      },
      { kind: 'operator', at: ago(now, 2), text: text('ada retried it.'), said: null },
      { kind: 'waiting', at: null, text: 'Waiting until 2026-11-24T03:52:00.000Z.', said: null },
    ],
  };
}

/** What an action would do. */
export function bulkSample(now: Date, text: Text): BulkResult<JobSummary> {
  return {
    matched: 1_240,
    changed: 1_180,
    skipped: [
      { reason: text('already sent'), count: 42 },
      { reason: 'a worker is running it', count: 18 },
    ],
    sample: jobSamples(now, text).slice(2, 5),
    dryRun: true,
    nextPageToken: null,
  };
}

export function messageSample(text: Text): MessagePreview {
  return {
    id: `${ID}10`,
    subject: text('Your appointment on Thursday'),
    from: [text('Ada <ada@example.com>')],
    to: [text('grace@example.org')],
    cc: [],
    html: '<p>Dear Grace,</p>',
    headers: text('Subject: Your appointment'),
    attachments: [{ filename: text('directions.pdf'), contentType: text('application/pdf') }],
    bytes: 4_211,
  };
}

/** A webhook whose receiver answers with errors. */
export function webhookSample(now: Date, text: Text): WebhookDetails {
  return {
    id: `${ID}30`,
    applicationId: `${ID}02`,
    clientId: text('front-desk'),
    applicationName: text('Front desk'),
    delivery: 'push',
    callbackUrl: text('https://hooks.example.com/carillon'),
    state: 'failing',
    paused: false,
    triggers: ['job.successful', 'job.failed', 'message.bounced'],
    filterDomains: ['example.com'],
    content: 'summary',
    failingSince: ago(now, 190),
    failures: 212,
    lastFailure: text('status 503'),
    backlog: 230,
    backlogIsMore: false,
    oldestDueAt: ago(now, 190),
    createdAt: ago(now, 60_000),
    subscribedAt: ago(now, 60_000),
    lastHour: { delivered: 0, retry: 74, dropped: 2 },
    lastDeliveredAt: ago(now, 191),
    replayableSince: ago(now, 60 * 24 * 3),
    feed: { position: null, acknowledgedAt: null, waiting: 3, waitingIsMore: false },
  };
}

export function attemptSamples(now: Date, text: Text): WebhookAttemptInfo[] {
  const one: WebhookAttemptInfo = {
    id: `${ID}31`,
    eventId: text('evt_019aa1b2c3d4'),
    accountId: `${ID}32`,
    firstSequence: 4711,
    lastSequence: 4722,
    deltas: 12,
    trigger: 'job.failed',
    attempt: 4,
    startedAt: ago(now, 2),
    tookMs: 310,
    httpStatus: 503,
    outcome: 'retry',
    detail: text('The receiver answered with status 503'),
    response: text('{"error":"database is in maintenance"}'),
    nextAt: ago(now, -30),
  };
  return [
    one,
    {
      ...one,
      id: `${ID}32`,
      outcome: 'dropped',
      httpStatus: null,
      detail: 'The connection timed out',
      response: null,
      nextAt: null,
      tookMs: 10_000,
      startedAt: ago(now, 44),
    },
    {
      ...one,
      id: `${ID}33`,
      outcome: 'delivered',
      httpStatus: 200,
      detail: null,
      response: text('ok'),
      nextAt: null,
      tookMs: 84,
      startedAt: ago(now, 191),
      attempt: 1,
    },
  ];
}
