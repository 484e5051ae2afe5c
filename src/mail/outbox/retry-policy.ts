import type { SendRoute } from '../../platform/job-statuses/job-status.ts';
import { backoff, spread } from '../../platform/work/backoff.ts';
import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';
import type { OnUnknown } from './outbox-content.ts';

/** Rules of the policy by name: attempts record which one decided (docs/outbox.md lists them). */
export const RETRY_RULES = [
  'backoff', // 30 s doubling
  'hourly', // the interval would exceed an hour
  'provider-asked', // the provider named a later time
  'last-attempt', // the next attempt is the one at the deadline
  'daily-limit-to-relay', // the account may send no more today: the mailing service goes on
  'five-attempts-to-relay', // five attempts over the account have failed: the mailing service goes on
  'look-up', // it may have been sent: look before sending again
  'resend', // nobody can tell whether it was sent: sent again, perhaps twice
  'unknown', // nobody can tell whether it was sent: given up
  'deadline', // no time left
  'auth-invalid', // never again with these credentials
  'rejected', // never again with this content or these recipients
  'missed', // found too late for its sender
] as const;
export type RetryRule = (typeof RETRY_RULES)[number];

/** What the policy looks at after a failed attempt. */
export interface RetryInput {
  /** Why the attempt failed. */
  code: ProviderErrorCode;
  /** Which way it went. */
  route: SendRoute;
  /** Failed attempts over this route so far, this one included. */
  failures: number;
  now: Date;
  /** The last attempt is made at this instant. */
  retryLimitAt: Date;
  /** What the provider asked for, if anything. */
  retryAfterSeconds: number | null;
  /** Whether definite rejections are retried as well (the literal rule of spec 8). */
  retryRejected: boolean;
  /** Whether the application's mailing service takes this message; only asked where `wantsRelay` says so. */
  relayAvailable: boolean;
  /** 0 ≤ random < 1: spreads retries by ±10 %. */
  random: number;
}

/** Stop for good. */
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

/** Try again, over the mailing service and at once, or stop for good. */
export type RetryDecision =
  Retry | { kind: 'switch'; rule: 'daily-limit-to-relay' | 'five-attempts-to-relay' } | Stop;

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };
const JITTER = 0.1;
/** Attempts over the account before the mailing service takes over (spec 8 rule 3). */
const ATTEMPTS_BEFORE_RELAY = 5;
/** Seconds from one look-up to the next: 15, 60 and 180 s after the outcome became unknown. Sent folders lag behind. */
const LOOK_UP_SECONDS = [15, 45, 120] as const;
/** How long after the deadline a message that cannot be looked up is kept open. */
const UNKNOWN_MS = 24 * 3_600_000;

/** Seconds after the k-th failure, without jitter: 30 s doubling, an hour at most (spec 8 rule 4). */
export function backoffSeconds(failures: number): number {
  return backoff(BACKOFF_SECONDS, failures);
}

/** Why the mailing service should take over, if there is one (spec 8 rules 1 and 3); null: it should not. */
function relayRule(input: Omit<RetryInput, 'relayAvailable' | 'random'>) {
  const { code, route, failures, now, retryLimitAt } = input;
  if (route === 'relay' || code === 'outcome-unknown' || now >= retryLimitAt || isFinal(input))
    return null;
  if (code === 'quota-exhausted') return 'daily-limit-to-relay' as const;
  return failures >= ATTEMPTS_BEFORE_RELAY ? ('five-attempts-to-relay' as const) : null;
}

/** Whether the decision depends on a mailing service: nobody else need ask whether there is one. */
export function wantsRelay(input: Omit<RetryInput, 'relayAvailable' | 'random'>): boolean {
  return relayRule(input) !== null;
}

/** Refused credentials and definite rejections end a message; those of the service are its application's to repair. */
function isFinal({
  code,
  route,
  retryRejected,
}: Pick<RetryInput, 'code' | 'route' | 'retryRejected'>) {
  if (code === 'auth-invalid') return route === 'account';
  return (code === 'rejected' || code === 'unsupported') && !retryRejected;
}

