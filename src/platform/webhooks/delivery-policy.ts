import { spread } from '../work/backoff.ts';
import { canTransition } from '../base/state/transitions.ts';
import { WEBHOOK_TRANSITIONS, type WebhookState } from './webhook-state.ts';

/** Seconds from the first, second, … failed attempt to the next one; after the last of them the delivery is dropped. */
export const RETRY_DELAYS_SECONDS = [
  5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
] as const;

/** Only failures for this long: `failing`. */
export const FAILING_AFTER_MS = 15 * 60_000;
/** Only failures for this long: `failed`. */
export const FAILED_AFTER_MS = 72 * 3_600_000;

/** How one attempt ended. */
export type DeliveryAnswer =
  | { kind: 'answered'; status: number; retryAfter: Date | null }
  | { kind: 'unanswered'; why: string };

/** What `decideDelivery` needs to know. */
export interface DeliveryAttempt {
  /** 1 for the first. */
  attempt: number;
  answer: DeliveryAnswer;
  now: Date;
  /** The end of all attempts; the last one is at it, not before it. */
  giveUpAt: Date;
  /** 0 ≤ random < 1: spreads the retries of many events. */
  random: number;
}

/** What becomes of the delivery. `gone`: the receiver wants nothing more (410). */
export type DeliveryDecision =
  | { kind: 'delivered' }
  | { kind: 'retry'; at: Date; detail: string }
  | { kind: 'dropped'; detail: string; gone: boolean };

/** Answers that name the time of the next attempt. */
const THROTTLED = [429, 503];

/**
 * Any 2xx is a delivery. Everything else is repeated on the schedule, ± 20 %, until the attempts or the time are used
 * up; a throttling receiver may ask for up to twice the pause. 410 ends it at once.
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
  const detail = words(answer);
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

function words(answer: DeliveryAnswer): string {
  if (answer.kind === 'unanswered') return answer.why;
  const redirect = answer.status >= 300 && answer.status < 400;
  return `the receiver answered ${answer.status}${redirect ? ' (redirects are not followed)' : ''}`;
}

/** How a webhook has been doing since its last success. */
export interface WebhookHealth {
  state: WebhookState;
  failingSince: Date | null;
  failures: number;
}

/** What a batch of attempts came to. */
export interface AttemptTally {
  delivered: number;
  failed: number;
  gone: boolean;
}

/** The webhook's health after a batch of attempts that ended at `now`. Any success clears the counters. */
export function healthAfter(health: WebhookHealth, tally: AttemptTally, now: Date): WebhookHealth {
  if (tally.gone) {
    return {
      state: moved(health.state, 'failed'),
      failingSince: health.failingSince ?? now,
      failures: health.failures + tally.failed,
    };
  }
  if (tally.delivered > 0) {
    // A webhook that was stopped meanwhile stays so: only its owner starts it again.
    const state = health.state === 'failing' ? moved(health.state, 'active') : health.state;
    return { state, failingSince: null, failures: 0 };
  }
  if (tally.failed === 0) return health;
  const failingSince = health.failingSince ?? now;
  const failingMs = now.getTime() - failingSince.getTime();
  let { state } = health;
  if (state === 'active' && failingMs >= FAILING_AFTER_MS) state = moved(state, 'failing');
  else if (state === 'failing' && failingMs >= FAILED_AFTER_MS) state = moved(state, 'failed');
  return { state, failingSince, failures: health.failures + tally.failed };
}

/** The table of moves has the last word. */
function moved(from: WebhookState, to: WebhookState): WebhookState {
  return canTransition<WebhookState>(WEBHOOK_TRANSITIONS, from, to) ? to : from;
}
