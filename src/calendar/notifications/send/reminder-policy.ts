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
  /**
   * A look-up did not find it, which proves nothing: look it up again at this time. `lookUps`: such
   * look-ups since the outcome became unknown, this one included.
   */
  | { kind: 'unproven'; at: Date; lookUps: number }
  /** A look-up failed, so the outcome is still unknown. */
  | { kind: 'look-up-failed'; reason: string }
  /** No attempt will ever succeed. */
  | { kind: 'refused'; reason: string; credentialsInvalid?: boolean };

/** Next state of a reminder after an attempt. */
export type ReminderDecision =
  | { kind: 'sent' }
  | { kind: 'failed'; reason: string; credentialsInvalid: boolean }
  | {
      kind: 'retry';
      at: Date;
      reason: string;
      ambiguous: boolean;
      /** Look-ups since the outcome became unknown that proved nothing; 0 if it is known. */
      lookUps: number;
    };

/** Input of the policy. */
export interface ReminderAttempt {
  delivery: ReminderDelivery;
  /** Attempts to send it, including this one; look-ups do not count. */
  attempts: number;
  /** Look-ups since the outcome became unknown that proved nothing, before this run. */
  lookUps: number;
  now: Date;
  /** Time from which the reminder is useless. */
  expiresAt: Date;
}

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };
/**
 * The last attempt is made this long before the event, so that the recipient can still read the
 * reminder.
 */
export const LAST_BEFORE_SECONDS = 10;
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
 * @param lookUps such look-ups since the outcome became unknown, this one included
 * @returns `null` if the reminder is to be sent again: two more look-ups proved nothing, or a later
 *   one would leave no time before the event
 */
export function nextReminderLookUp(lookUps: number, now: Date, expiresAt: Date): Date | null {
  const seconds = MORE_LOOK_UPS_SECONDS[lookUps - 1];
  if (seconds === undefined) return null;
  const at = now.getTime() + seconds * 1000;
  return at > expiresAt.getTime() - LAST_BEFORE_SECONDS * 1000 ? null : new Date(at);
}

/** Decides what follows an attempt. Pure function. */
export function decideReminder({
  delivery,
  attempts,
  lookUps,
  now,
  expiresAt,
}: ReminderAttempt): ReminderDecision {
  const soon = new Date(now.getTime() + LOOK_UP_SECONDS * 1000);
  switch (delivery.kind) {
    case 'sent':
      return delivery;
    case 'refused':
      return {
        kind: 'failed',
        reason: delivery.reason,
        credentialsInvalid: delivery.credentialsInvalid ?? false,
      };
    case 'unknown':
      // A look-up sends nothing, so one is made even after the event has begun.
      return lookUpAt(soon, delivery.reason, 0);
    case 'look-up-failed':
      if (now < expiresAt) return lookUpAt(soon, delivery.reason, lookUps);
      return {
        kind: 'failed',
        reason: `it is unknown whether it was sent: ${delivery.reason}`,
        credentialsInvalid: false,
      };
    case 'unproven':
      return lookUpAt(delivery.at, NOT_FOUND, delivery.lookUps);
    case 'not-yet': {
      const { retryAfterSeconds, ownLimit } = delivery;
      // Without `ownLimit`, each attempt doubles the wait.
      const failures = ownLimit ? 0 : attempts;
      const at = nextReminderAttempt(failures, now, expiresAt, retryAfterSeconds ?? 0);
      if (at) {
        const reason = `not sent yet: ${delivery.reason}`;
        return { kind: 'retry', at, reason, ambiguous: false, lookUps: 0 };
      }
      return {
        kind: 'failed',
        reason: `the event began before it could be sent; last error: ${delivery.reason}`,
        credentialsInvalid: false,
      };
    }
  }
}

const NOT_FOUND = 'it was not found among the sent messages so far';

const lookUpAt = (at: Date, why: string, lookUps: number): ReminderDecision => ({
  kind: 'retry',
  at,
  reason: `looking up whether it was sent: ${why}`,
  ambiguous: true,
  lookUps,
});

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
