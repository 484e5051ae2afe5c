import { toMirrorView } from '../../accounts/account-management/accounts.mapper.ts';
import { toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { HandedOver } from '../../platform/changes/handed-over.ts';
import type { CompletenessView } from './completeness.schema.ts';
import type { CompleteCollection, CompleteDay, Completeness } from './completeness.service.ts';

type DayView = CompletenessView['days'][number];

export function toCompletenessView(proof: Completeness): CompletenessView {
  const { accountId, complete, reasons, audit, days, collections } = proof;
  return {
    account_id: accountId,
    complete,
    reasons,
    audit: toMirrorView(audit),
    days: days.map(toDayView),
    collections: collections.map(toCollectionView),
  };
}

function toDayView(proof: CompleteDay): DayView {
  const { day, complete, reasons, messages, changes, webhooks } = proof;
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
    changes: changes.map(({ object, created, updated, deleted, missing, missingIds }) => ({
      object,
      created,
      updated,
      deleted,
      missing,
      missing_ids: missingIds,
    })),
    deliveries: webhooks.map(toDeliveryView),
  };
}

function toDeliveryView(delivery: HandedOver): DayView['deliveries'][number] {
  const { expected, handedOver, waiting, dropped, withoutEvent, unaccounted } = delivery;
  return {
    webhook_id: delivery.webhookId,
    callback_url: delivery.callbackUrl,
    state: delivery.state,
    object: delivery.object,
    expected,
    handed_over: handedOver,
    waiting,
    missing: dropped + withoutEvent + unaccounted,
    dropped,
    without_event: withoutEvent,
    unaccounted,
    missing_event_ids: delivery.missingIds,
  };
}

function toCollectionView(found: CompleteCollection): CompletenessView['collections'][number] {
  const { object, complete, reasons, provider, unstored, mirror, missing, surplus } = found;
  return {
    object,
    calendar_id: found.calendarId,
    complete,
    reasons,
    audited_at: toUnixSecondsOrNull(found.auditedAt),
    provider,
    unstored,
    mirror,
    since_audit: found.sinceAudit,
    missing,
    missing_ids: found.missingIds,
    surplus,
    surplus_ids: found.surplusIds,
  };
}
