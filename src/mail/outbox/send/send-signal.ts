import type { Outcome, RateGateSignal } from '../../../platform/work/queue/dispatcher.ts';
import type { Attempt, AttemptEnd, SendJobRow, SendResult } from './send-attempt.ts';
import { lastStartOf } from './send-limits.ts';

/* What an attempt says about the account's server, for its circuit breaker. */

/**
 * How long an account that has reached its daily limit sends nothing, unless its provider names a
 * time.
 */
const DAILY_LIMIT_SECONDS = 3_600;

/**
 * Signal of an attempt about the account's server, for the circuit breaker. An attempt over the
 * mailing service can only reset the breaker: the account's messages no longer depend on that
 * server.
 * @param end `null` if the message was sent
 * @returns `undefined` if the attempt says nothing about the server
 */
export function signalOf(
  { row, route }: Attempt,
  end: AttemptEnd | null,
): RateGateSignal | undefined {
  if (end?.internal) return undefined;
  if (route !== 'account') return row.gateFailures > 0 ? { kind: 'well' } : undefined;
  // The other messages of the account wait as well, without attempts of their own.
  if (end?.ownLimit)
    return { kind: 'stop', seconds: end.retryAfterSeconds ?? 1, reason: end.detail };
  if (end?.code === 'quota-exhausted') {
    const seconds = end.retryAfterSeconds ?? DAILY_LIMIT_SECONDS;
    return {
      kind: 'stop',
      seconds,
      reason: `the account's daily limit is reached: ${end.detail}`,
    };
  }
  const connecting = end?.phase === 'connect' || end?.phase === 'login';
  if (connecting && (end.code === 'temporary' || end.code === 'rate-limited')) {
    return { kind: 'trouble', reason: `the account's server could not be reached: ${end.detail}` };
  }
  // The server was reached if it accepted the message, refused the login or answered about the
  // message. An unknown outcome proves nothing.
  const reached =
    end === null || end.code === 'auth-invalid' || (end.phase !== null && !connecting);
  return reached && end?.code !== 'outcome-unknown' && row.gateFailures > 0
    ? { kind: 'well' }
    : undefined;
}

/**
 * Makes the timeline say when the next attempt is possible. If the signal stops the circuit
 * breaker, that is when the stop ends, or at the deadline if that is earlier. The queue row keeps
 * its own time, because the stop may be ended early.
 */
export function withTimeAfterStop(
  outcome: Outcome<SendResult>,
  signal: RateGateSignal,
  now: Date,
  row: SendJobRow,
): Outcome<SendResult> {
  const { next, result } = outcome;
  if (signal.kind !== 'stop' || next.kind !== 'again' || !result.attempt) return outcome;
  const stopEndsAt = new Date(now.getTime() + signal.seconds * 1000);
  if (next.at >= stopEndsAt) return outcome;
  const limit = now < row.retryLimitAt ? row.retryLimitAt : lastStartOf(row);
  const nextAt = stopEndsAt < limit ? stopEndsAt : limit;
  return { ...outcome, result: { ...result, attempt: { ...result.attempt, nextAt } } };
}
