import { Inject, Injectable } from '@nestjs/common';
import { INTERNAL_REASON, internalReason } from '../../platform/base/errors/internal-reason.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ByteBudget } from '../../platform/base/concurrency/byte-budget.ts';
import type {
  Dispatcher, LateRow, Lease, LoadingLease, Outcome, QueueTable, Settled,
} from '../../platform/work/dispatcher.ts'; // prettier-ignore
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import type { OutgoingMessage, SendReceipt } from '../../providers/port/connector.ts';
import { ProviderError, type SendPhase } from '../../platform/base/errors/provider-error.ts';
import { LeaseLostError, sendControl } from './send-control.ts';
import { decideRetry, type RetryInput, wantsRelay } from './retry-policy.ts';
import { type Attempt, type AttemptEnd, NOTHING, type SendJobRow, type SendResult } from './send-attempt.ts';
import { SendDoubts } from './send-doubts.ts';
import { afterReceipt, remaining, withRefused } from './send-recipients.ts';
import { recordLateSends, recordSends } from './send-recording.ts';
import {
  concluded,
  isInDoubt,
  isResent,
  isTooLate,
  lineOf,
  secondsMissed,
  sent,
  signalOf,
  UNSURE,
  words,
} from './send-verdict.ts';
import { SendWays, type SendWay } from './send-ways.ts';
import { HELD } from './sends-of-account.ts';
import { MESSAGE_LOADING, type StoredMessage, StoredMessages } from './stored-messages.ts';

type Loaded = Attempt & { message: StoredMessage };

const HELD_TOO_LONG =
  'the account was moved to another mailbox after this message was accepted, and it got no new send_at';
/** Bytes of long messages in hand while servers take them. */
const MOST_LONG_BYTES = 256 * 1024 * 1024;

/**
 * Sends one message of the outbox (spec 8, docs/outbox.md): look first where an earlier attempt is in doubt, commit the
 * hand-off marker, send once to those who have not got it yet, and turn what came back into the next state by the retry
 * policy.
 */
