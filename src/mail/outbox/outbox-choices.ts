import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { OnMissed, OnUnknown, OutboxChoices } from './outbox-content.ts';

/** Lateness that `skip` allows where the caller names none: ordinary lateness is far below, an outage above. */
export const DEFAULT_MAX_LATENESS_SECONDS = 60;

/** As `retry_limit_datetime`: nothing is sent more than seven days after its time. */
export const MOST_LATENESS_SECONDS = 7 * 24 * 3600;

/** What the caller gave; undefined: nothing. */
export interface RequestedChoices {
  onMissed: OnMissed | undefined;
  maxLatenessSeconds: number | undefined;
  onUnknown: OnUnknown | undefined;
}

const DEFAULTS: OutboxChoices = { onMissed: 'send', maxLatenessSeconds: null, onUnknown: null };

/**
 * What applies after a request: what it does not name stays as it is.
 * @param current choices of the message that is being edited
 * @throws {InvalidInputError} for a lateness without `skip`
 */
export function resolveChoices(
  requested: RequestedChoices,
  current: OutboxChoices = DEFAULTS,
): OutboxChoices {
  const onMissed = requested.onMissed ?? current.onMissed;
  const onUnknown = requested.onUnknown ?? current.onUnknown;
  const { maxLatenessSeconds } = requested;
  if (onMissed === 'skip') {
    const lateness = maxLatenessSeconds ?? current.maxLatenessSeconds ?? DEFAULT_MAX_LATENESS_SECONDS;
    return { onMissed, maxLatenessSeconds: lateness, onUnknown };
  }
  if (maxLatenessSeconds !== undefined)
    throw new InvalidInputError('max_lateness_seconds: goes with on_missed "skip" only');
  return { onMissed, maxLatenessSeconds: null, onUnknown };
}
