import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { MAX_UNIX_SECONDS } from '../../../platform/wire/wire.schema.ts';
import { fromUnixSeconds } from '../../../platform/base/time/unix-seconds.ts';
import { shownRetryLimit, singleAttempt } from '../../../job-statuses/retry-limit.ts';
import type { OnMissed, OnUnknown, OutboxChoices, OutboxTimes } from './outbox-content.ts';

const GRACE_MS = 60_000;
const DEFAULT_RETRY_MS = 24 * 3_600_000;
const LONGEST_RETRY_MS = 7 * 24 * 3_600_000;
/** Later instants have years of five digits, which formats write in different ways. */
const LAST_INSTANT_MS = MAX_UNIX_SECONDS * 1000;

/** Times from the request, in Unix seconds; `undefined` if absent. */
export interface RequestedTimes {
  sendAt: number | undefined;
  retryLimit: number | undefined;
}

/**
 * Applies the rules for times. No `send_at`, 0, or up to 60 s in the past means now. No
 * `retry_limit_datetime` means 24 h after `send_at`, 0 means a single attempt, and 7 days after
 * `send_at` is the maximum.
 * @param current times of the message that is being edited; a new `send_at` resets the default
 *   deadline
 * @throws {InvalidInputError} naming the field
 */
export function resolveTimes(
  requested: RequestedTimes,
  now: Date,
  current?: OutboxTimes,
): OutboxTimes {
  const isSameTime = (seconds: number | undefined, before: Date | undefined) =>
    before !== undefined && seconds === Math.floor(before.getTime() / 1000);
  const sendAt =
    current && (requested.sendAt === undefined || isSameTime(requested.sendAt, current.sendAt))
      ? current.sendAt
      : resolveSendAt(requested.sendAt ?? 0, now);
  if (requested.retryLimit === undefined) {
    const keeps = current && requested.sendAt === undefined;
    return {
      sendAt,
      retryLimitAt: keeps ? current.retryLimitAt : defaultLimit(sendAt),
    };
  }
  if (requested.retryLimit === 0) return { sendAt, retryLimitAt: singleAttempt(sendAt) };
  if (
    current?.sendAt === sendAt &&
    requested.retryLimit === shownRetryLimit(sendAt, current.retryLimitAt)
  )
    return { sendAt, retryLimitAt: current.retryLimitAt };
  const retryLimitAt = fromUnixSeconds(requested.retryLimit);
  // Times have whole seconds on the wire, so a limit in the same second as the send time is
  // allowed.
  if (requested.retryLimit < Math.floor(sendAt.getTime() / 1000)) {
    throw new InvalidInputError('retry_limit_datetime: must not be before send_at');
  }
  // When a message that is late is edited, a limit in the past would end it unsent.
  if (requested.retryLimit < Math.floor(now.getTime() / 1000)) {
    throw new InvalidInputError('retry_limit_datetime: must not be in the past');
  }
  if (retryLimitAt.getTime() - sendAt.getTime() > LONGEST_RETRY_MS) {
    throw new InvalidInputError('retry_limit_datetime: must be at most 7 days after send_at');
  }
  return { sendAt, retryLimitAt: retryLimitAt < sendAt ? sendAt : retryLimitAt };
}

function defaultLimit(sendAt: Date): Date {
  return new Date(Math.min(sendAt.getTime() + DEFAULT_RETRY_MS, LAST_INSTANT_MS));
}

function resolveSendAt(seconds: number, now: Date): Date {
  if (seconds === 0) return now;
  const sendAt = fromUnixSeconds(seconds);
  if (sendAt > now) return sendAt;
  if (now.getTime() - sendAt.getTime() > GRACE_MS)
    throw new InvalidInputError('send_at: must not be in the past');
  return now;
}

/**
 * Lateness that `skip` allows by default, in seconds. Ordinary lateness is far below it, an outage
 * above.
 */
export const DEFAULT_MAX_LATENESS_SECONDS = 60;

/**
 * The same maximum as for `retry_limit_datetime`: nothing is sent more than seven days after its
 * time.
 */
export const MOST_LATENESS_SECONDS = 7 * 24 * 3600;

/** Choices from the request; `undefined` if absent. */
export interface RequestedChoices {
  onMissed: OnMissed | undefined;
  maxLatenessSeconds: number | undefined;
  onUnknown: OnUnknown | undefined;
}

const DEFAULTS: OutboxChoices = { onMissed: 'send', maxLatenessSeconds: null, onUnknown: null };

/**
 * Choices after a request. Choices that the request does not name stay unchanged.
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
    const lateness =
      maxLatenessSeconds ?? current.maxLatenessSeconds ?? DEFAULT_MAX_LATENESS_SECONDS;
    return { onMissed, maxLatenessSeconds: lateness, onUnknown };
  }
  if (maxLatenessSeconds !== undefined)
    throw new InvalidInputError('max_lateness_seconds: only allowed with on_missed "skip"');
  return { onMissed, maxLatenessSeconds: null, onUnknown };
}
