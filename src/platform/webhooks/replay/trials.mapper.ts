import { fromUnixSeconds, toUnixSeconds } from '../../base/time/unix-seconds.ts';
import type { ReplayRequest, ReplayResult } from './replay-events.ts';
import type { ReplayWebhook, WebhookReplayView, WebhookTestView } from './trials.schema.ts';
import type { TestResult } from './webhook-trials.ts';

export function toReplayRequest({ event_id: eventId, since, until }: ReplayWebhook): ReplayRequest {
  if (since != null)
    return {
      since: fromUnixSeconds(since),
      until: until == null ? null : fromUnixSeconds(until),
      undeliveredOnly: false,
    };
  return eventId == null ? { failed: true } : { eventId };
}

export function toWebhookReplayView(result: ReplayResult): WebhookReplayView {
  const { matched, queued, running, reachesBackTo } = result;
  return { matched, queued, running, reaches_back_to: toUnixSeconds(reachesBackTo) };
}

export function toWebhookTestView({ eventId, delivery }: TestResult): WebhookTestView {
  return {
    event_id: eventId,
    delivered: delivery?.delivered ?? null,
    http_status: delivery?.httpStatus ?? null,
    took_ms: delivery?.tookMs ?? null,
    detail: delivery?.detail ?? null,
  };
}
