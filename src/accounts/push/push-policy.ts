import type { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { backoff, spread } from '../../platform/work/queue/backoff.ts';

const BACKOFF_MS = { first: 30_000, longest: 3_600_000 };
const DAY_MS = 86_400_000;
/** Attempts to unsubscribe. After the last one, the subscription is left to end by itself. */
export const MOST_FAREWELLS = 6;

/**
 * When the renewal of a subscription begins: after half of its life, so that there is as much time
 * again for retries.
 * @param random 0 to 1: spreads the renewals of subscriptions made together by ±10 %
 */
export function renewalAt(now: Date, expiresAt: Date, random: number): Date {
  const half = Math.max(0, expiresAt.getTime() - now.getTime()) / 2;
  return new Date(now.getTime() + spread(half, 0.1, random));
}

/**
 * Time of the next attempt after a failure: 30 s after the first, doubling up to an hour. After
 * `unsupported` a day. A longer wait that the provider asks for is respected up to a day.
 * @param failures failed attempts since the last success, this one included
 */
export function nextAttemptAt(
  now: Date,
  failures: number,
  { code, retryAfterSeconds }: Pick<ProviderError, 'code' | 'retryAfterSeconds'>,
  random: number,
): Date {
  const asked = Math.min((retryAfterSeconds ?? 0) * 1000, DAY_MS);
  const wait = code === 'unsupported' ? DAY_MS : backoff(BACKOFF_MS, failures);
  return new Date(now.getTime() + Math.max(spread(wait, 0.1, random), asked));
}
