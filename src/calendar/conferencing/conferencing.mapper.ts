import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { ConferencingServiceView } from './conferencing.schema.ts';
import type { ServiceDescription } from './conferencing.service.ts';

export function toConferencingServiceView(service: ServiceDescription): ConferencingServiceView {
  return {
    id: service.id,
    provider: service.provider,
    kind: service.kind,
    settings: { ...service.settings },
    last_error: service.lastError,
    last_error_at: toUnixSecondsOrNull(service.lastErrorAt),
    created_at: toUnixSeconds(service.createdAt),
    updated_at: toUnixSeconds(service.updatedAt),
  };
}
