import { sendAttempts, sendsEnded } from '../../../platform/metrics/queue-metrics.ts';
import type { AttemptRecord } from '../../../job-statuses/job-attempts.ts';
import type { JobTransition } from '../../../job-statuses/jobs.ts';

/** Counts attempts, after their records were committed. */
export function countAttempts(attempts: readonly AttemptRecord[]): void {
  for (const attempt of attempts) {
    const { route, code } = attempt;
    const outcome = outcomeOf(attempt);
    sendAttempts.inc({ outcome, route: route ?? 'none', code: code ?? 'none' });
  }
}

/** Counts messages that reached a final state, after that was committed. */
export function countEnds(moves: readonly Pick<JobTransition, 'to'>[]): void {
  for (const { to } of moves)
    if (to === 'successful' || to === 'failed') sendsEnded.inc({ status: to });
}

function outcomeOf({ outcome, nextAt }: AttemptRecord): string {
  if (outcome !== 'not-sent') return outcome;
  return nextAt === null ? 'failed' : 'retried';
}
