import { spread } from '../../work/queue/backoff.ts';
import { canTransition } from '../../base/state/transitions.ts';
import { WEBHOOK_TRANSITIONS, type WebhookState } from '../webhook-state.ts';

/**
 * Seconds from the first, second, … failed attempt to the next one. After the last of them the
 * delivery is dropped.
 */
export const RETRY_DELAYS_SECONDS = [
  5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
] as const;

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
  answer: DeliveryAnswer;
  now: Date;
  /** End of all retries. The last attempt is made at this time, not before it. */
  giveUpAt: Date;
  /** 0 ≤ random < 1; spreads out the retries of many events. */
  random: number;
}

/** What to do with the delivery. `gone` is true if the receiver wants no more deliveries (410). */
export type DeliveryDecision =
  | { kind: 'delivered' }
  | { kind: 'retry'; at: Date; detail: string }
  | { kind: 'dropped'; detail: string; gone: boolean };

/** Statuses whose `Retry-After` is used for the next attempt. */
const THROTTLED = [429, 503];

/**
 * Decides what to do after an attempt. Any 2xx status means that the event was delivered. After any
 * other result the attempt is repeated on the schedule, ± 20 %, until the attempts or the time are
 * used up. With 429 or 503, `Retry-After` can extend the pause to at most twice its length. 410
 * ends the delivery at once (docs/adr/0011).
 */
export function decideDelivery({
  attempt,
  answer,
  now,
  giveUpAt,
  random,
}: DeliveryAttempt): DeliveryDecision {
  if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300)
    return { kind: 'delivered' };
  const detail = describeAnswer(answer);
  if (answer.kind === 'answered' && answer.status === 410) {
    return { kind: 'dropped', detail: `${detail}: the webhook is stopped`, gone: true };
  }
  const delay = RETRY_DELAYS_SECONDS[attempt - 1];
  if (delay === undefined)
    return { kind: 'dropped', detail: `${detail}; that was the last attempt`, gone: false };
  if (now >= giveUpAt)
    return { kind: 'dropped', detail: `${detail}; the time for retries is over`, gone: false };
  const earliest = now.getTime() + spread(delay * 1000, 0.2, random);
  const latest = now.getTime() + 2 * (earliest - now.getTime());
  const asked =
    answer.kind === 'answered' && THROTTLED.includes(answer.status)
      ? answer.retryAfter?.getTime()
      : undefined;
  const at = Math.min(Math.max(earliest, asked ?? earliest), latest, giveUpAt.getTime());
  return { kind: 'retry', at: new Date(at), detail };
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
