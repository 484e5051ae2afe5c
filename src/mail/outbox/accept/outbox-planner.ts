import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import type { SendRoute } from '../../../job-statuses/job-status.ts';
import type { RateGateDelay } from '../../../platform/work/gates/rate-gates.ts';
import { RelayRoutes } from '../../relay/relay-routes.ts';
import { OutboxPreparation, type OutboxRequest } from './outbox-preparation.ts';
import { type NewOutboxMessage, OutboxRepository } from '../outbox.repository.ts';
import { isFromItself } from '../../../formats/mime/sender-identity.ts';
import { plannedAttempts, plannedAttemptsWithRelay } from '../send/retry-policy.ts';

/** Above what any message can have: hourly attempts over seven days are 175. */
const MOST_ATTEMPTS = 200;

/** What would happen to a message if it were accepted. */
export interface OutboxPlan {
  message: Omit<NewOutboxMessage, 'mime'>;
  /** Bytes of the composed message. */
  size: number;
  /**
   * Attempts until the deadline if each failed at once. If nothing goes wrong, only the first is
   * made.
   */
  attempts: readonly { at: Date; route: SendRoute }[];
  /** Whether the application's mailing service would take over. */
  relayAvailable: boolean;
  delay: RateGateDelay;
}

/** Predicts what would happen to a message, with the code that would accept it. Stores nothing. */
@Injectable()
export class OutboxPlanner {
  constructor(
    private readonly preparation: OutboxPreparation,
    private readonly repository: OutboxRepository,
    private readonly relays: RelayRoutes,
  ) {}

  /** @throws {InvalidInputError} in the same cases as the real request */
  async plan(account: AccountPrincipal, request: OutboxRequest): Promise<OutboxPlan> {
    const checked = await this.preparation.check(account, request);
    const { mime, ...message } = await this.preparation.compose(checked, (compose) => compose());
    const [relayAvailable, delay] = await Promise.all([
      isFromItself(message.envelope.from, account) && this.relays.isOpen(account),
      this.repository.accountDelay(account.accountId),
    ]);
    const { sendAt, retryLimitAt } = message;
    // At its deadline a message is attempted even while its account's circuit breaker is stopped.
    const possible =
      delay.stoppedUntil && delay.stoppedUntil > sendAt ? delay.stoppedUntil : sendAt;
    const deadline = retryLimitAt > sendAt ? retryLimitAt : sendAt;
    const first = possible < deadline ? possible : deadline;
    return {
      message,
      size: mime.length,
      attempts: relayAvailable
        ? plannedAttemptsWithRelay(first, retryLimitAt, MOST_ATTEMPTS)
        : plannedAttempts(first, retryLimitAt, MOST_ATTEMPTS).map((at) => ({
            at,
            route: 'account' as const,
          })),
      relayAvailable,
      delay,
    };
  }
}
