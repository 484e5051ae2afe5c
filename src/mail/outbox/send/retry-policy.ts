import type { SendRoute } from '../../../job-statuses/job-status.ts';
import { backoff, spread } from '../../../platform/work/queue/backoff.ts';
import type { ProviderErrorCode } from '../../../platform/base/errors/provider-error.ts';
import type { OnUnknown } from '../accept/outbox-content.ts';

/**
 * Names of the policy's rules. Each attempt records the rule that decided. They are listed in
 * docs/outbox-reference.md.
 */
export const RETRY_RULES = [
  'backoff', // retry after 30 s, doubling each time
  'hourly', // retry in an hour, because doubling would take longer
  'provider-asked', // retry at the later time that the provider asked for
  'own-limit', // the provider was not asked: retry when our own limit on requests allows it
  'last-attempt', // retry at the deadline, for the last time
  'daily-limit-to-relay', // the account may send no more today: the mailing service takes over
  'five-attempts-to-relay', // five failed attempts over the account: the mailing service takes over
  'look-up', // the message may have been sent: look it up before sending again
  'resend', // the outcome stayed unknown: send again, perhaps a second copy
  'unknown', // the outcome stayed unknown: give up
  'deadline', // the deadline has passed
  'auth-invalid', // the account's credentials were refused: give up
  'rejected', // the content or the recipients were refused: give up
  'partly-sent', // the provider sends to all recipients or to none, and some have it: give up
  'settled', // an operator decided an unknown outcome
  'missed', // picked up later than its sender allows: give up
] as const;
export type RetryRule = (typeof RETRY_RULES)[number];

/** Facts about a failed attempt that the policy decides from. */
export interface RetryInput {
  /** Why the attempt failed. */
  code: ProviderErrorCode;
  /** Route of the attempt. */
  route: SendRoute;
  /** Failed attempts over this route so far, including this one. */
  failures: number;
  now: Date;
  /** Instant of the last attempt. */
  retryLimitAt: Date;
  /** Until when a message that had to wait for us may still be tried (`lastStartOf`). */
  lastStartAt: Date;
  /** Seconds that the provider asked to wait, or `null`. */
  retryAfterSeconds: number | null;
  /**
   * Whether our own limit on requests kept the provider from being asked. `retryAfterSeconds` is
   * then its wait.
   */
  ownLimit: boolean;
  /** Whether definite rejections are retried as well (`OUTBOX_RETRY_REJECTED`). */
  retryRejected: boolean;
  /**
   * Whether the application's mailing service takes this message. Only relevant if `wantsRelay`
   * returns true.
   */
  relayAvailable: boolean;
  /** Random number, 0 ≤ random < 1, that spreads retries by ±10 %. */
  random: number;
}

/** End the message for good. */
export interface Stop {
  kind: 'stop';
  rule: RetryRule;
}

/** Try again over the same route. */
export interface Retry {
  kind: 'retry';
  at: Date;
  rule: RetryRule;
}

/** Try again over the same route, switch to the mailing service at once, or end the message. */
export type RetryDecision =
  | Retry
  | { kind: 'switch'; rule: 'daily-limit-to-relay' | 'five-attempts-to-relay' }
  | Stop;

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };
const JITTER = 0.1;
/** Attempts over the account before the mailing service takes over. */
export const ATTEMPTS_BEFORE_RELAY = 5;
/**
 * Seconds before each look-up. Look-ups are made 15, 60 and 180 s after the outcome became unknown,
 * because Sent folders lag behind.
 */
const LOOK_UP_SECONDS = [15, 45, 120] as const;
/** Look-ups that fail are repeated for this long after the deadline. */
const UNKNOWN_MS = 24 * 3_600_000;

/** Seconds to wait after this many failures, without jitter: 30 s, doubling up to an hour. */
export function backoffSeconds(failures: number): number {
  return backoff(BACKOFF_SECONDS, failures);
}

/** The rule by which the mailing service should take over; `null` if it should not. */
function relayRule(input: Omit<RetryInput, 'relayAvailable' | 'random'>) {
  const { code, route, failures, now, retryLimitAt, ownLimit } = input;
  if (route === 'relay' || code === 'outcome-unknown' || now >= retryLimitAt || isFinal(input))
    return null;
  if (ownLimit) return null;
  if (code === 'quota-exhausted') return 'daily-limit-to-relay' as const;
  return failures >= ATTEMPTS_BEFORE_RELAY ? ('five-attempts-to-relay' as const) : null;
}

/**
 * Whether the decision depends on the mailing service. If false, the caller can skip the question
 * whether there is one.
 */
export function wantsRelay(input: Omit<RetryInput, 'relayAvailable' | 'random'>): boolean {
  return relayRule(input) !== null;
}

/**
 * Whether the failure ends the message: the account's credentials were refused, or the message was
 * definitely rejected. Refused credentials of the mailing service do not end it, because its
 * application can repair them.
 */
function isFinal({
  code,
  route,
  retryRejected,
}: Pick<RetryInput, 'code' | 'route' | 'retryRejected'>) {
  if (code === 'auth-invalid') return route === 'account';
  return (code === 'rejected' || code === 'unsupported') && !retryRejected;
}

/**
 * Decides whether, when and over which route a failed message is attempted again. No attempt is
 * made after the deadline, and the last one is made exactly at it. Only a message that waits for
 * our own limit may be tried until `lastStartAt`. A switch to the mailing service restarts the
 * schedule, with the same deadline.
 */
