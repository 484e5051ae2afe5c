import { Inject, Injectable } from '@nestjs/common';
import { internalReason } from '../../../platform/base/errors/internal-reason.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import type { Outcome } from '../../../platform/work/queue/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { ProviderAccounts } from '../../../accounts/grants/provider-accounts.ts';
import type { SentLookup } from '../../../providers/port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { OnUnknown } from '../accept/outbox-content.ts';
import { decideLookUp, decideRetry, decideUnproven, isRelayDue } from './retry-policy.ts';
import type {
  Attempt,
  AttemptEnd,
  LoadedAttempt,
  MessageToSend,
  SendResult,
} from './send-attempt.ts';
import { deadlineOf, lastStartOf, missedFrom, resendLimitOf } from './send-limits.ts';
import { deferredBefore, remaining } from './send-recipients.ts';
import { concluded, type Decision, earlierOutcome, sent } from './send-verdict.ts';
import { SendRoutes, tracesOf } from './send-routes.ts';

const PROVES_NOTHING = 'it was not found among the sent messages, which proves nothing';
const SIMILAR =
  'a message with the same recipients and subject was found among the sent messages, which may be this one';
const FOUND = 'found among the sent messages';
const NOT_FOUND = 'the outcome is unknown, and it was not found among the sent messages';
const FAILED_OVER = 'the database failed over, and may lack an attempt to send it';
/** Time that a look-up has before the message would be too late. */
const LOOK_UP_MS = 5_000;

