import type { Outcome } from '../../../platform/work/queue/dispatcher.ts';
import { type LoadedAttempt, NOTHING_TO_SEND, type SendResult } from './send-attempt.ts';
import { deadlineOf, missedFrom } from './send-limits.ts';
import { concluded } from './send-verdict.ts';

/**
 * How long a paused message waits at most before a worker looks at it again. Resuming makes it due
 * at once, so this is only a safeguard.
 */
const LOOK_AGAIN_MS = 24 * 3_600_000;

/**
 * Lets a message wait while sending is paused: until it is resumed, or until the message must end.
 * A message whose deadline has come fails, because it must not be sent later.
 * @returns `null` if sending is not paused
 */
export function whilePaused(attempt: LoadedAttempt): Outcome<SendResult> | null {
  const { row, startedAt, message } = attempt;
  const { pause } = message.account;
  if (!pause) return null;
  const deadline = deadlineOf(row);
  if (startedAt >= deadline) {
    const end = { code: 'temporary', phase: null, detail: pause.text } as const;
    return concluded(attempt, startedAt, end, { kind: 'stop', rule: 'deadline' });
  }
  const ends = [startedAt.getTime() + LOOK_AGAIN_MS, deadline.getTime()];
  const missed = missedFrom(attempt);
  if (missed) ends.push(missed.getTime());
  const at = new Date(Math.max(Math.min(...ends), startedAt.getTime() + 1000));
  const move = { id: row.id, to: 'delayed', reason: pause.text } as const;
  return {
    next: { kind: 'again', at, ambiguous: row.ambiguous },
    result: { ...NOTHING_TO_SEND.result, move, paused: true },
  };
}
