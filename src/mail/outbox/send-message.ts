import { Inject, Injectable } from '@nestjs/common';
import { ByteBudget } from '../../platform/base/concurrency/byte-budget.ts';
import { INTERNAL_REASON } from '../../platform/base/errors/internal-reason.ts';
import { ProviderError, type SendPhase } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import type { Lease, Outcome } from '../../platform/work/dispatcher.ts';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import type { OutgoingMessage, SendReceipt } from '../../providers/port/connector.ts';
import { failureOf, LeaseLostError, sendControl } from './hand-over.ts';
import { decideRetry, type RetryInput, wantsRelay } from './retry-policy.ts';
import {
  type Attempt, type AttemptEnd, type LoadedAttempt, NOTHING, type SendJobRow, type SendResult, type StoredMessage,
} from './send-attempt.ts'; // prettier-ignore
import { UnknownOutcomes } from './unknown-outcomes.ts';
import {
  afterReceipt,
  concluded,
  needsLookUp,
  isResent,
  isTooLate,
  lineOf,
  remaining,
  secondsMissed,
  sent,
  signalOf,
  UNSURE,
  withRefused,
  words,
} from './send-verdict.ts';
import { SendRoutes, type OpenRoute } from './send-routes.ts';

const HELD_TOO_LONG =
  'the account was moved to another mailbox after this message was accepted, and it got no new send_at';
/** Bytes of long messages in hand while servers take them. */
const MOST_LONG_BYTES = 256 * 1024 * 1024;
/** Longer ones are fetched one by one: a hundred are loaded at a time, which is 13 MB at most. */
const MOST_SHORT_BYTES = 128 * 1024;
/** Condition on the row `m` of a message that is loaded with its text. */
export const SHORT_MIME = `octet_length(m.mime) <= ${MOST_SHORT_BYTES}`;
const LONG_MIME = 'select mime from outbox_message where id = $1 and account_id = $2';

/**
 * Sends one message (spec 8, docs/outbox.md), for the queue and for requests that send at once. In the order of the steps: an
 * earlier attempt of unknown outcome is looked up; a message that must not be sent any more ends; the message is prepared; the
 * hand-off marker is committed; the server gets it, for those who have not got it yet; what came back becomes the next
 * state, by the retry policy. The caller writes that down.
 */
@Injectable()
export class MessageSender {
  readonly #long = new ByteBudget(MOST_LONG_BYTES);
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly routes: SendRoutes,
    private readonly unknown: UnknownOutcomes,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes one attempt.
   * @returns null: nothing was done, because the lease is lost or the account has new credentials
   * @throws what is no answer of a provider, before the hand-off
   */
  async send(
    job: SendJobRow,
    message: StoredMessage,
    lease: Lease,
  ): Promise<Outcome<SendResult> | null> {
    const attempt = { ...this.#begin(job), message };
    const outcome =
      this.#heldTooLong(attempt) ??
      (await this.#lookUp(attempt)) ??
      this.#outdated(attempt) ??
      this.#overdue(attempt) ??
      (await this.#deliver(attempt, lease));
    if (!outcome || !message.draft) return outcome;
    const { accountId, applicationId } = message.account;
    const draft = { ...message.draft, accountId, applicationId };
    return { ...outcome, result: { ...outcome.result, draft } };
  }

  /** What becomes of a message when sending it has thrown. The caller has logged the error. */
  afterError(job: SendJobRow, error: unknown): Outcome<SendResult> {
    const attempt = this.#begin(job);
    if (needsLookUp(job)) return this.unknown.stillUnknown(attempt, error);
    const end = {
      code: 'temporary',
      phase: null,
      detail: INTERNAL_REASON,
      internal: true,
    } as const;
    return this.#conclude(attempt, end, false);
  }

  /** What becomes of a message that has ended its worker several times. */
  setAside(job: SendJobRow): Outcome<SendResult> {
    const reason = 'set aside: sending it ended its worker several times';
    const attempt = lineOf(this.#begin(job), this.clock.now(), {
      outcome: 'unknown',
      detail: reason,
    });
    const move = { id: job.id, to: 'failed', reason } as const;
    return { next: { kind: 'done' }, result: { ...NOTHING.result, move, attempt } };
  }

  #begin(job: SendJobRow): Attempt {
    const { route, failures } = job;
    return { job, startedAt: this.clock.now(), message: null, route, failures, handedOff: false };
  }

  /** Held until its retry limit: it ends here, and the new mailbox is not asked about an attempt at the old one. */
  #heldTooLong(attempt: LoadedAttempt): Outcome<SendResult> | null {
    const { job, startedAt } = attempt;
    if (!job.held) return null;
    const [code, rule] = job.ambiguous
      ? (['outcome-unknown', 'unknown'] as const)
      : (['temporary', 'deadline'] as const);
    const detail = job.ambiguous ? `${HELD_TOO_LONG}; ${UNSURE}` : HELD_TOO_LONG;
    return concluded(attempt, startedAt, { code, phase: null, detail }, { kind: 'stop', rule });
  }