/** Finds out whether an earlier attempt of unknown outcome sent its message (ADR 0019). */
@Injectable()
export class UnknownOutcomes {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly routes: SendRoutes,
    private readonly accounts: ProviderAccounts,
    private readonly clock: Clock,
  ) {}

  /**
   * Looks the message up where it was handed over.
   * @returns `null` if the message was not sent; it may be sent now over `attempt.route`
   */
  async settle(attempt: LoadedAttempt): Promise<Outcome<SendResult> | null> {
    let looked: SentLookup;
    try {
      looked = await this.#lookUp(attempt);
    } catch (error) {
      return this.#failed(attempt, error);
    }
    const { row, message, startedAt } = attempt;
    // All attempts use one Message-ID. If some recipients accepted the message in an earlier
    // attempt, the copy that was found may be theirs.
    if (looked.found && message.accepted.length === 0)
      return this.#found({ ...attempt, handedOff: true });
    if (looked.found || !looked.conclusive) return this.#unproven(attempt, looked.similar === true);
    // What failed over without an attempt is as late as any message that had to wait.
    if (!row.attemptAssumed && startedAt >= row.retryLimitAt) {
      const end = { code: 'temporary', phase: null, detail: NOT_FOUND } as const;
      return concluded(attempt, this.clock.now(), end, { kind: 'stop', rule: 'deadline' });
    }
    if (isRelayDue(attempt.route, attempt.failures) && (await this.routes.hasRelay(message))) {
      attempt.route = 'relay';
      attempt.failures = 0;
    }
    return null;
  }

  /** Result of a look-up that failed: the outcome stays unknown. */
  stillUnknown(attempt: Attempt, error: unknown): Outcome<SendResult> {
    const { attempt: made, retryLimitAt } = attempt.row;
    const words = error instanceof ProviderError ? error.message : internalReason(error);
    const detail = `it could not be looked up: ${words}`;
    const now = this.clock.now();
    // Each attempt either failed or was a look-up. The few that only waited for our own limit count
    // as look-ups here; they make the next wait longer.
    const lookUps = made - attempt.failures;
    const onUnknown = attempt.message ? this.#onUnknown(attempt.message) : 'fail';
    const decision = inTime(attempt, decideLookUp(lookUps, now, retryLimitAt), now, onUnknown);
    return concluded(attempt, now, unknownEnd(attempt, detail), decision);
  }

  #onUnknown({ onUnknown }: MessageToSend): OnUnknown {
    return onUnknown ?? this.config.outbox.onUnknown;
  }

  async #lookUp({ route, message, row }: LoadedAttempt): Promise<SentLookup> {
    const opened = await this.routes.find(route, message);
    // The mailing service that received the message was removed, so the message cannot be looked
    // up.
    if (!opened) return { found: false, conclusive: false };
    const traces = tracesOf(message, row);
    return opened.findSent(message.messageIdHeader, traces);
  }

  async #failed(attempt: LoadedAttempt, error: unknown): Promise<Outcome<SendResult>> {
    if (!(error instanceof ProviderError)) {
      // A failure of our own database says nothing about the message: the engine tries again.
      if (databaseTrouble(error)) throw error;
      return this.stillUnknown(attempt, error);
    }
    const { account } = attempt.message;
    const refused = error.code === 'auth-invalid' && attempt.route === 'account';
    if (!refused || (await this.accounts.isRenewed(account)))
      return this.stillUnknown(attempt, error);
    const detail = `${error.message}; ${earlierOutcome(attempt.row)}`;
    const end = { code: 'auth-invalid', phase: error.phase, detail } as const;
    return concluded(attempt, this.clock.now(), end, { kind: 'stop', rule: 'auth-invalid' });
  }

  #found(attempt: LoadedAttempt): Outcome<SendResult> {
    const { row, route, failures, message } = attempt;
    const now = this.clock.now();
    const deferred = deferredBefore(row);
    const end = { detail: FOUND, phase: 'confirmation' } as const;
    if (deferred.length === 0) return sent(attempt, now, end, null);
    const accepted = remaining(message.envelope.recipients, {
      accepted: deferred,
      refused: message.refused,
    });
    const { retryLimitAt } = row;
    const [code, retryRejected] = ['temporary', false] as const;
    const decision = decideRetry({
      code,
      route,
      failures,
      now,
      retryLimitAt,
      lastStartAt: lastStartOf(row),
      retryRejected,
      retryAfterSeconds: null,
      ownLimit: false,
      relayAvailable: false,
      random: Math.random(),
    });
    const rest = {
      code,
      phase: end.phase,
      detail: `${FOUND}; deferred: ${deferred.join(', ')}`,
      recipients: { accepted, refused: message.refused },
      acceptedBySome: true,
    };
    return concluded(attempt, now, rest, decision);
  }

  /** @param similar whether the message may be one that was found: it is not sent again then */
  #unproven(attempt: LoadedAttempt, similar: boolean): Outcome<SendResult> {
    const { row, message } = attempt;
    const lookUps = row.lookUps + 1;
    const now = this.clock.now();
    const onUnknown = similar ? 'fail' : this.#onUnknown(message);
    const next = decideUnproven(lookUps, now, resendLimitOf(row), onUnknown);
    const decision = inTime(attempt, next, now, onUnknown);
    const end = unknownEnd(attempt, similar ? SIMILAR : PROVES_NOTHING);
    return concluded({ ...attempt, row: { ...row, lookUps } }, now, end, decision);
  }
}

function unknownEnd({ row: { attemptAssumed } }: Attempt, detail: string): AttemptEnd {
  const text = attemptAssumed ? `${FAILED_OVER}; ${detail}` : detail;
  return { code: 'outcome-unknown', phase: null, detail: text };
}

/**
 * Sends a message that may arrive twice, and of which no attempt is known, instead of a look-up
 * after which it would be too late (ADR 0139).
 * @param decision what follows otherwise
 */
function inTime(attempt: Attempt, decision: Decision, now: Date, onUnknown: OnUnknown): Decision {
  if (!attempt.row.attemptAssumed || onUnknown === 'fail' || decision.kind !== 'retry')
    return decision;
  const ends = [deadlineOf(attempt.row), missedFrom(attempt)].flatMap((end) => end ?? []);
  const last = Math.min(...ends.map((end) => end.getTime()));
  const hasTime = decision.at.getTime() <= last - LOOK_UP_MS;
  return hasTime || now.getTime() >= last ? decision : { kind: 'resend', rule: 'resend' };
}
