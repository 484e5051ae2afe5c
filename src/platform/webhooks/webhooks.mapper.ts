import { toUnixSeconds, toUnixSecondsOrNull } from '../base/time/unix-seconds.ts';
import type { StoredAttempt } from './delivery/delivery.repository.ts';
import type { Webhook } from './webhook.entity.ts';
import type {
  CreateWebhook,
  DeliveryView,
  UpdateWebhook,
  WebhooksView,
  WebhookView,
} from './webhooks.schema.ts';
import type { NewWebhook, WebhookChange, WebhookList } from './webhooks.service.ts';

export function toNewWebhook({ callback_url, triggers, state }: CreateWebhook): NewWebhook {
  return { callbackUrl: callback_url, triggers, state };
}

export function toWebhookChange({ state, callback_url, triggers }: UpdateWebhook): WebhookChange {
  return { state, callbackUrl: callback_url, triggers };
}

/** @param clientId the API identifies an application by its client id, as in the path */
export function toWebhookView(webhook: Webhook, clientId: string): WebhookView {
  const { id, callbackUrl, state, triggers } = webhook;
  return {
    id,
    application_id: clientId,
    callback_url: callbackUrl,
    state,
    triggers,
    version: '2.0',
  };
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
