import { backoff } from '../../../platform/work/queue/backoff.ts';
import type { ProviderErrorCode } from '../../../platform/base/errors/provider-error.ts';

/** Result of an attempt to send a reminder. */
export type ReminderDelivery =
  | { kind: 'sent' }
  /**
   * Nothing was sent; a later attempt may succeed. `ownLimit`: our own limit on requests kept the
   * provider from being asked.
   */
  | { kind: 'not-yet'; reason: string; retryAfterSeconds?: number | null; ownLimit?: boolean }
  /** The outcome is unknown: look it up before sending again. */
  | { kind: 'unknown'; reason: string }
  /** A look-up did not find it, which proves nothing: look it up again at this time. */
  | { kind: 'unproven'; at: Date }
  /** No attempt will ever succeed. */
  | { kind: 'refused'; reason: string; credentialsInvalid?: boolean };

/** Next state of a reminder after an attempt. */
export type ReminderDecision =
  | { kind: 'sent' }
  | { kind: 'failed'; reason: string; credentialsInvalid: boolean }
  | { kind: 'retry'; at: Date; reason: string; ambiguous: boolean };

/** Input of the policy. */
export interface ReminderAttempt {
  delivery: ReminderDelivery;
  /** Attempts made, including this one. */
  attempts: number;
  now: Date;
  /** Time from which the reminder is useless. */
  expiresAt: Date;
}

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };
/**
 * The last attempt is made this long before the event, so that the recipient can still read the
 * reminder.
 */
const LAST_BEFORE_SECONDS = 10;
/** Shortest time between two attempts. */
const LEAST_SECONDS = 5;
/**
 * Wait before a look-up. A provider's Sent folder lags behind: an earlier look-up would find
 * nothing, and the reminder would be sent twice.
 */
const LOOK_UP_SECONDS = 15;
/** Seconds from a first and a second look-up that proved nothing to the next one. */
const MORE_LOOK_UPS_SECONDS = [45, 120] as const;

/**
 * Time of the next attempt after one that failed: 30 s, then doubling, at most an hour. A last
 * attempt is made shortly before the reminder expires.
 * @param attempts failed attempts so far; 0 if the reminder waits for our own limit only
 * @returns `null` if there is no time left
 */
export function nextReminderAttempt(
  attempts: number,
  now: Date,
  expiresAt: Date,
  retryAfterSeconds = 0,
): Date | null {
  const least = attempts === 0 ? LEAST_SECONDS : backoff(BACKOFF_SECONDS, attempts);
  const seconds = Math.max(least, retryAfterSeconds);
  const regular = now.getTime() + seconds * 1000;
  const last = expiresAt.getTime() - LAST_BEFORE_SECONDS * 1000;
  const at = Math.min(regular, last);
  return at - now.getTime() < LEAST_SECONDS * 1000 ? null : new Date(at);
}

/**
 * Time of another look-up after one that proved nothing, because Sent folders lag behind.
 * @param attempts attempts so far, this look-up included. The first one was a look-up itself if a
 *   failover of the database has marked the reminder (ADR 0127).
 * @returns `null` if the reminder is to be sent again: two more look-ups proved nothing, or a later
 *   one would leave no time before the event
 */
export function nextReminderLookUp(attempts: number, now: Date, expiresAt: Date): Date | null {
  const seconds = MORE_LOOK_UPS_SECONDS[Math.max(0, attempts - 2)];
  if (seconds === undefined) return null;
  const at = now.getTime() + seconds * 1000;
  return at > expiresAt.getTime() - LAST_BEFORE_SECONDS * 1000 ? null : new Date(at);
}

/** Decides what follows an attempt. Pure function. */
export function decideReminder({
  delivery,
  attempts,
  now,
  expiresAt,
}: ReminderAttempt): ReminderDecision {
  switch (delivery.kind) {
    case 'sent':
      return delivery;
    case 'refused':
      return {
        kind: 'failed',
        reason: delivery.reason,
        credentialsInvalid: delivery.credentialsInvalid ?? false,
      };
    case 'unknown': {
      // A look-up sends nothing, so one is made even after the event has begun. After a second
      // attempt the reminder fails.
      if (now >= expiresAt && attempts > 1) {
        return {
          kind: 'failed',
          reason: `it is unknown whether it was sent: ${delivery.reason}`,
          credentialsInvalid: false,
        };
      }
      const at = new Date(now.getTime() + LOOK_UP_SECONDS * 1000);
      return {
        kind: 'retry',
        at,
        reason: `looking up whether it was sent: ${delivery.reason}`,
        ambiguous: true,
      };
    }
    case 'unproven':
      return { kind: 'retry', at: delivery.at, reason: NOT_FOUND, ambiguous: true };
    case 'not-yet': {
      const { retryAfterSeconds, ownLimit } = delivery;
      // Without `ownLimit`, each attempt doubles the wait.
      const failures = ownLimit ? 0 : attempts;
      const at = nextReminderAttempt(failures, now, expiresAt, retryAfterSeconds ?? 0);
      if (at)
        return { kind: 'retry', at, reason: `not sent yet: ${delivery.reason}`, ambiguous: false };
      return {
        kind: 'failed',
        reason: `the event began before it could be sent; last error: ${delivery.reason}`,
        credentialsInvalid: false,
      };
    }
  }
}

const NOT_FOUND = 'looking up whether it was sent: it was not found among the sent messages so far';

/** Error codes after which a retry is useless. */
const PERMANENT: readonly ProviderErrorCode[] = [
  'auth-invalid',
  'rejected',
  'not-found',
  'unsupported',
];

/** Result of an attempt that the mail provider answered with an error. */
export function deliveryOfProviderError(
  code: ProviderErrorCode,
  reason: string,
  retryAfterSeconds: number | null,
): ReminderDelivery {
  if (code === 'outcome-unknown') return { kind: 'unknown', reason };
  if (PERMANENT.includes(code)) {
    return { kind: 'refused', reason, credentialsInvalid: code === 'auth-invalid' };
  }
  return { kind: 'not-yet', reason, retryAfterSeconds };
}

/**
 * Result of an attempt that a webhook's receiver answered.
 * @param status HTTP status of the response
 */
export function deliveryOfHttpStatus(
  status: number,
  retryAfterSeconds: number | null,
): ReminderDelivery {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const reason = `the receiver answered ${status}`;
  // 410 means that the receiver was removed for good (RFC 9110 15.5.11). Any other error may be a
  // deployment or a short overload.
  return status === 410
    ? { kind: 'refused', reason }
    : { kind: 'not-yet', reason, retryAfterSeconds };
}
