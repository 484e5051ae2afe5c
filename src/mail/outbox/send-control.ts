import type { Lease } from '../../platform/work/dispatcher.ts';
import type { SendControl } from '../../providers/port/connector.ts';
import type { SendPhase } from '../../platform/base/errors/provider-error.ts';

/** The claim was lost before the end of the content left: nothing was sent, and somebody else may be sending it. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError';

  constructor() {
    super('given up before the end of the content was sent: the claim may be lost');
  }
}

const IRREVOCABLE: readonly SendPhase[] = ['content', 'confirmation'];

/**
 * Controls one send under a claim: a process that was paused or cut off on the way to the end of the content, perhaps for so
 * long that another has taken over and found nothing, finds out here. A long content may take minutes.
 * @param onPhase called with each phase that begins
 */
export function sendControl(lease: Lease, onPhase: (phase: SendPhase) => void): SendControl {
  return {
    signal: lease.signal,
    onPhase(phase) {
      if (IRREVOCABLE.includes(phase) && !lease.trusted()) throw new LeaseLostError();
      onPhase(phase);
    },
  };
}
