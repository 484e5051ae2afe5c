import { Inject, Injectable } from '@nestjs/common';
import { newId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import type { QueueName } from '../common/wake.ts';
import type {
  ClaimedJob,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../common/work/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { databaseTrouble } from '../database/database-trouble.ts';
import { Database, type Sql } from '../database/sql.ts';
import { type CredentialsRefusal, markGrantsInvalid } from '../grants/mark-invalid.ts';
import { type ConnectedAccount, ProviderAccounts } from '../grants/provider-accounts.ts';
import { type AttemptRecord, type JobMove, moveJobs, recordAttempts } from '../job-statuses/jobs.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import type { OutgoingMessage, SendReceipt } from '../providers/connector.ts';
import { ProviderError, type ProviderErrorCode, type SendPhase } from '../providers/provider-error.ts';
import { LeaseLostError, sendControl } from '../send/send-control.ts';
import type { OutboxContent } from './outbox-content.ts';
import { decideLookUp, decideRetry, type RetryDecision } from './retry-policy.ts';

/** A claimed row of `send_job`. */
export interface SendJobRow extends ClaimedJob {
  retryLimitAt: Date;
}

/** What an attempt came to: the move of its job and its line in the timeline. */
export interface SendResult {
  move: JobMove | null;
  attempt: AttemptRecord | null;
  /** The account's credentials were refused for good. */
  refusal: CredentialsRefusal | null;
}

interface StoredMessage {
  status: string;
  content: OutboxContent;
  envelope: { from: string; recipients: string[] };
  mime: Buffer;
  messageIdHeader: string;
}

const LOAD = `
  select s.status, m.content, m.envelope, m.mime, m.message_id_header as "messageIdHeader"
  from outbox_message m join job_status s using (id)
  where m.id = $1 and m.account_id = $2`;

const NOTHING: Outcome<SendResult> = {
  next: { kind: 'done' },
  result: { move: null, attempt: null, refusal: null },
};

/** One attempt as it goes on. */
interface Attempt {
  job: SendJobRow;
  startedAt: Date;
  /** Absent: it did not come to that. */
  account?: ConnectedAccount;
}

type LoadedAttempt = Attempt & { account: ConnectedAccount };

/** How an attempt failed. */
interface AttemptEnd {
  code: ProviderErrorCode | null;
  phase: SendPhase | null;
  /** The provider's words. */
  detail: string;
  retryAfterSeconds?: number | null;
}

/**
 * Sends one message of the outbox (design 5): look first where an earlier attempt is in doubt, commit the hand-off
 * marker, send once, and turn what came back into the next state by the retry policy.
 */
@Injectable()
export class SendDispatcher implements Dispatcher<SendJobRow, SendResult> {
  readonly table: QueueTable = {
    queue: 'send',
    table: 'send_job',
    gateColumn: 'account_id',
    columns: { retryLimitAt: 'retry_limit_at' },
  };
  readonly slots: number;
  readonly #retryRejected: boolean;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {
    this.slots = config.outbox.slots;
    this.#retryRejected = config.outbox.retryRejected;
  }

  async run(job: SendJobRow, lease: Lease): Promise<Outcome<SendResult> | null> {
    const startedAt = this.clock.now();
    const [[message], account] = await Promise.all([
      this.database.query<StoredMessage>(LOAD, [job.id, job.gateId]),
      this.accounts.find(job.gateId),
    ]);
    // The account was deleted, or the job settled by somebody else: there is nothing left to send.
    if (!message || !account || !['pending', 'delayed'].includes(message.status)) return NOTHING;
    const attempt = { job, startedAt, account };
    if (account.grantStatus === 'invalid') {
      return this.#failed(attempt, {
        code: 'auth-invalid',
        phase: null,
        detail: "the account's credentials are out of date",
      });
    }
    const earlier = job.ambiguous ? await this.#lookUp(attempt, message) : null;
    if (earlier) return earlier;
    if (isTooLate(job, startedAt)) {
      const detail = 'no attempt was possible before the retry limit';
      return this.#failed(attempt, { code: 'temporary', phase: null, detail });
    }
    if (!(await lease.handOff())) return null;
    return this.#send(attempt, message, lease);
  }

  onError(job: SendJobRow, error: unknown): Outcome<SendResult> {
    const attempt = { job, startedAt: this.clock.now() };
    return job.ambiguous ? this.#stillInDoubt(attempt, error) : this.#surprise(attempt, null, error);
  }

  onPoison(job: SendJobRow): Outcome<SendResult> {
    const now = this.clock.now();
    const reason = 'set aside: sending it ended its worker several times';
    return {
      next: { kind: 'done' },
      result: {
        move: { id: job.id, to: 'failed', reason },
        attempt: attemptOf(job, now, now, { outcome: 'unknown', detail: reason }),
        refusal: null,
      },
    };
  }

  async record(sql: Sql, settled: readonly Settled<SendJobRow, SendResult>[]): Promise<readonly QueueName[]> {
    const now = this.clock.now();
    const results = settled.map(({ result }) => result);
    const invalid = await markGrantsInvalid(
      sql,
      results.flatMap(({ refusal }) => refusal ?? []),
      now,
    );
    const { hooks } = await moveJobs(
      sql,
      results.flatMap(({ move }) => move ?? []),
      now,
    );
    await recordAttempts(
      sql,
      results.flatMap(({ attempt }) => attempt ?? []),
    );
    return invalid || hooks ? ['hook'] : [];
  }

  /** What became of an earlier attempt of unknown outcome; null: it was not sent and may be sent now. */
  async #lookUp(
    attempt: LoadedAttempt,
    { messageIdHeader }: StoredMessage,
  ): Promise<Outcome<SendResult> | null> {
    const { job, startedAt, account } = attempt;
    try {
      const { found } = await this.connectors
        .requireMail(account.provider)
        .findSent(account, messageIdHeader);
      if (found)
        return this.#sent(attempt, { detail: 'found among the sent messages', phase: 'confirmation' });
    } catch (error) {
      // Our own database being away says nothing: the engine asks again.
      if (!(error instanceof ProviderError) && databaseTrouble(error)) throw error;
      if (!(error instanceof ProviderError) || error.code !== 'auth-invalid')
        return this.#stillInDoubt(attempt, error);
      const detail = `${error.message}; whether an earlier attempt succeeded is unknown`;
      return (await this.#isRenewed(account))
        ? this.#stillInDoubt(attempt, error)
        : this.#failed(attempt, { code: 'auth-invalid', phase: error.phase, detail });
    }
    if (startedAt < job.retryLimitAt) return null;
    const detail = 'the outcome is unknown, and it was not found among the sent messages';
    return this.#failed(attempt, { code: 'temporary', phase: null, detail });
  }

  async #send(
    attempt: LoadedAttempt,
    message: StoredMessage,
    lease: Lease,
  ): Promise<Outcome<SendResult> | null> {
    const { account } = attempt;
    let phase: SendPhase | null = null;
    try {
      const receipt = await this.connectors.requireMail(account.provider).send(
        account,
        toOutgoing(message),
        sendControl(lease, (reached) => (phase = reached)),
      );
      return this.#sent(attempt, { detail: words(receipt), phase: 'confirmation' });
    } catch (error) {
      if (error instanceof LeaseLostError) return null;
      if (!(error instanceof ProviderError)) return this.#surprise(attempt, phase, error);
      // Refused were the credentials of before: as if it had never been tried.
      if (error.code === 'auth-invalid' && (await this.#isRenewed(account))) return null;
      return this.#failed(attempt, {
        code: error.code,
        phase: error.phase ?? phase,
        detail: error.message,
        retryAfterSeconds: error.retryAfterSeconds,
      });
    }
  }

  /** Whether the user has authenticated again since the account was loaded. */
  async #isRenewed({ accountId, settingsSealed }: ConnectedAccount): Promise<boolean> {
    const now = await this.accounts.find(accountId);
    return now !== undefined && now.settingsSealed !== settingsSealed;
  }

  /** An error that is no ProviderError is a bug or the database: after the content began to leave, the outcome is unknown. */
  #surprise(attempt: Attempt, phase: SendPhase | null, error: unknown): Outcome<SendResult> {
    const doubtful = phase === 'content' || phase === 'confirmation';
    return this.#failed(attempt, {
      code: doubtful ? 'outcome-unknown' : 'temporary',
      phase,
      detail: `internal error: ${messageOf(error)}`,
    });
  }

  #sent({ job, startedAt }: Attempt, end: { detail: string; phase: SendPhase }): Outcome<SendResult> {
    return {
      next: { kind: 'done' },
      result: {
        move: { id: job.id, to: 'successful' },
        attempt: attemptOf(job, startedAt, this.clock.now(), { ...end, outcome: 'sent' }),
        refusal: null,
      },
    };
  }

  #failed(attempt: Attempt, end: AttemptEnd): Outcome<SendResult> {
    const { job, account } = attempt;
    const code = end.code ?? 'temporary';
    const decision = decideRetry({
      code,
      route: 'account',
      failures: job.attempt,
      now: this.clock.now(),
      retryLimitAt: job.retryLimitAt,
      retryAfterSeconds: end.retryAfterSeconds ?? null,
      retryRejected: this.#retryRejected,
      relayAvailable: false,
      random: Math.random(),
    });
    return this.#end(
      attempt,
      { ...end, code },
      decision,
      decision.rule === 'auth-invalid' ? account : undefined,
    );
  }

  /** The look-up failed: whatever happens next, the message may have been sent. */
  #stillInDoubt(attempt: Attempt, error: unknown): Outcome<SendResult> {
    const { attempt: failures, retryLimitAt } = attempt.job;
    const detail = `it could not be looked up: ${messageOf(error)}`;
    const decision = decideLookUp(failures, this.clock.now(), retryLimitAt);
    return this.#end(attempt, { code: 'outcome-unknown', phase: null, detail }, decision);
  }

  #end(
    { job, startedAt }: Attempt,
    { code, phase, detail }: AttemptEnd,
    decision: RetryDecision,
    refused?: ConnectedAccount,
  ): Outcome<SendResult> {
    const ambiguous = code === 'outcome-unknown';
    const nextAt =
      decision.kind === 'retry' ? decision.at : decision.kind === 'switch' ? this.clock.now() : null;
    const attempt = attemptOf(job, startedAt, this.clock.now(), {
      outcome: ambiguous ? 'unknown' : 'not-sent',
      code,
      phase,
      detail,
      nextAt,
      rule: decision.rule,
    });
    const reason = reasonOf(decision, detail);
    const { id } = job;
    if (nextAt) {
      return {
        next: { kind: 'again', at: nextAt, ambiguous },
        result: { move: { id, to: 'delayed', reason }, attempt, refusal: null },
      };
    }
    const refusal = refused
      ? { accountId: refused.accountId, settingsSealed: refused.settingsSealed, reason: detail }
      : null;
    return { next: { kind: 'done' }, result: { move: { id, to: 'failed', reason }, attempt, refusal } };
  }
}

