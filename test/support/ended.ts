import type { Outcome } from '../../src/platform/work/dispatcher.ts';

/** The outcome of a run that has done something. @throws when it gave its row back */
export function ended<R>(outcome: Outcome<R> | null): Outcome<R> {
  if (!outcome) throw new Error('the run gave its row back');
  return outcome;
}
