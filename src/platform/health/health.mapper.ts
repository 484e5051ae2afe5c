import type { CheckResult } from '../work/readiness.ts';
import type { ReadyView } from './health.schema.ts';

/** What the checks said, on the wire. */
export function toReadyView(results: readonly CheckResult[]): ReadyView {
  return {
    status: results.every(({ problem }) => problem === null) ? 'ready' : 'not_ready',
    checks: results.map(({ name, problem }) => ({
      name,
      ok: problem === null,
      ...(problem === null ? {} : { problem }),
    })),
  };
}