/** Found only after its deadline had passed: sending it now would be a surprise. A single attempt has no such deadline. */
function isTooLate(job: SendJobRow, now: Date): boolean {
  return job.retryLimitAt > job.dueAt && now.getTime() > job.retryLimitAt.getTime() + 60_000;
}

function toOutgoing(message: StoredMessage): OutgoingMessage {
  const { mime, envelope, messageIdHeader, content } = message;
  return { mime, envelope, messageIdHeader, bcc: content.bcc };
}

function words({ response, refused }: SendReceipt): string {
  if (refused.length === 0) return response;
  return `${response}; refused: ${refused.map(({ email, reason }) => `${email} (${reason})`).join(', ')}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function reasonOf(decision: RetryDecision, detail: string): string {
  switch (decision.rule) {
    case 'deadline':
      return `retry limit datetime reached; last error: ${detail}`;
    case 'auth-invalid':
      return `invalid authentication: ${detail}`;
    case 'rejected':
      return `rejected by the provider: ${detail}`;
    case 'look-up':
      return `the outcome is unknown and being looked up: ${detail}`;
    case 'unknown':
      return `the outcome is unknown: ${detail}`;
    default:
      return `could not be sent yet: ${detail}`;
  }
}

function attemptOf(
  job: SendJobRow,
  startedAt: Date,
  endedAt: Date,
  rest: Partial<AttemptRecord> & Pick<AttemptRecord, 'outcome'>,
): AttemptRecord {
  return {
    id: newId(),
    jobId: job.id,
    attempt: job.attempt,
    startedAt,
    endedAt,
    route: null,
    phase: null,
    code: null,
    detail: null,
    nextAt: null,
    rule: null,
    ...rest,
  };
}
