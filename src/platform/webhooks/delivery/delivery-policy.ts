import { spread } from '../../work/queue/backoff.ts';
import type { BreakerLimits } from '../../work/queue/dispatcher.ts';
import { canTransition } from '../../base/state/transitions.ts';
import { WEBHOOK_TRANSITIONS, type WebhookState } from '../webhook-state.ts';

/**
 * Seconds from the first, second, … failed attempt to the next one. After the last of them the
 * events are dropped.
 */
export const RETRY_DELAYS_SECONDS = [
  5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
] as const;

/** End of the retries of an event, from its creation on. */
export const RETRY_MS = 76 * 3_600_000;

/** A webhook whose attempts fail is tested with one request at a time, at least this often. */
export const BREAKER: BreakerLimits = {
  troubles: 3,
  firstStopSeconds: 10,
  longestStopSeconds: 300,
};

/** `Retry-After` is heeded up to this time. */
const LONGEST_RETRY_AFTER_SECONDS = 3_600;

/** After failures only, for this long, an active webhook becomes `failing`. */
export const FAILING_AFTER_MS = 15 * 60_000;
/** After failures only, for this long, a failing webhook becomes `failed`. */
export const FAILED_AFTER_MS = 72 * 3_600_000;

/** Result of one attempt: an HTTP response, or the reason why there was none. */
export type DeliveryAnswer =
  | { kind: 'answered'; status: number; retryAfter: Date | null; body?: Buffer }
  | { kind: 'unanswered'; why: string };

/** Input of `decideDelivery`. */
export interface DeliveryAttempt {
  /** 1 for the first attempt. */
  attempt: number;
  /** How many events the request had. */
  events: number;
  answer: DeliveryAnswer;
  now: Date;
  /** End of all retries. The last attempt is made at this time, not before it. */
  giveUpAt: Date;
  /** Consecutive troubles of the webhook when the row was claimed (`ClaimedRow.gateFailures`). */
  troubles: number;
  /** 0 ≤ random < 1; spreads out the retries of many events. */
  random: number;
}

/** What to do with the events of a request. */
export type DeliveryDecision =
  | { kind: 'delivered' }
  /**
   * `counts`: whether the attempt uses up the schedule. It does not if the webhook is in trouble as
   * a whole. `pauseSeconds`: how long the receiver wants no requests at all; `null`: it did not say.
   */
  | { kind: 'retry'; at: Date; detail: string; counts: boolean; pauseSeconds: number | null }
  /** The request was too large for the receiver (413): repeat it at once with fewer events. */
  | { kind: 'too_large'; detail: string }
  | { kind: 'dropped'; detail: string }
  /** The receiver wants no more deliveries (410). */
  | { kind: 'gone'; detail: string };

/** Statuses whose `Retry-After` is used for the next attempt. */
const THROTTLED = [429, 503];

/**
 * Decides what to do after an attempt. Any 2xx status means that the events were delivered. After
 * any other result the attempt is repeated on the schedule, ± 20 %, until the attempts or the time
 * are used up. With 429 or 503, `Retry-After` can extend the pause to an hour. While the circuit
 * breaker of the webhook is stopped or testing, its pauses replace the schedule (docs/adr/0155).
 */
export function decideDelivery({
  attempt,
  events,
  answer,
  now,
  giveUpAt,
  troubles,
  random,
}: DeliveryAttempt): DeliveryDecision {
  const status = answer.kind === 'answered' ? answer.status : null;
  if (status !== null && status >= 200 && status < 300) return { kind: 'delivered' };
  const detail = describeAnswer(answer);
  if (status === 410) return { kind: 'gone', detail: `${detail}: the webhook is stopped` };
  if (status === 413 && events > 1) return { kind: 'too_large', detail };
  if (now >= giveUpAt)
    return { kind: 'dropped', detail: `${detail}; the time for retries is over` };
  const stopSeconds = breakerStopSeconds(troubles + 1);
  const delay = stopSeconds ?? RETRY_DELAYS_SECONDS[attempt - 1];
  if (delay === undefined)
    return { kind: 'dropped', detail: `${detail}; that was the last attempt` };
  const pauseSeconds = pauseOf(answer, now);
  const waitMs = Math.max(spread(delay * 1000, 0.2, random), (pauseSeconds ?? 0) * 1000);
  const at = new Date(Math.min(now.getTime() + waitMs, giveUpAt.getTime()));
  return { kind: 'retry', at, detail, counts: stopSeconds === null, pauseSeconds };
}

