import { toUnixSeconds, toUnixSecondsOrNull } from '../base/time/unix-seconds.ts';
import type { StoredAttempt } from './delivery/delivery.repository.ts';
import { filtersOf, shownFilters } from './webhook-filters.ts';
import type { FeedProgress } from './feed/feed-progress.ts';
import { toFeedProgressView } from './feed/feed.mapper.ts';
import type { Webhook } from './webhook.entity.ts';
import { toFilters } from './webhook-filters.schema.ts';
import type {
  CreateWebhook,
  DeliveryView,
  UpdateWebhook,
  WebhooksView,
  WebhookView,
} from './webhooks.schema.ts';
import type { NewWebhook, WebhookChange, WebhookList } from './webhooks.service.ts';

export function toNewWebhook(body: CreateWebhook): NewWebhook {
  const { callback_url: callbackUrl = null, triggers, state, content } = body;
  return { callbackUrl, triggers, state, filters: toFilters(body.filters), content };
}

export function toWebhookChange(body: UpdateWebhook): WebhookChange {
  const { state, delivery, callback_url: callbackUrl, triggers, content } = body;
  const filters = body.filters === undefined ? undefined : toFilters(body.filters);
  return { state, delivery, callbackUrl, triggers, filters, content: content ?? undefined };
}

/** @param clientId the API identifies an application by its client id, as in the path */
export function toWebhookView(webhook: Webhook, clientId: string): WebhookView {
  const { id, delivery, callbackUrl, state, triggers, content } = webhook;
  return {
    id,
    application_id: clientId,
    delivery,
    callback_url: callbackUrl ?? null,
    state,
    triggers,
    filters: shownFilters(filtersOf(webhook)),
    content,
    version: '2.0',
  };
}

/** A webhook with its progress; see `WebhooksService.getWithProgress`. */
export function toOneWebhookView(
  { webhook, progress }: { webhook: Webhook; progress: FeedProgress | null },
  clientId: string,
): WebhookView {
  const view = toWebhookView(webhook, clientId);
  return progress ? { ...view, feed: toFeedProgressView(progress) } : view;
}

export function toWebhooksView(list: WebhookList, clientId: string): WebhooksView {
  if ('count' in list) return list;
  return 'ids' in list
    ? list.ids
    : list.webhooks.map((webhook) => toWebhookView(webhook, clientId));
}

export function toDeliveryView(attempt: StoredAttempt): DeliveryView {
  return {
    id: attempt.id,
    event_id: attempt.eventId,
    account_id: attempt.accountId,
    deltas: attempt.deltas,
    first_sequence: attempt.firstSeq,
    last_sequence: attempt.lastSeq,
    trigger: attempt.trigger,
    attempt: attempt.attempt,
    started_at: toUnixSeconds(attempt.startedAt),
    took_ms: attempt.tookMs,
    http_status: attempt.httpStatus,
    outcome: attempt.outcome,
    detail: attempt.detail,
    next_attempt_at: toUnixSecondsOrNull(attempt.nextAt),
  };
}
