import { toMirrorView } from '../../accounts/account-management/accounts.mapper.ts';
import { toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { HandedOver } from '../../platform/webhooks/delivery/handed-over.ts';
import type { CompletenessView } from './completeness.schema.ts';
import type { CompleteDay, Completeness } from './completeness.service.ts';

type DayView = CompletenessView['days'][number];

export function toCompletenessView(proof: Completeness): CompletenessView {
  const { accountId, complete, reasons, audit, days } = proof;
  return {
    account_id: accountId,
    complete,
    reasons,
    audit: toMirrorView(audit),
    days: days.map(toDayView),
  };
}

function toDayView({ day, complete, reasons, messages, webhooks }: CompleteDay): DayView {
  return {
    day,
    complete,
    reasons,
    messages: {
      audited_at: toUnixSecondsOrNull(messages.auditedAt),
      provider: messages.provider,
      mirror: messages.mirror,
      since_audit: messages.sinceAudit,
      missing: messages.missing,
      missing_ids: messages.missingIds,
      surplus: messages.surplus,
      surplus_ids: messages.surplusIds,
      expected_events: messages.expected,
      without_event: messages.withoutEvent,
      without_event_ids: messages.withoutEventIds,
    },
    deliveries: webhooks.map(toDeliveryView),
  };
}

function toDeliveryView(delivery: HandedOver): DayView['deliveries'][number] {
  const { webhookId, callbackUrl, state, kind, wanted, waiting, dropped, unaccounted } = delivery;
  return {
    webhook_id: webhookId,
    callback_url: callbackUrl,
    state,
    kind,
    wanted,
    handed_over: delivery.handedOver,
    waiting,
    dropped,
    unaccounted,
    lost_event_ids: delivery.lostIds,
  };
}