/** How long so many troubles in a row stop the breaker of a webhook; `null`: they do not. */
function breakerStopSeconds(troubles: number): number | null {
  if (troubles < BREAKER.troubles) return null;
  const seconds = BREAKER.firstStopSeconds * 2 ** (troubles - BREAKER.troubles);
  return Math.min(seconds, BREAKER.longestStopSeconds);
}

/** For how many seconds the receiver asks for no requests; `null`: it does not ask. */
function pauseOf(answer: DeliveryAnswer, now: Date): number | null {
  if (answer.kind !== 'answered' || !answer.retryAfter || !THROTTLED.includes(answer.status))
    return null;
  const seconds = (answer.retryAfter.getTime() - now.getTime()) / 1000;
  return seconds > 0 ? Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS) : null;
}

/** From this attempt on, a batch that fails alone is delivered in smaller ones. */
const CUT_FROM_ATTEMPT = 2;
/** From this attempt on, an event that fails alone no longer delays its lane. */
const SET_ASIDE_FROM_ATTEMPT = 4;

/** What to do with a batch that fails although other deliveries to the webhook succeed. */
export type Isolation = { kind: 'keep' } | { kind: 'cut'; to: number } | { kind: 'set aside' };

/**
 * Decides how to find the event of a batch that makes a healthy receiver fail. After the second
 * attempt a tenth of the batch is delivered, after the third one event. An event that fails four
 * times alone is set aside.
 * @param troubles see `DeliveryAttempt`
 */
export function isolationOf(events: number, attempt: number, troubles: number): Isolation {
  if (troubles > 0 || attempt < CUT_FROM_ATTEMPT) return { kind: 'keep' };
  if (events > 1)
    return { kind: 'cut', to: attempt === CUT_FROM_ATTEMPT ? Math.ceil(events / 10) : 1 };
  return attempt < SET_ASIDE_FROM_ATTEMPT ? { kind: 'keep' } : { kind: 'set aside' };
}

function describeAnswer(answer: DeliveryAnswer): string {
  if (answer.kind === 'unanswered') return answer.why;
  const redirect = answer.status >= 300 && answer.status < 400;
  return `the receiver answered ${answer.status}${redirect ? ' (redirects are not followed)' : ''}`;
}

/** State and failures of a webhook since its last success. */
export interface WebhookHealth {
  state: WebhookState;
  failingSince: Date | null;
  failures: number;
}

/** Results of a batch of attempts. */
export interface AttemptTally {
  delivered: number;
  failed: number;
  gone: boolean;
  /** What the last failed attempt got, for the log. */
  detail?: string | null;
}

/**
 * The webhook's state and failures after a batch of attempts that ended at `now`. Any success
 * clears the failures.
 */
export function healthAfter(health: WebhookHealth, tally: AttemptTally, now: Date): WebhookHealth {
  if (tally.gone) {
    return {
      state: changedState(health.state, 'failed'),
      failingSince: health.failingSince ?? now,
      failures: health.failures + tally.failed,
    };
  }
  if (tally.delivered > 0) {
    // A webhook that was stopped meanwhile stays stopped: only its owner can start it again.
    const state = health.state === 'failing' ? changedState(health.state, 'active') : health.state;
    return { state, failingSince: null, failures: 0 };
  }
  if (tally.failed === 0) return health;
  const failingSince = health.failingSince ?? now;
  const failingMs = now.getTime() - failingSince.getTime();
  let { state } = health;
  if (state === 'active' && failingMs >= FAILING_AFTER_MS) state = changedState(state, 'failing');
  else if (state === 'failing' && failingMs >= FAILED_AFTER_MS)
    state = changedState(state, 'failed');
  return { state, failingSince, failures: health.failures + tally.failed };
}

/** Changes the state only if `WEBHOOK_TRANSITIONS` allows it. */
function changedState(from: WebhookState, to: WebhookState): WebhookState {
  return canTransition<WebhookState>(WEBHOOK_TRANSITIONS, from, to) ? to : from;
}
