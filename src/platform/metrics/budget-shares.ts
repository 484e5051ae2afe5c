import { monotonicMs } from '../base/time/clock.ts';

const SPAN_MS = 60_000;

interface Span {
  begunMs: number;
  lowest: Map<string, number>;
}

const emptySpan = (begunMs: number): Span => ({ begunMs, lowest: new Map() });
let previous = emptySpan(-Infinity);
let current = emptySpan(-Infinity);

/** Begins a new minute if the current one is over. */
function advance(): void {
  const now = monotonicMs();
  if (now - current.begunMs < SPAN_MS) return;
  previous = now - current.begunMs < 2 * SPAN_MS ? current : emptySpan(now);
  current = emptySpan(now);
}

/**
 * Notes how much of a provider's budgets was left when they were used.
 * @param left lowest share of the budgets that the request used, 0 to 1
 */
export function noteBudget(provider: string, left: number): void {
  advance();
  current.lowest.set(provider, Math.min(left, current.lowest.get(provider) ?? 1));
}

/** The lowest shares of the last one to two minutes, by provider. */
export function lowestBudgets(): Map<string, number> {
  advance();
  const lowest = new Map(previous.lowest);
  for (const [provider, left] of current.lowest)
    lowest.set(provider, Math.min(left, lowest.get(provider) ?? 1));
  return lowest;
}
