import { Inject, Injectable } from '@nestjs/common';
import { newId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { Wake } from '../common/wake.ts';
import type {
  ClaimedJob,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../common/work/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { Database, type Sql } from '../database/sql.ts';
import { markGrantInvalid } from '../grants/mark-invalid.ts';
import { ProviderAccounts } from '../grants/provider-accounts.ts';
import { type AttemptRecord, type JobMove, moveJobs, recordAttempts } from '../job-statuses/jobs.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import type { OutgoingMessage, SendReceipt } from '../providers/connector.ts';
import { ProviderError, type ProviderErrorCode, type SendPhase } from '../providers/provider-error.ts';
import type { OutboxContent } from './outbox-content.ts';
import { decideRetry, type RetryDecision } from './retry-policy.ts';

/** A claimed row of `send_job`. */
export interface SendJobRow extends ClaimedJob {
  retryLimitAt: Date;
}

/** What an attempt came to: the move of its job and its line in the timeline. */
export interface SendResult {
  move: JobMove | null;
  attempt: AttemptRecord | null;
  /** The account's credentials were refused for good. */
  invalidates: string | null;
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
  result: { move: null, attempt: null, invalidates: null },
};

/** One attempt as it happened. */
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
  /** Records whose transaction queued deliveries. */
  #hooks = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {
    this.slots = config.outbox.slots;
    this.#retryRejected = config.outbox.retryRejected;
  }

  async run(job: SendJobRow, lease: Lease): Promise<Outcome<SendResult>> {
    const startedAt = this.clock.now();
    const [[message], account] = await Promise.all([
      this.database.query<StoredMessage>(LOAD, [job.id, job.gateId]),
      this.accounts.find(job.gateId),
    ]);
    // The account was deleted, or the job settled by somebody else: there is nothing left to send.
    if (!message || !account || !['pending', 'delayed'].includes(message.status)) return NOTHING;
    const fail = (end: AttemptEnd) => this.#failed(job, startedAt, end);
    if (account.grantStatus === 'invalid') {
      return fail({ code: 'auth-invalid', phase: null, detail: "the account's credentials are out of date" });
    }
    let phase: SendPhase | null = null;
    try {
      const mail = this.connectors.requireMail(account.provider);
      if (job.ambiguous && (await mail.findSent(account, message.messageIdHeader)).found) {
        return this.#sent(job, startedAt, { detail: 'found among the sent messages', phase: 'confirmation' });
      }
      if (isTooLate(job, startedAt))
        return fail({
          code: 'temporary',
          phase: null,
          detail: 'no attempt was possible before the retry limit',
        });
      if (!(await lease.handOff())) return NOTHING; // the engine ignores this outcome
      const receipt = await mail.send(account, toOutgoing(message), {
        signal: lease.signal,
        onPhase: (reached) => (phase = reached),
      });
      return this.#sent(job, startedAt, { detail: words(receipt), phase: 'confirmation' });
    } catch (error) {
      if (error instanceof ProviderError) {
        return fail({
          code: error.code,
          phase: error.phase ?? phase,
          detail: error.message,
          retryAfterSeconds: error.retryAfterSeconds,
        });
      }
      return this.#surprise(job, startedAt, phase, error);
    }
  }

  onError(job: SendJobRow, error: unknown): Outcome<SendResult> {
    return this.#failed(job, this.clock.now(), {
      code: 'temporary',
      phase: null,
      detail: `internal error: ${messageOf(error)}`,
    });
  }

  onPoison(job: SendJobRow): Outcome<SendResult> {
    const now = this.clock.now();
    const reason = 'set aside: sending it ended its worker several times';
    return {
      next: { kind: 'done' },
      result: {
        move: { id: job.id, to: 'failed', reason },
        attempt: attemptOf(job, now, now, { outcome: 'unknown', detail: reason }),
        invalidates: null,
      },
    };
  }

  async record(sql: Sql, settled: readonly Settled<SendJobRow, SendResult>[]): Promise<void> {
    const now = this.clock.now();
    const results = settled.map(({ result }) => result);
    for (const { job, result } of settled) {
      if (result.invalidates)
        this.#hooks = (await markGrantInvalid(sql, job.gateId, result.invalidates, now)) || this.#hooks;
    }
    const { hooks } = await moveJobs(
      sql,
      results.flatMap(({ move }) => move ?? []),
      now,
    );
    this.#hooks ||= hooks;
    await recordAttempts(
      sql,
      results.flatMap(({ attempt }) => attempt ?? []),
    );
  }

  afterCommit(): void {
    if (this.#hooks) this.wake.wake('hook');
    this.#hooks = false;
  }

  /** An error that is no ProviderError is a bug or the database: after the content began to leave, the outcome is unknown. */
  #surprise(job: SendJobRow, startedAt: Date, phase: SendPhase | null, error: unknown): Outcome<SendResult> {
    const doubtful = phase === 'content' || phase === 'confirmation';
    return this.#failed(job, startedAt, {
      code: doubtful ? 'outcome-unknown' : 'temporary',
      phase,
      detail: `internal error: ${messageOf(error)}`,
    });
  }

  #sent(job: SendJobRow, startedAt: Date, end: { detail: string; phase: SendPhase }): Outcome<SendResult> {
    return {
      next: { kind: 'done' },
      result: {
        move: { id: job.id, to: 'successful' },
        attempt: attemptOf(job, startedAt, this.clock.now(), { ...end, outcome: 'sent' }),
        invalidates: null,
      },
    };
  }

  #failed(job: SendJobRow, startedAt: Date, end: AttemptEnd): Outcome<SendResult> {
    const now = this.clock.now();
    const code = end.code ?? 'temporary';
    const decision = decideRetry({
      code,
      failures: job.attempt,
      now,
      retryLimitAt: job.retryLimitAt,
      retryAfterSeconds: end.retryAfterSeconds ?? null,
      retryRejected: this.#retryRejected,
      random: Math.random(),
    });
    const ambiguous = code === 'outcome-unknown';
    const attempt = attemptOf(job, startedAt, now, {
      outcome: ambiguous ? 'unknown' : 'not-sent',
      code,
      phase: end.phase,
      detail: end.detail,
      nextAt: decision.kind === 'retry' ? decision.at : null,
      rule: decision.rule,
    });
    const reason = reasonOf(decision, end.detail);
    if (decision.kind === 'retry') {
      return {
        next: { kind: 'again', at: decision.at, ambiguous },
        result: { move: { id: job.id, to: 'delayed', reason }, attempt, invalidates: null },
      };
    }
    return {
      next: { kind: 'done' },
      result: {
        move: { id: job.id, to: 'failed', reason },
        attempt,
        invalidates: code === 'auth-invalid' ? end.detail : null,
      },
    };
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
    phase: null,
    code: null,
    detail: null,
    nextAt: null,
    rule: null,
    ...rest,
  };
}
