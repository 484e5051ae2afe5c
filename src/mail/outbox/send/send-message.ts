import { Inject, Injectable } from '@nestjs/common';
import { ByteBudget } from '../../../platform/base/concurrency/byte-budget.ts';
import { INTERNAL_REASON } from '../../../platform/base/errors/internal-reason.ts';
import { ProviderError, type SendPhase } from '../../../platform/base/errors/provider-error.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Database } from '../../../platform/database/sql.ts';
import type { Lease, Outcome } from '../../../platform/work/queue/dispatcher.ts';
import { ProviderAccounts } from '../../../accounts/grants/provider-accounts.ts';
import type { OutgoingMessage, SendReceipt } from '../../../providers/port/connector.ts';
import { failureOf, LeaseLostError, sendControl } from './hand-over.ts';
import { HostSlots } from './host-slots.ts';
import { decideRetry, type RetryInput, wantsRelay } from './retry-policy.ts';
import {
  type Attempt,
  type AttemptEnd,
  type LoadedAttempt,
  NOTHING_TO_SEND,
  type SendJobRow,
  type SendResult,
  type MessageToSend,
} from './send-attempt.ts';
import { inHandOverSpan } from './send-spans.ts';
import { UnknownOutcomes } from './unknown-outcomes.ts';
import { needsLookUp, isResent, isTooLate, lastStartOf, secondsMissed } from './send-limits.ts';
import { afterReceipt, remaining, withRefused, receiptText } from './send-recipients.ts';
import { signalOf, withTimeAfterStop } from './send-signal.ts';
import { concluded, earlierOutcome, lineOf, sent } from './send-verdict.ts';
import { SendRoutes, type OpenRoute } from './send-routes.ts';
import { whilePaused } from './paused-attempt.ts';
import type { OutboxMessage } from '../outbox-message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const ON_HOLD_TOO_LONG =
  'the account was moved to another mailbox after this message was accepted, and its send_at was not changed before the retry limit';
const NOT_FOR_SOME =
  'the mailing service that has delivered the message to the others is no longer available, and the account’s provider sends a message to all of its recipients or to none';
/** Total bytes of long messages in memory while servers receive them. */
export const MOST_LONG_BYTES = 256 * 1024 * 1024;
/**
 * Longer messages are loaded one by one. The engine loads up to 100 rows at once, so short messages
 * take at most 13 MB.
 */
const MOST_SHORT_BYTES = 128 * 1024;
/** SQL condition on the row `m` of a message whose text is loaded together with the row. */
export const SHORT_MIME = `octet_length(m.mime) <= ${MOST_SHORT_BYTES}`;
const LONG_MIME = 'select mime from outbox_message where id = $1 and account_id = $2';

/**
 * Sends one message (docs/outbox.md), for the queue and for requests that send at once. The caller
 * records the result.
 *
 * 1. If an earlier attempt has an unknown outcome, the message is looked up.
 * 2. If the message must not be sent any more, it ends. If sending is paused, it waits.
 * 3. The message is prepared, and the hand-off marker is committed.
 * 4. The server gets the message, for the recipients that have neither accepted nor refused it.
 * 5. The retry policy turns the result into the next state.
 */
