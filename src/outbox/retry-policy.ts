import type { ProviderErrorCode } from '../providers/provider-error.ts';

/** Rules of the policy by name: attempts record which one decided. */
export type RetryRule =
  | 'backoff' // 30 s doubling
  | 'hourly' // the interval would exceed an hour
  | 'provider-asked' // the provider named a later time
  | 'last-attempt' // the next attempt is the one at the deadline
  | 'look-up' // it may have been sent: look before sending again
  | 'deadline' // no time left
  | 'auth-invalid' // never again with these credentials
  | 'rejected'; // never again with this content or these recipients

/** What the policy looks at. */
export interface RetryInput {
  /** Why the attempt failed. */
  code: ProviderErrorCode;
  /** Failed attempts so far, this one included. */
  failures: number;
  now: Date;
  /** The last attempt is made at this instant. */
  retryLimitAt: Date;
  /** What the provider asked for, if anything. */
  retryAfterSeconds: number | null;
  /** Whether definite rejections are retried as well (the literal rule of spec 8). */
  retryRejected: boolean;
  /** 0 ≤ random < 1: spreads retries by ±10 %. */
  random: number;
}

/** Try again, or stop for good. */
export type RetryDecision = { kind: 'retry'; at: Date; rule: RetryRule } | { kind: 'stop'; rule: RetryRule };

const FIRST_SECONDS = 30;
const LONGEST_SECONDS = 3_600;
const JITTER = 0.1;
/** Sent folders lag behind; looking earlier would find nothing and send twice. */
const LOOK_UP_SECONDS = 15;
/** How long after the deadline a doubt that cannot be looked up is kept open. */
const DOUBT_MS = 24 * 3_600_000;

/** Seconds after the k-th failure, without jitter: 30 s doubling, an hour at most (spec 8 rule 4). */
export function backoffSeconds(failures: number): number {
  return Math.min(FIRST_SECONDS * 2 ** Math.max(0, Math.min(failures, 20) - 1), LONGEST_SECONDS);
}

/** When, if at all, a failed send is attempted again (spec 8 without a third-party service, rules 2 and 4). */
export function decideRetry(input: RetryInput): RetryDecision {
  const { code, now, retryLimitAt } = input;
  if (code === 'auth-invalid') return { kind: 'stop', rule: 'auth-invalid' };
  if ((code === 'rejected' || code === 'unsupported') && !input.retryRejected)
    return { kind: 'stop', rule: 'rejected' };
  // Settling a doubt is no new attempt: it is done even at the deadline.
  if (code === 'outcome-unknown') return { kind: 'retry', at: nextLookUp(input), rule: 'look-up' };
  if (now >= retryLimitAt) return { kind: 'stop', rule: 'deadline' };
  const base = backoffSeconds(input.failures);
  const asked = input.retryAfterSeconds ?? 0;
  const seconds = Math.max(base * (1 + JITTER * (2 * input.random - 1)), asked);
  const at = after(now, seconds);
  if (at >= retryLimitAt) return { kind: 'retry', at: retryLimitAt, rule: 'last-attempt' };
  if (asked > base) return { kind: 'retry', at, rule: 'provider-asked' };
  return { kind: 'retry', at, rule: base === LONGEST_SECONDS ? 'hourly' : 'backoff' };
}

/**
 * When, if at all, a doubt is looked into again whose look-up has failed. The doubt remains until somebody can answer
 * it, but not longer than a day beyond the deadline.
 */
export function decideLookUp(input: Pick<RetryInput, 'failures' | 'now' | 'retryLimitAt'>): RetryDecision {
  if (input.now.getTime() > input.retryLimitAt.getTime() + DOUBT_MS) return { kind: 'stop', rule: 'look-up' };
  return { kind: 'retry', at: after(input.now, lookUpSeconds(input.failures)), rule: 'look-up' };
}

/**
 * Soon after the first doubt. With each further one later: what follows a look-up that finds nothing is another
 * send, and a server that never answers would otherwise deliver one message every quarter of a minute. No send
 * follows the deadline, so the last look-up need not wait.
 */
function nextLookUp({ failures, now, retryLimitAt }: RetryInput): Date {
  return after(now, now >= retryLimitAt ? LOOK_UP_SECONDS : lookUpSeconds(failures));
}

function lookUpSeconds(failures: number): number {
  return failures <= 1 ? LOOK_UP_SECONDS : backoffSeconds(failures - 1);
}

function after(instant: Date, seconds: number): Date {
  return new Date(instant.getTime() + seconds * 1000);
}
