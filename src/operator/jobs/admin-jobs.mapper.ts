import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { PageOf, TokenPage } from '../../platform/database/page-token.ts';
import type {
  ActOnJobs,
  BulkJobsView,
  JobFilterInput,
  ListJobsQuery,
  MessagePreviewView,
  OperatorJobDetailsView,
  OperatorJobView,
} from './admin-jobs.schema.ts';
import type { BulkAction } from './operator-jobs.ts';
import type {
  BulkResult,
  JobActionName,
  JobDetails,
  JobFilter,
  JobSummary,
  MessagePreview,
  TimelineEntry,
} from './job-types.ts';

function toFilter({ message_id: messageId, ...rest }: JobFilterInput): JobFilter {
  return { ...rest, messageId };
}

export function toJobQuery({ limit, page_token: pageToken, ...filter }: ListJobsQuery): {
  filter: JobFilter;
  page: TokenPage;
} {
  return { filter: toFilter(filter), page: { limit, pageToken } };
}

export function toBulkAction(action: JobActionName, body: ActOnJobs): BulkAction {
  const { filter, dry_run: dryRun, reason, page_token: pageToken } = body;
  return { action, filter: toFilter(filter), dryRun, reason, pageToken };
}

export function toJobView(job: JobSummary): OperatorJobView {
  return {
    id: job.id,
    kind: job.kind,
    action: job.action,
    state: job.state,
    reason: job.reason,
    quarantined: job.quarantined,
    running: job.running,
    outcome_unknown: job.outcomeUnknown,
    on_hold: job.onHold,
    account_id: job.accountId,
    account_email: job.accountEmail,
    application_id: job.applicationId,
    application_name: job.applicationName,
    subject: job.subject,
    recipients: job.recipients,
    recipient_count: job.recipientCount,
    message_id_header: job.messageIdHeader,
    object: job.object,
    object_id: job.objectId,
    accepted_at: toUnixSeconds(job.acceptedAt),
    due_at: toUnixSecondsOrNull(job.dueAt),
    next_at: toUnixSecondsOrNull(job.nextAt),
    attempts: job.attempts,
    route: job.route,
  };
}

export function toJobsView({ items, nextPageToken }: PageOf<JobSummary>) {
  return { items: items.map(toJobView), next_page_token: nextPageToken };
}

function toEntryView({ kind, at, text, said, attempt }: TimelineEntry) {
  return {
    kind,
    at: toUnixSecondsOrNull(at),
    text,
    said,
    ...(attempt
      ? {
          attempt: {
            number: attempt.number,
            started_at: toUnixSeconds(attempt.startedAt),
            ended_at: toUnixSeconds(attempt.endedAt),
            outcome: attempt.outcome,
            route: attempt.route,
            phase: attempt.phase,
            code: attempt.code,
            server: attempt.server,
            rule: attempt.rule,
            next_at: toUnixSecondsOrNull(attempt.nextAt),
          },
        }
      : {}),
  };
}

export function toJobDetailsView(job: JobDetails): OperatorJobDetailsView {
  const { worker, accountClosed } = job;
  return {
    ...toJobView(job),
    retry_limit_at: toUnixSecondsOrNull(job.retryLimitAt),
    accepted: job.accepted,
    refused: job.refused,
    worker: worker && { id: worker.id, seen_at: toUnixSecondsOrNull(worker.seenAt) },
    account_closed: accountClosed && {
      until: toUnixSeconds(accountClosed.until),
      reason: accountClosed.reason,
    },
    timeline: job.timeline.map(toEntryView),
    allowed: job.allowed,
  };
}

export function toBulkView(result: BulkResult<JobSummary>): BulkJobsView {
  const { dryRun, nextPageToken, sample, ...rest } = result;
  return {
    ...rest,
    sample: sample.map(toJobView),
    dry_run: dryRun,
    next_page_token: nextPageToken,
  };
}

export function toPreviewView({ attachments, ...preview }: MessagePreview): MessagePreviewView {
  const named = attachments.map(({ filename, contentType }) => ({
    filename,
    content_type: contentType,
  }));
  return { ...preview, attachments: named };
}
