import type { ConferencingKind } from '../../providers/port/conferencing-port.ts';

/** Whether meetings of the kind count for the quota. Those of `link` are addresses: no service is asked to make them. */
export function isCounted(kind: ConferencingKind): boolean {
  return kind !== 'link';
}
