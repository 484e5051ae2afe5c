import type { Lease } from '../../../platform/work/queue/dispatcher.ts';
import { BudgetExhaustedError } from '../../../platform/budgets/budget-exhausted-error.ts';
import type { SendControl } from '../../../providers/port/connector.ts';
import { internalReason } from '../../../platform/base/errors/internal-reason.ts';
import {
  ProviderError,
  type ProviderErrorCode,
  type SendPhase,
} from '../../../platform/base/errors/provider-error.ts';

/**
 * The claim was lost before the end of the content left. Nothing was sent, and another worker may
 * be sending the message.
 */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError';

  constructor() {
    super('stopped before the end of the content was sent, because the claim may be lost');
  }
}

const IRREVOCABLE: readonly SendPhase[] = ['content', 'confirmation'];

/**
 * Controls one send under a claim. Before the content begins, and again before its end, it checks
 * that the claim is still ours. A process that was paused or cut off may have lost it: another
 * worker may have looked the message up, found nothing and sent it. A long content may take
 * minutes.
 * @param onPhase called when a phase begins
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

/** Why a hand-over failed, and how far it came. */
export interface HandOverFailure {
  code: ProviderErrorCode;
  /** The last phase that was reached, or `null` if there was no connection. */
  phase: SendPhase | null;
  /** Text of the provider's response. */
  detail: string;
  /** The server that was asked, for operators; `null` if none was. */
  server: string | null;
  retryAfterSeconds: number | null;
  /**
   * True for a bug or a failure of our own database. The failure then says nothing about the
   * provider.
   */
  internal: boolean;
  /** True if our own limit on requests kept the provider from being asked. */
  ownLimit: boolean;
}

/**
 * Describes an error of a hand-over, for messages and reminders alike. An error that is not a
 * `ProviderError` is a bug or a database failure. Its outcome is unknown once the content has begun
 * to leave, else the failure is temporary.
 * @param reached the last phase that has begun
 */
export function failureOf(error: unknown, reached: SendPhase | null): HandOverFailure {
  if (error instanceof ProviderError) {
    const { code, message: detail, retryAfterSeconds, server } = error;
    const ownLimit = error instanceof BudgetExhaustedError;
    const phase = error.phase ?? reached;
    return { code, phase, detail, server, retryAfterSeconds, internal: false, ownLimit };
  }
  const code = reached && IRREVOCABLE.includes(reached) ? 'outcome-unknown' : 'temporary';
  return {
    code,
    phase: reached,
    detail: internalReason(error),
    server: null,
    retryAfterSeconds: null,
    internal: true,
    ownLimit: false,
  };
}
