import { backoff, spread } from '../../platform/work/backoff.ts';
import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';

/** Attempts at most; then the job fails. */
export const MOST_ATTEMPTS = 20;

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };

/** Failures that repeating cannot cure. */
const PERMANENT: readonly ProviderErrorCode[] = [
  'auth-invalid', 'rejected', 'unsupported', 'not-found', 'conflict',
]; // prettier-ignore

/** How one attempt failed. */
export interface WriteFailure {
  code: ProviderErrorCode;
  /** The provider's words. */
  message: string;
  /** The provider's own wish for when to come back. */
  retryAfterSeconds: number | null;
}

/** What follows from a failure; `rule` names the reason in the timeline. */
export type WriteVerdict =
  | { kind: 'again'; at: Date; reason: string; rule: string }
  | { kind: 'failed'; reason: string; rule: string };

/**
 * What follows from a failed write: intervals of 30 s doubling to an hour, ±10 %, never sooner than the provider
 * asks, at most 20 attempts. What cannot succeed fails at once.
 * @param attempt 1 for the first
 * @param random 0 to 1
 */
export function decideAfterFailure(
  failure: WriteFailure,
  attempt: number,
  now: Date,
  random: number,
): WriteVerdict {
  const { code, message, retryAfterSeconds } = failure;
  if (PERMANENT.includes(code))
    return { kind: 'failed', reason: message, rule: `permanent: ${code}` };
  if (attempt >= MOST_ATTEMPTS) {
    return {
      kind: 'failed',
      reason: `Given up after ${attempt} attempts: ${message}`,
      rule: `at most ${MOST_ATTEMPTS} attempts`,
    };
  }
  const interval = backoff(BACKOFF_SECONDS, attempt);
  const seconds = Math.max(spread(interval, 0.1, random), retryAfterSeconds ?? 0);
  return {
    kind: 'again',
    at: new Date(now.getTime() + seconds * 1000),
    reason: message,
    rule:
      retryAfterSeconds !== null && retryAfterSeconds > interval
        ? 'as the provider asked'
        : 'backoff',
  };
}