  /** @returns null: there is no earlier attempt of unknown outcome, or it has not sent the message */
  async #lookUp(attempt: LoadedAttempt): Promise<Outcome<SendResult> | null> {
    if (!needsLookUp(attempt.job)) return null;
    const outdated = attempt.route === 'account' ? this.#outdated(attempt) : null;
    return outdated ?? this.unknown.settle(attempt);
  }

  /** The user has to authenticate again. What else waits for the account need not wait to hear it. */
  #outdated(attempt: LoadedAttempt): Outcome<SendResult> | null {
    if (attempt.message.account.grantStatus !== 'invalid') return null;
    const unsure = needsLookUp(attempt.job) ? `; ${UNSURE}` : '';
    const detail = `the account's credentials are out of date${unsure}`;
    const end = { code: 'auth-invalid', phase: null, detail } as const;
    const outcome = concluded(attempt, this.clock.now(), end, {
      kind: 'stop',
      rule: 'auth-invalid',
    });
    return withSignal(outcome, signalOf(attempt, end));
  }

  /** Found when it must not be sent any more; null: it is in time. */
  #overdue(attempt: LoadedAttempt): Outcome<SendResult> | null {
    const { job, startedAt } = attempt;
    const stop = (rule: 'unknown' | 'deadline' | 'missed', detail: string) => {
      const code = rule === 'unknown' ? 'outcome-unknown' : 'temporary';
      return concluded(attempt, startedAt, { code, phase: null, detail }, { kind: 'stop', rule });
    };
    if (isResent(job) && isTooLate(job, startedAt))
      return stop('unknown', 'the retry limit came before it could be sent again');
    const missed = secondsMissed(attempt);
    if (missed > 0)
      return stop('missed', `found ${missed} s after its time, and it is to be skipped then`);
    return isTooLate(job, startedAt)
      ? stop('deadline', 'no attempt was possible before the retry limit')
      : null;
  }

  #deliver(attempt: LoadedAttempt, lease: Lease): Promise<Outcome<SendResult> | null> {
    const { mime, bytes } = attempt.message;
    const handOver = () => this.#handOver(attempt, lease);
    return mime ? handOver() : this.#long.run(bytes, handOver);
  }

  async #handOver(attempt: LoadedAttempt, lease: Lease): Promise<Outcome<SendResult> | null> {
    const { message } = attempt;
    let phase: SendPhase | null = null;
    try {
      const opened = await this.#openRoute(attempt);
      const outgoing = await this.#prepare(message);
      if (!outgoing) return NOTHING;
      if (!(await lease.handOff())) return null;
      attempt.handedOff = true;
      const control = sendControl(lease, (reached) => (phase = reached));
      const receipt = await opened.send(outgoing, control);
      phase = 'confirmation';
      const received = await this.#received(attempt, outgoing, receipt);
      if (received.result.move?.to === 'successful')
        received.result.filesCopy = opened.filesCopy === true;
      return received;
    } catch (error) {
      if (error instanceof LeaseLostError) return null;
      // Nothing has begun: the engine knows what to do.
      if (!(error instanceof ProviderError) && !attempt.handedOff) throw error;
      const end = endOf(error, phase, message);
      // Refused were the credentials of before: as if it had never been tried.
      if (end.code === 'auth-invalid' && attempt.route === 'account') {
        if (await this.accounts.isRenewed(message.account)) return null;
      }
      return this.#failed(attempt, end);
    }
  }

  /** A mailing service that has gone leaves the message to its account. */
  async #openRoute(attempt: LoadedAttempt): Promise<OpenRoute> {
    const opened = await this.routes.find(attempt.route, attempt.message);
    if (opened) return opened;
    attempt.route = 'account';
    return (await this.routes.find('account', attempt.message)) as OpenRoute;
  }

  /** @returns null: the message is gone */
  async #prepare(message: StoredMessage): Promise<OutgoingMessage | null> {
    const mime = message.mime ?? (await this.#fetch(message));
    if (!mime) return null;
    const { envelope, messageIdHeader, bcc } = message;
    const recipients = remaining(envelope.recipients, message);
    return { mime, envelope: { from: envelope.from, recipients }, messageIdHeader, bcc };
  }

  /** Long texts one after the other: on their way from the database they take several times their length. */
  #fetch({ id, account }: StoredMessage): Promise<Buffer | undefined> {
    const fetched = this.#fetching.then(async () => {
      const [row] = await this.database.query<{ mime: Buffer }>(LONG_MIME, [id, account.accountId]);
      return row?.mime;
    });
    // Whoever asked is told of an error; the next one's turn comes all the same.
    this.#fetching = fetched.catch(() => undefined);
    return fetched;
  }

  async #received(
    attempt: LoadedAttempt,
    { envelope }: OutgoingMessage,
    receipt: SendReceipt,
  ): Promise<Outcome<SendResult>> {
    const { rest, ...recipients } = afterReceipt(attempt.message, envelope.recipients, receipt);
    const detail = words(receipt);
    if (rest.length > 0) {
      const taken = receipt.accepted.length > 0;
      return this.#failed(attempt, {
        code: 'temporary',
        phase: 'confirmation',
        detail,
        recipients,
        taken,
      });
    }
    const first = attempt.message.accepted.length === 0 && recipients.refused.length === 0;
    const end = { detail, phase: 'confirmation' } as const;
    return withSignal(
      sent(attempt, this.clock.now(), end, first ? null : recipients),
      signalOf(attempt, null),
    );
  }

  async #failed(attempt: LoadedAttempt, end: AttemptEnd): Promise<Outcome<SendResult>> {
    const { message } = attempt;
    const asks = wantsRelay(this.#inputOf(attempt, end));
    const relay = asks && (await this.routes.hasRelay(message));
    const outcome = this.#conclude(attempt, end, relay);
    const signal = signalOf(attempt, end);
    if (!signal || signal.kind === 'well') return withSignal(outcome, signal);
    if (!relay && !(await this.routes.isRelayOpen(message))) return withSignal(outcome, signal);
    // A message that goes by the mailing service next leaves its account alone: nothing has to wait for it.
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
      retryRejected: this.config.outbox.retryRejected,
    };
  }
}

function withSignal(
  outcome: Outcome<SendResult>,
  gate: Outcome<SendResult>['gate'],
): Outcome<SendResult> {
  return gate ? { ...outcome, gate } : outcome;
}

function endOf(error: unknown, reached: SendPhase | null, message: StoredMessage): AttemptEnd {
  const end = failureOf(error, reached);
  if (!(error instanceof ProviderError)) return end;
  const { refused, deferred } = error;
  if (end.code === 'rejected') return { ...end, refused };
  if (end.code !== 'outcome-unknown') return end;
  // What is unknown is what became of the others.
  const putOff = deferred.map(({ email }) => email);
  return {
    ...end,
    putOff,
    ...(refused.length > 0 ? { recipients: withRefused(message, refused) } : {}),
  };
}