/**
 * When, if at all, and which way a failed message is attempted again: the four rules of spec 8. No attempt is set after
 * the deadline, and the last one is set exactly at it. A switch begins the schedule of the other route anew.
 */
export function decideRetry(input: RetryInput): RetryDecision {
  const { code, now, retryLimitAt } = input;
  if (isFinal(input))
    return { kind: 'stop', rule: code === 'auth-invalid' ? 'auth-invalid' : 'rejected' };
  // A look-up sends nothing: it is made even at the deadline, and before any change of route.
  if (code === 'outcome-unknown') return { kind: 'retry', at: firstLookUp(input), rule: 'look-up' };
  if (now >= retryLimitAt) return { kind: 'stop', rule: 'deadline' };
  const rule = relayRule(input);
  if (rule && input.relayAvailable) return { kind: 'switch', rule };
  const base = backoffSeconds(input.failures);
  const asked = input.retryAfterSeconds ?? 0;
  const seconds = Math.max(spread(base, JITTER, input.random), asked);
  const at = after(now, seconds);
  if (at >= retryLimitAt) return { kind: 'retry', at: retryLimitAt, rule: 'last-attempt' };
  if (asked > base) return { kind: 'retry', at, rule: 'provider-asked' };
  return { kind: 'retry', at, rule: base === BACKOFF_SECONDS.longest ? 'hourly' : 'backoff' };
}

/**
 * Soon after the first unknown outcome. Later with each further one: what follows a look-up that finds nothing may be another
 * send, and a server that never answers would otherwise deliver one message every quarter of a minute. No send
 * follows the deadline, so the last look-up need not wait.
 */
function firstLookUp({ failures, now, retryLimitAt }: RetryInput): Date {
  return after(now, now >= retryLimitAt ? LOOK_UP_SECONDS[0] : lookUpSeconds(failures));
}

function lookUpSeconds(times: number): number {
  return times <= 1 ? LOOK_UP_SECONDS[0] : backoffSeconds(times - 1);
}

/**
 * When, if at all, a message is looked up again whose look-up has failed: until the provider answers, but not longer than a
 * day beyond the deadline.
 * @param looked look-ups so far, this one included; later each time
 */
export function decideLookUp(looked: number, now: Date, retryLimitAt: Date): Retry | Stop {
  if (now.getTime() > retryLimitAt.getTime() + UNKNOWN_MS) return { kind: 'stop', rule: 'unknown' };
  return { kind: 'retry', at: after(now, lookUpSeconds(looked)), rule: 'look-up' };
}

/**
 * What follows a look-up that found nothing and proves nothing: two more, then what the sender wants. After the deadline
 * nothing is sent.
 * @param lookUps such look-ups since the outcome became unknown, this one included
 */
export function decideUnproven(
  lookUps: number,
  now: Date,
  retryLimitAt: Date,
  onUnknown: OnUnknown,
): Retry | { kind: 'resend'; rule: 'resend' } | Stop {
  const wait = LOOK_UP_SECONDS[lookUps];
  if (wait !== undefined) return { kind: 'retry', at: after(now, wait), rule: 'look-up' };
  if (onUnknown === 'fail' || now >= retryLimitAt) return { kind: 'stop', rule: 'unknown' };
  return { kind: 'resend', rule: 'resend' };
}

/** Whether a message that was looked up and not sent has had its attempts over the account (spec 8 rule 3). */
export function isRelayDue(route: SendRoute, failures: number): boolean {
  return route === 'account' && failures >= ATTEMPTS_BEFORE_RELAY;
}

/**
 * The attempts a message has until its deadline when each fails at once for a reason that may pass, without jitter:
 * the first at `sendAt`, the last exactly at `retryLimitAt`. A deadline at or before `sendAt` is a single attempt.
 * @param most how many are listed at most
 */
export function plannedAttempts(sendAt: Date, retryLimitAt: Date, most: number): Date[] {
  return plannedRoutes(sendAt, retryLimitAt, most, Infinity).map(({ at }) => at);
}

/** The same for a message that can go by a mailing service: five attempts over the account, the others over it. */
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