@Injectable()
export class SendDispatcher implements Dispatcher<SendJobRow, SendResult> {
  readonly table: QueueTable = {
    queue: 'send',
    table: 'send_job',
    gateColumn: 'account_id',
    columns: {
      retryLimitAt: 'retry_limit_at',
      route: 'route',
      failures: 'failures',
      lookUps: 'look_ups',
      resendAttempt: 'resend_attempt',
      putOff: 'put_off',
      held: 'held',
    },
    breaker: true,
    inertUntilHandOff: true,
    deadlineColumn: 'retry_limit_at',
    loading: MESSAGE_LOADING,
  };
  readonly slots: number;
  readonly #retryRejected: boolean;
  readonly #long = new ByteBudget(MOST_LONG_BYTES);

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly messages: StoredMessages,
    private readonly accounts: ProviderAccounts,
    private readonly ways: SendWays,
    private readonly doubts: SendDoubts,
    private readonly clock: Clock,
  ) {
    this.slots = config.outbox.slots;
    this.#retryRejected = config.outbox.retryRejected;
  }

  async run(job: SendJobRow, lease: LoadingLease): Promise<Outcome<SendResult> | null> {
    if (job.held && this.clock.now() < job.retryLimitAt) return heldUntilDeadline(job);
    const plain = !job.ambiguous && job.route === 'account' && !isTooLate(job, this.clock.now());
    const message = await this.messages.find(lease, plain);
    // The account was deleted, or the job settled by somebody else: there is nothing left to send.
    if (!message || (message.status !== 'pending' && message.status !== 'delayed')) return NOTHING;
    return this.attempt(job, message, lease);
  }

  /** The same with a message that is at hand. */
  async attempt(job: SendJobRow, message: StoredMessage, lease: Lease): Promise<Outcome<SendResult> | null> {
    const outcome = await this.#settle({ ...this.#begin(job), message }, lease);
    if (!outcome || !message.draft) return outcome;
    const { accountId, applicationId } = message.account;
    const draft = { ...message.draft, accountId, applicationId };
    return { ...outcome, result: { ...outcome.result, draft } };
  }

  async #settle(attempt: Loaded, lease: Lease): Promise<Outcome<SendResult> | null> {
    const { job, message } = attempt;
    if (job.held) return this.#heldTooLong(attempt);
    const outdated = message.account.grantStatus === 'invalid';
    if (isInDoubt(job)) {
      if (outdated && job.route === 'account') return this.#outdated(attempt);
      const earlier = await this.doubts.settle(attempt);
      if (earlier) return earlier;
    }
    if (outdated) return this.#outdated(attempt);
    const overdue = this.#overdue(attempt);
    if (overdue) return overdue;
    const send = () => this.#send(attempt, lease);
    return message.mime ? send() : this.#long.run(message.bytes, send);
  }

  onError(job: SendJobRow, error: unknown): Outcome<SendResult> {
    const attempt = this.#begin(job);
    if (isInDoubt(job)) return this.doubts.stillInDoubt(attempt, error);
    return this.#conclude(attempt, surprise(null), false);
  }

  onPoison(job: SendJobRow): Outcome<SendResult> {
    const now = this.clock.now();
    const reason = 'set aside: sending it ended its worker several times';
    const attempt = lineOf(this.#begin(job), now, { outcome: 'unknown', detail: reason });
    const move = { id: job.id, to: 'failed', reason } as const;
    return { next: { kind: 'done' }, result: { ...NOTHING.result, move, attempt } };
  }

  record(sql: Sql, settled: readonly Settled<SendJobRow, SendResult>[]): Promise<void> {
    return recordSends(sql, settled, this.clock.now());
  }

  recordLate(sql: Sql, late: readonly LateRow[]): Promise<void> {
    return recordLateSends(sql, late, this.clock.now());
  }

  #begin(job: SendJobRow): Attempt {
    const { route, failures } = job;
    return { job, startedAt: this.clock.now(), message: null, route, failures, handedOff: false };
  }

  /** The user has to authenticate again. What else waits for the account need not wait to hear it. */
  #outdated(attempt: Loaded): Outcome<SendResult> {
    const unsure = isInDoubt(attempt.job) ? `; ${UNSURE}` : '';
    const detail = `the account's credentials are out of date${unsure}`;
    const end = { code: 'auth-invalid', phase: null, detail } as const;
    const outcome = concluded(attempt, this.clock.now(), end, { kind: 'stop', rule: 'auth-invalid' });
    return withSignal(outcome, signalOf(attempt, end));
  }

  /** Found when it must not be sent any more; null: it is in time. */
  #overdue(attempt: Loaded): Outcome<SendResult> | null {
    const { job, startedAt } = attempt;
    const stop = (rule: 'unknown' | 'deadline' | 'missed', detail: string) => {
      const code = rule === 'unknown' ? 'outcome-unknown' : 'temporary';
      return concluded(attempt, startedAt, { code, phase: null, detail }, { kind: 'stop', rule });
    };
    if (isResent(job) && isTooLate(job, startedAt))
      return stop('unknown', 'the retry limit came before it could be sent again');
    const missed = secondsMissed(attempt);
    if (missed > 0) return stop('missed', `found ${missed} s after its time, and it is to be skipped then`);
    return isTooLate(job, startedAt)
      ? stop('deadline', 'no attempt was possible before the retry limit')
      : null;
  }

  /** Held until its retry limit: it ends here, and the new mailbox is not asked about an attempt at the old one. */
  #heldTooLong(attempt: Loaded): Outcome<SendResult> {
    const { job, startedAt } = attempt;
    const [code, rule] = job.ambiguous
      ? (['outcome-unknown', 'unknown'] as const)
      : (['temporary', 'deadline'] as const);
    const detail = job.ambiguous ? `${HELD_TOO_LONG}; ${UNSURE}` : HELD_TOO_LONG;
    return concluded(attempt, startedAt, { code, phase: null, detail }, { kind: 'stop', rule });
  }

  async #send(attempt: Loaded, lease: Lease): Promise<Outcome<SendResult> | null> {
    const { message } = attempt;
    let phase: SendPhase | null = null;
    try {
      const way = await this.#way(attempt);
      const outgoing = await this.#outgoing(message);
      if (!outgoing) return NOTHING;
      if (!(await lease.handOff())) return null;
      attempt.handedOff = true;
      const receipt = await way.send(
        outgoing,
        sendControl(lease, (reached) => (phase = reached)),
      );
      phase = 'confirmation';
      const received = await this.#received(attempt, outgoing, receipt);
      if (received.result.move?.to === 'successful') received.result.filesCopy = way.filesCopy === true;
      return received;
    } catch (error) {
      if (error instanceof LeaseLostError) return null;
      if (!(error instanceof ProviderError)) {
        // Nothing has begun: the engine knows what to do.
        if (!attempt.handedOff) throw error;
        return this.#failed(attempt, surprise(phase, internalReason(error)));
      }
      // Refused were the credentials of before: as if it had never been tried.
      if (error.code === 'auth-invalid' && attempt.route === 'account') {
        if (await this.accounts.isRenewed(message.account)) return null;
      }
      return this.#failed(attempt, endOf(error, phase, message));
    }
  }

  /** The way of this attempt: a mailing service that has gone leaves the message to its account. */
  async #way(attempt: Loaded): Promise<SendWay> {
    const way = await this.ways.find(attempt.route, attempt.message);
    if (way) return way;
    attempt.route = 'account';
    return (await this.ways.find('account', attempt.message)) as SendWay;
  }

  async #outgoing(message: StoredMessage): Promise<OutgoingMessage | null> {
    const mime = message.mime ?? (await this.messages.mime(message));
    if (!mime) return null;
    const { envelope, messageIdHeader, bcc } = message;
    const recipients = remaining(envelope.recipients, message);
    return { mime, envelope: { from: envelope.from, recipients }, messageIdHeader, bcc };
  }

  async #received(
    attempt: Loaded,
    { envelope }: OutgoingMessage,
    receipt: SendReceipt,
  ): Promise<Outcome<SendResult>> {
    const { rest, ...recipients } = afterReceipt(attempt.message, envelope.recipients, receipt);
    const detail = words(receipt);
    if (rest.length > 0) {
      const taken = receipt.accepted.length > 0;
      return this.#failed(attempt, { code: 'temporary', phase: 'confirmation', detail, recipients, taken });
    }
    const first = attempt.message.accepted.length === 0 && recipients.refused.length === 0;
    const end = { detail, phase: 'confirmation' } as const;
    return withSignal(
      sent(attempt, this.clock.now(), end, first ? null : recipients),
      signalOf(attempt, null),
    );
  }

  async #failed(attempt: Loaded, end: AttemptEnd): Promise<Outcome<SendResult>> {
    const { message } = attempt;
    const asks = wantsRelay(this.#inputOf(attempt, end));
    const relay = asks && (await this.ways.hasRelay(message));
    const outcome = this.#conclude(attempt, end, relay);
    const signal = signalOf(attempt, end);
    if (!signal || signal.kind === 'well') return withSignal(outcome, signal);
    if (!relay && !(await this.ways.isRelayOpen(message))) return withSignal(outcome, signal);
    // A message that has another way leaves its account alone by itself, and nothing need wait for it any more.
    return withSignal(outcome, attempt.job.gateFailures > 0 ? { kind: 'well' } : undefined);
  }

  #conclude(attempt: Attempt, end: AttemptEnd, relayAvailable: boolean): Outcome<SendResult> {
    const input = this.#inputOf(attempt, end);
    const decision = decideRetry({ ...input, relayAvailable, random: Math.random() });
    return concluded({ ...attempt, failures: input.failures }, input.now, end, decision);
  }

  #inputOf(
    { job, route, failures }: Attempt,
    end: AttemptEnd,
  ): Omit<RetryInput, 'relayAvailable' | 'random'> {
    const now = this.clock.now();
    return {
      code: end.code,
      route,
      failures: failures + 1,
      // Clocks differ by milliseconds, and a single attempt has its deadline at its due time.
      now: now < job.dueAt ? job.dueAt : now,
      retryLimitAt: job.retryLimitAt,
      retryAfterSeconds: end.retryAfterSeconds ?? null,
      retryRejected: this.#retryRejected,
    };
  }
}

