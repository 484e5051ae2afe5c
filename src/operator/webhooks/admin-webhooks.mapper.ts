import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { PageOf, TokenPage } from '../../platform/database/page-token.ts';
import { filtersOf, shownFilters } from '../../platform/webhooks/webhook-filters.ts';
import { toFeedProgressView } from '../../platform/webhooks/feed/feed.mapper.ts';
import type {
  ListAttemptsQuery,
  ListOperatorWebhooksQuery,
  OperatorAttemptView,
  OperatorWebhookDetailsView,
  OperatorWebhookView,
  ReplayInput,
  ReplayResultView,
} from './admin-webhooks.schema.ts';
import type { ReplayRequest, ReplayResult } from '../../platform/webhooks/replay/replay-events.ts';
import type { Replay } from './operator-webhooks.ts';
import type {
  AttemptFilter,
  WebhookAttemptInfo,
  WebhookDetails,
  WebhookFilter,
  WebhookSummary,
} from './webhook-types.ts';

export function toWebhookQuery({
  limit,
  page_token: pageToken,
  ...filter
}: ListOperatorWebhooksQuery): { filter: WebhookFilter; page: TokenPage } {
  return { filter, page: { limit, pageToken } };
}

export function toAttemptQuery({
  limit,
  page_token: pageToken,
  event_id: eventId,
  ...filter
}: ListAttemptsQuery): { filter: AttemptFilter; page: TokenPage } {
  return { filter: { ...filter, eventId }, page: { limit, pageToken } };
}

export function toReplay(input: ReplayInput): Replay {
  return { which: whichOf(input), dryRun: input.dry_run };
}

function whichOf({
  event_id: eventId,
  since,
  until,
  undelivered_only: undeliveredOnly,
}: ReplayInput): ReplayRequest {
  if (since) return { since, until: until ?? null, undeliveredOnly };
  return eventId === undefined ? { failed: true } : { eventId };
}

export function toOperatorWebhookView(webhook: WebhookSummary): OperatorWebhookView {
  return {
    id: webhook.id,
    application_id: webhook.applicationId,
    client_id: webhook.clientId,
    application_name: webhook.applicationName,
    delivery: webhook.delivery,
    callback_url: webhook.callbackUrl,
    state: webhook.state,
    paused: webhook.paused,
    triggers: webhook.triggers,
    filters: shownFilters(filtersOf(webhook)),
    content: webhook.content,
    failing_since: toUnixSecondsOrNull(webhook.failingSince),
    failures: webhook.failures,
    last_failure: webhook.lastFailure,
    backlog: webhook.backlog,
    backlog_is_more: webhook.backlogIsMore,
    oldest_due_at: toUnixSecondsOrNull(webhook.oldestDueAt),
    created_at: toUnixSeconds(webhook.createdAt),
  };
}

export function toOperatorWebhooksView({ items, nextPageToken }: PageOf<WebhookSummary>) {
  return { items: items.map(toOperatorWebhookView), next_page_token: nextPageToken };
}

export function toWebhookDetailsView(webhook: WebhookDetails): OperatorWebhookDetailsView {
  return {
    ...toOperatorWebhookView(webhook),
    subscribed_at: toUnixSeconds(webhook.subscribedAt),
    last_hour: webhook.lastHour,
    last_delivered_at: toUnixSecondsOrNull(webhook.lastDeliveredAt),
    replayable_since: toUnixSeconds(webhook.replayableSince),
    feed: toFeedProgressView(webhook.feed),
  };
}

export function toAttemptView(attempt: WebhookAttemptInfo): OperatorAttemptView {
  return {
    id: attempt.id,
    event_id: attempt.eventId,
    account_id: attempt.accountId,
    deltas: attempt.deltas,
    first_sequence: attempt.firstSequence,
    last_sequence: attempt.lastSequence,
    trigger: attempt.trigger,
    attempt: attempt.attempt,
    started_at: toUnixSeconds(attempt.startedAt),
    took_ms: attempt.tookMs,
    http_status: attempt.httpStatus,
    outcome: attempt.outcome,
    detail: attempt.detail,
    response: attempt.response,
    next_attempt_at: toUnixSecondsOrNull(attempt.nextAt),
  };
}

export function toAttemptsView({ items, nextPageToken }: PageOf<WebhookAttemptInfo>) {
  return { items: items.map(toAttemptView), next_page_token: nextPageToken };
}

export function toReplayView({ reachesBackTo, dryRun, ...counts }: ReplayResult): ReplayResultView {
  return { ...counts, reaches_back_to: toUnixSeconds(reachesBackTo), dry_run: dryRun };
}
