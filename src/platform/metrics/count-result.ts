import type { Counter } from 'prom-client';
import { objectRequests } from './object-metrics.ts';
import { providerRequests, syncPasses, tokenRefreshes } from './sync-metrics.ts';

/** Results that alerts look for, of each counter. */
const RESULTS = new Map<Counter, { label: string; values: readonly string[] }>([
  [syncPasses, { label: 'result', values: ['current', 'failed', 'stalled'] }],
  [tokenRefreshes, { label: 'result', values: ['refreshed', 'refused', 'failed'] }],
  [providerRequests, { label: 'status', values: ['200', '429', '500', '503', 'none'] }],
  [objectRequests, { label: 'result', values: ['ok', 'failed'] }],
]);

const seen = new Set<string>();

/**
 * Counts a result of something that has a name, such as a provider. With the first result of a
 * name, series of the usual results begin with 0: Prometheus sees no increase in a series that
 * begins with 1.
 * @param name label and value of the name
 */
export function countResult(
  counter: Counter,
  [label, name]: readonly [label: 'provider' | 'service' | 'operation', name: string],
  result: string,
): void {
  const results = RESULTS.get(counter);
  if (!results) throw new Error('a counter without results');
  const key = `${label} ${name} ${results.label}`;
  if (!seen.has(key)) {
    seen.add(key);
    for (const value of results.values) counter.inc({ [label]: name, [results.label]: value }, 0);
  }
  counter.inc({ [label]: name, [results.label]: result });
}
