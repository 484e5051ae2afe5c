import { backoff } from '../../platform/work/backoff.ts';
import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';

/** How an attempt to send a reminder ended. */
export type ReminderDelivery =
  | { kind: 'sent' }
  /** Nothing was sent; it may work later. */
  | { kind: 'not-yet'; reason: string; retryAfterSeconds?: number | null }
  /** It may or may not have been sent: look before sending it again. */
  | { kind: 'unknown'; reason: string }
  /** It will never work. */
  | { kind: 'refused'; reason: string; credentialsInvalid?: boolean };

/** What becomes of the reminder after an attempt. */
export type ReminderDecision =
  | { kind: 'sent' }
  | { kind: 'failed'; reason: string; credentialsInvalid: boolean }
  | { kind: 'retry'; at: Date; reason: string; ambiguous: boolean };

/** What the policy looks at. */
export interface ReminderAttempt {
  delivery: ReminderDelivery;
  /** Attempts made, this one included. */
  attempts: number;
  now: Date;
  /** The reminder is of no use from this instant on. */
  expiresAt: Date;
}

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };
/** The last attempt is made so long before the event that it can still be read in time. */
const LAST_BEFORE_SECONDS = 10;
/** Closer together than this, two attempts are one. */
const LEAST_SECONDS = 5;
/** Views of sent mail lag behind: an earlier look would find nothing and send twice. */
const LOOK_UP_SECONDS = 15;

/**
 * When a reminder that could not be sent is attempted again: 30 s doubling, hourly at most, a last time shortly before it
 * expires.
 * @returns null when there is no time left
 */
export function nextReminderAttempt(
  attempts: number,
  now: Date,
  expiresAt: Date,
  retryAfterSeconds = 0,
): Date | null {
  const seconds = Math.max(backoff(BACKOFF_SECONDS, attempts), retryAfterSeconds);
  const regular = now.getTime() + seconds * 1000;
  const last = expiresAt.getTime() - LAST_BEFORE_SECONDS * 1000;
  const at = Math.min(regular, last);
  return at - now.getTime() < LEAST_SECONDS * 1000 ? null : new Date(at);
}

/** Turns the end of an attempt into what happens next. Pure. */
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
      // Settling a doubt is not another reminder: it is done even when the event has begun, but not for ever.
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
    case 'not-yet': {
      const at = nextReminderAttempt(attempts, now, expiresAt, delivery.retryAfterSeconds ?? 0);
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

/** Codes that say "never". */
const PERMANENT: readonly ProviderErrorCode[] = [
  'auth-invalid',
  'rejected',
  'not-found',
  'unsupported',
];

/** How an attempt ended that the mail provider answered with an error. */
export function deliveryOfProviderError(
  code: ProviderErrorCode,
  words: string,
  retryAfterSeconds: number | null,
): ReminderDelivery {
  if (code === 'outcome-unknown') return { kind: 'unknown', reason: words };
  if (PERMANENT.includes(code)) {
    return { kind: 'refused', reason: words, credentialsInvalid: code === 'auth-invalid' };
  }
  return { kind: 'not-yet', reason: words, retryAfterSeconds };
}

/** How an attempt ended that a webhook's receiver answered. @param status of the answer */
export function deliveryOfHttpStatus(
  status: number,
  retryAfterSeconds: number | null,
): ReminderDelivery {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const reason = `the receiver answered ${status}`;
  // Gone means gone (RFC 9110 15.5.11); everything else may be a deployment or a moment of overload.
  return status === 410
    ? { kind: 'refused', reason }
    : { kind: 'not-yet', reason, retryAfterSeconds };
}
