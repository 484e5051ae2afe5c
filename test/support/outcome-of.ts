import type { Outcome } from '../../src/platform/work/queue/dispatcher.ts';

/** The outcome of a run that settled its row. @throws if the run released the row */
export function outcomeOf<R>(outcome: Outcome<R> | null): Outcome<R> {
  if (!outcome) throw new Error('the run released its row');
  return outcome;
}
