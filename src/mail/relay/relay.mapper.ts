import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { RelayKind, SenderStatus } from '../../providers/port/mail/relay.ts';
import type { RelayView, VerifiedStatusView } from './relay.schema.ts';
import type { RelayDescription } from './relay.service.ts';

export function toRelayView(relay: RelayDescription): RelayView {
  return {
    kind: relay.kind as RelayKind,
    settings: { ...relay.settings },
    last_error: relay.lastError,
    last_error_at: toUnixSecondsOrNull(relay.lastErrorAt),
    created_at: toUnixSeconds(relay.createdAt),
    updated_at: toUnixSeconds(relay.updatedAt),
  };
}

export function toVerifiedStatusView({
  domainVerified,
  senderVerified,
}: Pick<SenderStatus, 'domainVerified' | 'senderVerified'>): VerifiedStatusView {
  return { results: { domain_verified: domainVerified, sender_verified: senderVerified } };
}