export function decideRetry(input: RetryInput): RetryDecision {
  const { code, now, retryLimitAt } = input;
  if (isFinal(input))
    return { kind: 'stop', rule: code === 'auth-invalid' ? 'auth-invalid' : 'rejected' };
  // A look-up sends nothing, so it is made even after the deadline, and before any switch of the
  // route.
  if (code === 'outcome-unknown') return { kind: 'retry', at: firstLookUp(input), rule: 'look-up' };
  if (now >= retryLimitAt) return afterDeadline(input);
  const rule = relayRule(input);
  if (rule && input.relayAvailable) return { kind: 'switch', rule };
  const base = backoffSeconds(input.failures);
  const asked = input.retryAfterSeconds ?? 0;
  const seconds = input.ownLimit ? asked : Math.max(spread(base, JITTER, input.random), asked);
  const at = after(now, seconds);
  if (at >= retryLimitAt) return { kind: 'retry', at: retryLimitAt, rule: 'last-attempt' };
  if (input.ownLimit) return { kind: 'retry', at, rule: 'own-limit' };
  if (asked > base) return { kind: 'retry', at, rule: 'provider-asked' };
  return { kind: 'retry', at, rule: base === BACKOFF_SECONDS.longest ? 'hourly' : 'backoff' };
}

function afterDeadline({ now, ownLimit, lastStartAt, retryAfterSeconds }: RetryInput) {
  if (!ownLimit || now >= lastStartAt) return { kind: 'stop', rule: 'deadline' } as const;
  const at = after(now, retryAfterSeconds ?? 0);
  return { kind: 'retry', at: at < lastStartAt ? at : lastStartAt, rule: 'own-limit' } as const;
}

/**
 * When a message whose outcome became unknown is looked up: after 15 s, and later each time that
 * its outcome becomes unknown again. A look-up that finds nothing lets the message be sent again,
 * so without this growing delay a server that never answers would deliver a copy every 15 s. After
 * the deadline nothing is sent again, and the delay stays 15 s.
 */
function firstLookUp({ failures, now, retryLimitAt }: RetryInput): Date {
  return after(now, now >= retryLimitAt ? LOOK_UP_SECONDS[0] : lookUpSeconds(failures));
}

function lookUpSeconds(times: number): number {
  return times <= 1 ? LOOK_UP_SECONDS[0] : backoffSeconds(times - 1);
}

/**
 * Decides what follows a look-up that failed: another one after a growing wait, until a day after
 * the deadline.
 * @param looked look-ups so far, including this one
 */
export function decideLookUp(looked: number, now: Date, retryLimitAt: Date): Retry | Stop {
  if (now.getTime() > retryLimitAt.getTime() + UNKNOWN_MS) return { kind: 'stop', rule: 'unknown' };
  return { kind: 'retry', at: after(now, lookUpSeconds(looked)), rule: 'look-up' };
}

/**
 * Decides what follows a look-up that neither found the message nor proved that it was not sent:
 * two more look-ups, then `onUnknown`. Nothing is sent after the deadline.
 * @param lookUps such look-ups since the outcome became unknown, including this one
 * @param deadline `resendLimitOf` the message
 */
export function decideUnproven(
  lookUps: number,
  now: Date,
  deadline: Date,
  onUnknown: OnUnknown,
): Retry | { kind: 'resend'; rule: 'resend' } | Stop {
  const wait = LOOK_UP_SECONDS[lookUps];
  if (wait !== undefined) return { kind: 'retry', at: after(now, wait), rule: 'look-up' };
  if (onUnknown === 'fail' || now >= deadline) return { kind: 'stop', rule: 'unknown' };
  return { kind: 'resend', rule: 'resend' };
}

/**
 * Whether the mailing service should take over a message that a look-up proved unsent, because its
 * attempts over the account are used up.
 */
export function isRelayDue(route: SendRoute, failures: number): boolean {
  return route === 'account' && failures >= ATTEMPTS_BEFORE_RELAY;
}

/**
 * Attempts of a message if each one fails at once for a temporary reason, without jitter. The first
 * is at `sendAt`, the last exactly at `retryLimitAt`. If the deadline is at or before `sendAt`,
 * there is a single attempt.
 * @param most maximum length of the list
 */
export function plannedAttempts(sendAt: Date, retryLimitAt: Date, most: number): Date[] {
  return plannedRoutes(sendAt, retryLimitAt, most, Infinity).map(({ at }) => at);
}

/**
 * Like `plannedAttempts`, for a message that the mailing service can take over: five attempts over
 * the account, the others over the service.
 */
export function plannedAttemptsWithRelay(
  sendAt: Date,
  retryLimitAt: Date,
  most: number,
): { at: Date; route: SendRoute }[] {
  return plannedRoutes(sendAt, retryLimitAt, most, ATTEMPTS_BEFORE_RELAY);
}

function plannedRoutes(sendAt: Date, retryLimitAt: Date, most: number, overAccount: number) {
  const planned: { at: Date; route: SendRoute }[] = [];
  let at = sendAt;
  let route: SendRoute = 'account';
  for (let failures = 1; planned.length < most; failures += 1) {
    planned.push({ at, route });
    if (at >= retryLimitAt) break;
    if (route === 'account' && failures === overAccount) {
      route = 'relay';
      failures = 0;
      continue;
    }
    const next = after(at, backoffSeconds(failures));
    at = next < retryLimitAt ? next : retryLimitAt;
  }
  return planned;
}

function after(instant: Date, seconds: number): Date {
  return new Date(instant.getTime() + seconds * 1000);
}
