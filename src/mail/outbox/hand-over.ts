import type { Lease } from '../../platform/work/dispatcher.ts';
import type { SendControl } from '../../providers/port/connector.ts';
import { internalReason } from '../../platform/base/errors/internal-reason.ts';
import {
  ProviderError,
  type ProviderErrorCode,
  type SendPhase,
} from '../../platform/base/errors/provider-error.ts';

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

export interface HandOverFailure {
  code: ProviderErrorCode;
  /** How far it came; null: not even to a connection. */
  phase: SendPhase | null;
  /** The provider's words. */
  detail: string;
  retryAfterSeconds: number | null;
  /** A bug or our own database: it says nothing about the provider. */
  internal: boolean;
}

/**
 * What an error of a hand-over says, for messages and reminders alike. One that is no `ProviderError` is a bug or the database:
 * after the content began to leave, the outcome is unknown.
 * @param reached the last phase that has begun
 */
export function failureOf(error: unknown, reached: SendPhase | null): HandOverFailure {
  if (error instanceof ProviderError) {
    const { code, message: detail, retryAfterSeconds, phase } = error;
    return { code, phase: phase ?? reached, detail, retryAfterSeconds, internal: false };
  }
  const code = reached && IRREVOCABLE.includes(reached) ? 'outcome-unknown' : 'temporary';
  return {
    code,
    phase: reached,
    detail: internalReason(error),
    retryAfterSeconds: null,
    internal: true,
  };
}