@Injectable()
export class MessageSender {
  readonly #long = new ByteBudget(MOST_LONG_BYTES);
  readonly #hosts: HostSlots;
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly routes: SendRoutes,
    private readonly unknown: UnknownOutcomes,
    private readonly clock: Clock,
  ) {
    this.#hosts = new HostSlots(config.outbox.perHost);
  }

  /**
   * Makes one attempt.
   * @returns `null` if nothing was done, because the lease was lost or the account has new
   *   credentials. The row is then released as if it had never been claimed.
   * @throws any error before the hand-off that is not a `ProviderError`
   */
  async send(
    row: SendJobRow,
    message: MessageToSend,
    lease: Lease,
  ): Promise<Outcome<SendResult> | null> {
    const attempt = { ...this.#begin(row), message };
    const outcome =
      this.#onHoldTooLong(attempt) ??
      (await this.#lookUp(attempt)) ??
      this.#outdated(attempt) ??
      this.#overdue(attempt) ??
      whilePaused(attempt) ??
      (await this.#deliver(attempt, lease));
    if (!outcome) return outcome;
    const filesCopy = this.#filesCopy(attempt, outcome);
    const result = filesCopy ? { ...outcome.result, filesCopy } : outcome.result;
    if (!message.draft) return { ...outcome, result };
    const { accountId, applicationId } = message.account;
    const draft = { ...message.draft, accountId, applicationId };
    return { ...outcome, result: { ...result, draft } };
  }

  /**
   * Whether the sender's copy has to be filed if some recipients have the message now that it has
   * ended. A message that a look-up found over the account's route has its copy.
   */
  #filesCopy(
    { handedOff, route, message }: LoadedAttempt,
    { next, result: { move } }: Outcome<SendResult>,
  ): boolean {
    if (next.kind !== 'done' || !move) return false;
    const hasCopy = move.to === 'successful' && !handedOff && route === 'account';
    return !hasCopy && this.routes.filesCopy(route, message.account);
  }

  /** Result of an attempt that threw an error. The caller has logged the error. */
  afterError(row: SendJobRow, error: unknown): Outcome<SendResult> {
    const attempt = this.#begin(row);
    if (needsLookUp(row)) return this.unknown.stillUnknown(attempt, error);
    const end = {
      code: 'temporary',
      phase: null,
      detail: INTERNAL_REASON,
      internal: true,
    } as const;
    return this.#conclude(attempt, end, false);
  }

  /** Result for a message in quarantine: workers crashed several times while sending it. */
  quarantine(row: SendJobRow): Outcome<SendResult> {
    const reason = 'quarantined: workers crashed several times while sending this message';
    const attempt = lineOf(this.#begin(row), this.clock.now(), {
      outcome: 'unknown',
      detail: reason,
    });
    const move = { id: row.id, to: 'failed', reason } as const;
    return { next: { kind: 'done' }, result: { ...NOTHING_TO_SEND.result, move, attempt } };
  }

  #begin(row: SendJobRow): Attempt {
    const { route, failures } = row;
    return { row, startedAt: this.clock.now(), message: null, route, failures, handedOff: false };
  }

  /**
   * Ends a message that was on hold until its retry limit. Earlier attempts, if there were any,
   * used the old mailbox, so the new one is not searched for them.
   */
  #onHoldTooLong(attempt: LoadedAttempt): Outcome<SendResult> | null {
    const { row, startedAt } = attempt;
    if (!row.held) return null;
    const [code, rule] = row.ambiguous
      ? (['outcome-unknown', 'unknown'] as const)
      : (['temporary', 'deadline'] as const);
    const detail = row.ambiguous ? `${ON_HOLD_TOO_LONG}; ${earlierOutcome(row)}` : ON_HOLD_TOO_LONG;
    return concluded(attempt, startedAt, { code, phase: null, detail }, { kind: 'stop', rule });
  }

  /**
   * @returns `null` if no earlier attempt has an unknown outcome, or if the look-up proved that
   *   the message was not sent
   */
  async #lookUp(attempt: LoadedAttempt): Promise<Outcome<SendResult> | null> {
    if (!needsLookUp(attempt.row)) return null;
    const outdated = attempt.route === 'account' ? this.#outdated(attempt) : null;
    return outdated ?? this.unknown.settle(attempt);
  }

  /**
   * Ends the message if the user has to authenticate again. Its signal resets the circuit breaker,
   * so that the account's other messages end now instead of waiting.
   */
  #outdated(attempt: LoadedAttempt): Outcome<SendResult> | null {
    if (attempt.message.account.grantStatus !== 'invalid') return null;
    const unsure = needsLookUp(attempt.row) ? `; ${earlierOutcome(attempt.row)}` : '';
    const detail = `the account's credentials are out of date${unsure}`;
    const end = { code: 'auth-invalid', phase: null, detail } as const;
    const outcome = concluded(attempt, this.clock.now(), end, {
      kind: 'stop',
      rule: 'auth-invalid',
    });
    return withSignal(outcome, signalOf(attempt, end));
  }

  /**
   * Ends a message that was picked up too late to be sent.
   * @returns `null` if the message is in time
   */
  #overdue(attempt: LoadedAttempt): Outcome<SendResult> | null {
    const { row, startedAt } = attempt;
    const stop = (rule: 'unknown' | 'deadline' | 'missed', detail: string) => {
      const code = rule === 'unknown' ? 'outcome-unknown' : 'temporary';
      return concluded(attempt, startedAt, { code, phase: null, detail }, { kind: 'stop', rule });
    };
    if (isResent(row) && isTooLate(row, startedAt))
      return stop('unknown', 'the retry limit passed before the message could be sent again');
    const missed = secondsMissed(attempt);
    if (missed > 0)
      return stop(
        'missed',
        `found ${missed} s after its send time, which is later than max_lateness_seconds allows`,
      );
    return isTooLate(row, startedAt) ? stop('deadline', 'no attempt was possible in time') : null;
  }

  #deliver(attempt: LoadedAttempt, lease: Lease): Promise<Outcome<SendResult> | null> {
    const { mime, bytes } = attempt.message;
    const handOver = () => this.#handOver(attempt, lease);
    return mime ? handOver() : this.#long.run(bytes, handOver);
  }

  async #handOver(attempt: LoadedAttempt, lease: Lease): Promise<Outcome<SendResult> | null> {
    let phase: SendPhase | null = null;
    try {
      const opened = await this.#openRoute(attempt);
      if (opened.recipientsFrom === 'headers') {
        if (attempt.message.accepted.length > 0) return this.#notForSome(attempt);
        addressAll(attempt);
      }
      const outgoing = await this.#prepare(attempt.message);
      if (!outgoing) return NOTHING_TO_SEND;
      const control = sendControl(lease, (reached) => (phase = reached));
      const receipt = await this.#hosts.run(opened.host, async () => {
        if (!(await lease.handOff())) return null;
        attempt.handedOff = true;
        return inHandOverSpan(attempt, () => opened.send(outgoing, control));
      });
      if (!receipt) return null;
      phase = 'confirmation';
      return await this.#received(attempt, outgoing, receipt);
    } catch (error) {
      if (error instanceof LeaseLostError) return null;
      // Nothing was handed off: the engine handles the error.
      if (!(error instanceof ProviderError) && !attempt.handedOff) throw error;
      const { message } = attempt;
      const end = endOf(error, phase, message);
      // The provider refused credentials that have been renewed since: this attempt does not count.
      if (end.code === 'auth-invalid' && attempt.route === 'account') {
        if (await this.accounts.isRenewed(message.account)) return null;
      }
      return this.#failed(attempt, end);
    }
  }

  /**
   * Opens the route of the attempt. A message whose mailing service was removed goes over its
   * account.
   */
  async #openRoute(attempt: LoadedAttempt): Promise<OpenRoute> {
    const opened = await this.routes.find(attempt.route, attempt.message);
    if (opened) return opened;
    attempt.route = 'account';
    return (await this.routes.find('account', attempt.message)) as OpenRoute;
  }

  /**
   * Ends a message that a mailing service has delivered to some of its recipients, if only the
   * account's provider is left and it sends every message to all recipients (ADR 0076).
   */
  #notForSome(attempt: LoadedAttempt): Outcome<SendResult> {
    const end = { code: 'unsupported', phase: null, detail: NOT_FOR_SOME } as const;
    return concluded(attempt, this.clock.now(), end, { kind: 'stop', rule: 'partly-sent' });
  }

  /** @returns `null` if the message was deleted */
  async #prepare(message: MessageToSend): Promise<OutgoingMessage | null> {
    const mime = message.mime ?? (await this.#fetch(message));
    if (!mime) return null;
    const { messageIdHeader, bcc, providerThreadId: threadId } = message;
    const recipients = remaining(message.envelope.recipients, message);
    const envelope = { from: message.envelope.from, recipients };
    return { mime, envelope, messageIdHeader, bcc, threadId };
  }

  /**
   * Loads long texts one at a time: on its way from the database, each takes several times its
   * length in memory.
   */
  #fetch({ id, account }: MessageToSend): Promise<Buffer | undefined> {
    const fetched = this.#fetching.then(async () => {
      const [row] = await this.database.query<RowOf<OutboxMessage, 'mime'>>(LONG_MIME, [
        id,
        account.accountId,
      ]);
      return row?.mime;
    });
    // The caller receives the error; the next text is loaded in any case.
    this.#fetching = fetched.catch(() => undefined);
    return fetched;
  }

  async #received(
    attempt: LoadedAttempt,
    { envelope }: OutgoingMessage,
    receipt: SendReceipt,
  ): Promise<Outcome<SendResult>> {
    const { rest, ...recipients } = afterReceipt(attempt.message, envelope.recipients, receipt);
    const detail = receiptText(receipt);
    if (rest.length > 0) {
      const acceptedBySome = receipt.accepted.length > 0;
      return this.#failed(attempt, {
        code: 'temporary',
        phase: 'confirmation',
        detail,
        recipients,
        acceptedBySome,
      });
    }
    const first =
      attempt.message.accepted.length + recipients.refused.length === 0 && !attempt.readdressed;
    const end = { detail, phase: 'confirmation' } as const;
    const outcome = sent(attempt, this.clock.now(), end, first ? null : recipients);
    const { stored } = receipt;
    const result = stored ? { ...outcome.result, stored } : outcome.result;
    return withSignal({ ...outcome, result }, signalOf(attempt, null));
  }

  async #failed(attempt: LoadedAttempt, end: AttemptEnd): Promise<Outcome<SendResult>> {
    const { message } = attempt;
    const asks = wantsRelay(this.#inputOf(attempt, end));
    const relay = asks && (await this.routes.hasRelay(message));
    const outcome = this.#conclude(attempt, end, relay);
    const signal = signalOf(attempt, end);
    if (!signal || signal.kind === 'well') return withSignal(outcome, signal);
    if (end.ownLimit || (!relay && !(await this.routes.isRelayOpen(message))))
      return withSignal(withTimeAfterStop(outcome, signal, this.clock.now(), attempt.row), signal);
    // This message can go over the mailing service, so trouble with the account's server must not
    // make messages wait.
    return withSignal(outcome, attempt.row.gateFailures > 0 ? { kind: 'well' } : undefined);
  }

  #conclude(attempt: Attempt, end: AttemptEnd, relayAvailable: boolean): Outcome<SendResult> {
    const input = this.#inputOf(attempt, end);
    const decision = decideRetry({ ...input, relayAvailable, random: Math.random() });
    return concluded({ ...attempt, failures: input.failures }, input.now, end, decision);
  }

  #inputOf(
    { row, route, failures }: Attempt,
    end: AttemptEnd,
  ): Omit<RetryInput, 'relayAvailable' | 'random'> {
    const now = this.clock.now();
    return {
      code: end.code,
      route,
      failures: end.ownLimit ? failures : failures + 1,
      // Clocks differ by milliseconds. A message with a single attempt has its deadline at its due
      // time, and a clock that is behind would allow it a second attempt.
      now: now < row.dueAt ? row.dueAt : now,
      retryLimitAt: row.retryLimitAt,
      lastStartAt: row.direct ? row.retryLimitAt : lastStartOf(row),
      retryAfterSeconds: end.retryAfterSeconds ?? null,
      ownLimit: end.ownLimit ?? false,
      retryRejected: this.config.outbox.retryRejected,
    };
  }
}

/**
 * Addresses a message again to all of its recipients, after a mailing service has refused some of
 * them and delivered it to none. Its refusals do not bind the account's provider.
 */
function addressAll(attempt: LoadedAttempt): void {
  if (attempt.message.refused.length === 0) return;
  attempt.message = { ...attempt.message, refused: [] };
  attempt.readdressed = true;
}

function withSignal(
  outcome: Outcome<SendResult>,
  gate: Outcome<SendResult>['gate'],
): Outcome<SendResult> {
  return gate ? { ...outcome, gate } : outcome;
}

function endOf(error: unknown, reached: SendPhase | null, message: MessageToSend): AttemptEnd {
  const end = failureOf(error, reached);
  if (!(error instanceof ProviderError)) return end;
  const { refused, deferred } = error;
  if (end.code === 'rejected') return { ...end, refused };
  if (end.code !== 'outcome-unknown') return end;
  // The outcome is unknown only for recipients that were neither refused nor deferred.
  return {
    ...end,
    deferred: deferred.map(({ email }) => email),
    ...(refused.length > 0 ? { recipients: withRefused(message, refused) } : {}),
  };
}
