import { backoff, spread } from '../../platform/work/queue/backoff.ts';
import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';

/** Maximum number of attempts. After that, the job fails. */
export const MOST_ATTEMPTS = 20;

const BACKOFF_SECONDS = { first: 30, longest: 3_600 };

/** Errors for which a retry cannot help. */
const PERMANENT: readonly ProviderErrorCode[] = [
  'auth-invalid',
  'rejected',
  'unsupported',
  'not-found',
  'conflict',
];

/** The failure of one attempt. */
export interface WriteFailure {
  code: ProviderErrorCode;
  /** The provider's message. */
  message: string;
  /** The server that was asked, for operators; absent or `null` if none was. */
  server?: string | null;
  /** Seconds after which the provider asks for a retry; `null` if it does not say. */
  retryAfterSeconds: number | null;
  /** Whether our own limit on requests kept the provider from being asked. Default: false. */
  ownLimit?: boolean;
}

/** The decision after a failure. `rule` is shown in the timeline as its reason. */
export type WriteVerdict =
  | { kind: 'again'; at: Date; reason: string; rule: string }
  | { kind: 'failed'; reason: string; rule: string };

/**
 * Decides what happens after a failed write. Retries follow after 30 s, doubling up to an hour, ±10
 * %, and never sooner than the provider asks. There are at most 20 attempts. Errors that a retry
 * cannot resolve fail at once. A write that waits for our own limit on requests goes on as soon as
 * the limit allows it.
 * @param attempt 1 for the first attempt
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
  if (failure.ownLimit) {
    const at = new Date(now.getTime() + (retryAfterSeconds ?? 0) * 1000);
    return { kind: 'again', at, reason: message, rule: 'own limit' };
  }
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