/** What is held is not sent by the servers of another mailbox: it waits for a new time, or for its deadline. */
function heldUntilDeadline(job: SendJobRow): Outcome<SendResult> {
  const move = { id: job.id, to: 'delayed', reason: HELD } as const;
  const next = { kind: 'again', at: job.retryLimitAt, ambiguous: job.ambiguous } as const;
  return { next, result: { ...NOTHING.result, move } };
}

function withSignal(outcome: Outcome<SendResult>, gate: Outcome<SendResult>['gate']): Outcome<SendResult> {
  return gate ? { ...outcome, gate } : outcome;
}

function endOf(error: ProviderError, reached: SendPhase | null, message: StoredMessage): AttemptEnd {
  const { code, message: detail, retryAfterSeconds, refused } = error;
  const end = { code, phase: error.phase ?? reached, detail, retryAfterSeconds };
  if (code === 'rejected') return { ...end, refused };
  if (code !== 'outcome-unknown') return end;
  // What is unknown is what became of the others.
  const putOff = error.deferred.map(({ email }) => email);
  return { ...end, putOff, ...(refused.length > 0 ? { recipients: withRefused(message, refused) } : {}) };
}

/** An error that is no ProviderError is a bug or the database: after the content began to leave, the outcome is unknown. */
function surprise(phase: SendPhase | null, detail = INTERNAL_REASON): AttemptEnd {
  const doubtful = phase === 'content' || phase === 'confirmation';
  return { code: doubtful ? 'outcome-unknown' : 'temporary', phase, detail, internal: true };
}
