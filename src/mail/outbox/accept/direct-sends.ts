import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { ConflictError, NotFoundError } from '../../../platform/base/errors/domain-error.ts';
import { Clock, monotonicMs } from '../../../platform/base/time/clock.ts';
import { currentTraceparent } from '../../../platform/tracing/traceparent.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import type { Outcome } from '../../../platform/work/queue/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { afterCommit, Database, type Sql } from '../../../platform/database/sql.ts';
import { sendsAccepted } from '../../../platform/metrics/queue-metrics.ts';
import { type DraftVersion, lockDraft } from '../../drafts/sent-drafts.ts';
import { ProviderAccounts } from '../../../accounts/grants/provider-accounts.ts';
import type { JobState } from '../../../job-statuses/job-status.ts';
import type {
  ProviderErrorCode,
  RefusedRecipient,
  SendPhase,
} from '../../../platform/base/errors/provider-error.ts';
import type { StoredCopy } from '../../../providers/port/connector.ts';
import { type ComposedMessage, OutgoingMessages } from '../../composing/outgoing-messages.ts';
import { providerThreadOf } from '../../threading/provider-threads.ts';
import { DirectLease, LEASE_SECONDS } from './direct-lease.ts';
import type { SendJobRow, SendResult, MessageToSend } from '../send/send-attempt.ts';
import { MessageSender } from '../send/send-message.ts';
import { recordFencedSends } from '../record/fenced-sends.ts';
import { recordSends } from '../record/send-recording.ts';
import { SendRoutes, tracesOf } from '../send/send-routes.ts';
import { SendingPausedError } from '../steer/sending-pause.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';
import type { JobAttempt } from '../../../job-statuses/job-attempt.entity.ts';
import type { JobStatus } from '../../../job-statuses/job-status.entity.ts';
import type { OutboxMessage } from '../outbox-message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** A message to be sent now, with a single attempt. */
export interface DirectMessage extends ComposedMessage {
  /** Also its job_status_id. */
  id: string;
  accountId: string;
  /** Ids that the mirrored copy and its conversation will have. */
  messageId: string;
  threadId: string;
  messageIdHeader: string;
  /** Whether the sender chose the Message-ID. */
  foreignHeader: boolean;
  at: Date;
}

/** Result of a send. */
export interface DirectResult extends RowOf<JobAttempt, 'code' | 'phase'> {
  /**
   * - `pending`: the send is running.
   * - `successful`: at least one recipient has the message.
   * - `failed`: no recipient has the message. With the code `outcome-unknown` that is not
   *   certain.
   * - `delayed`: the outcome is unknown and being looked up.
   */
  status: JobState;
  /** Text of the provider's response. */
  detail: string;
  /** Recipients that have not received the message. */
  refused: readonly RefusedRecipient[];
  retryAfterSeconds: number | null;
  /** The sender's copy, if the provider named it in this attempt. */
  stored?: StoredCopy;
}

/** Work of the caller in the two transactions of a send. */
export interface DirectSendCallbacks {
  /**
   * Runs in the transaction that accepts the message. An error keeps the message from being sent.
   */
  accepted?(sql: Sql): Promise<void>;
  /** Runs in the transaction that records the result. */
  ended?(sql: Sql, result: DirectResult): Promise<void>;
}

// The deadline is the send time, so no worker ever sends this message. The row starts with an
// unknown outcome, so a worker that claims it only looks the message up.
const ACCEPT = `
  with status as (
    insert into job_status (id, account_id, action, object, object_id, status, send_at, original_send_at,
                            retry_limit_at, message_id, thread_id, created_at, updated_at)
    values ($1, $2, 'send_message', 'message', $4, 'pending', $3, $3, $3, $4, $5, $3, $3)),
  content as (
    insert into outbox_message (id, account_id, content, envelope, mime, message_id_header, foreign_header, on_unknown)
    values ($1, $2, $6, $7, $8, $9, $10, 'fail'))
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at, attempt, ambiguous, traceparent)
  values ($1, $2, now() + interval '${LEASE_SECONDS} s', $3, $3, 1, true, $11)`;
const IS_BEING_SENT = `
  select 1 from send_job j join outbox_message o using (id)
  where j.account_id = $1 and o.content -> 'draft' ->> 'id' = $2 limit 1`;
const FINISH = `delete from send_job where id = $1 and account_id = $2 and fence = 0 and state = ${ROW_WAITING} returning 1`;
const AGAIN = `
  update send_job set run_at = greatest($3, now())
  where id = $1 and account_id = $2 and fence = 0 and state = ${ROW_WAITING} returning 1`;
const RESULT = `
  select s.status, o.refused from job_status s join outbox_message o using (id) where s.id = $1 and s.account_id = $2`;

const FIND = `
  select s.status, coalesce(s.reason, '') as detail, o.refused, a.code, a.phase, null as "retryAfterSeconds"
  from job_status s join outbox_message o using (id)
    left join lateral (select code, phase from job_attempt where job_id = s.id order by attempt desc, id desc limit 1) a on true
  where s.id = $1 and s.account_id = $2 and s.action = 'send_message'`;

/** Maximum number of tries to record the result of a send. */
const MOST_TRIES = 5;
const PAUSE_MS = 500;

/**
 * Sends messages within a request, with the code that sends the outbox (ADR 0034). A message is
 * stored before its first byte leaves, and gets a single attempt. If this process dies in between,
 * a worker looks the message up and never sends it again.
 */
@Injectable()
export class DirectSends implements OnModuleDestroy {
  readonly #log = new Logger(DirectSends.name);
  readonly #running = new Map<DirectLease, Promise<unknown>>();
  #stopping = false;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly sender: MessageSender,
    private readonly routes: SendRoutes,
    private readonly outgoing: OutgoingMessages,
    private readonly clock: Clock,
  ) {}

  /**
   * Sends a message and waits for the result. Once begun, the send continues even if the caller
   * stops waiting.
   * @throws {NotFoundError} if the account or the draft does not exist
   * @throws {ConflictError} if the draft has another version or is being sent
   * @throws {SendingPausedError} if an operator paused sending
   */
  async send(message: DirectMessage, hooks: DirectSendCallbacks = {}): Promise<DirectResult> {
    const { accountId, threadId } = message;
    const [account, providerThreadId] = await Promise.all([
      this.accounts.find(accountId),
      providerThreadOf(this.database, accountId, threadId),
    ]);
    if (!account) throw new NotFoundError('account', accountId);
    if (account.pause) throw new SendingPausedError(account.pause);
    const storedMs = monotonicMs();
    await this.database.transaction((sql) => this.#accept(sql, message, hooks));
    const lease = new DirectLease(this.database, message, storedMs, () => this.#stopping);
    const stored = { ...asStored(message), account, providerThreadId };
    const run = this.#run(message, stored, lease, hooks);
    this.#running.set(
      lease,
      run.catch(() => undefined),
    );
    try {
      return await run;
    } finally {
      lease.end();
      this.#running.delete(lease);
    }
  }

  /**
   * The result of a send as known so far, with the status `pending` while the send is running.
   * @returns `undefined` if the account has no such send
   */
  async find(accountId: string, id: string): Promise<DirectResult | undefined> {
    return (await this.database.query<DirectResult>(FIND, [id, accountId]))[0];
  }

  /**
   * Lets running sends finish. When half of the shutdown time is over, sends whose content has not
   * left are aborted.
   */
  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    const all = () => Promise.allSettled(this.#running.values());
    const half = this.config.shutdownMs / 2;
    await Promise.race([all(), delay(half, undefined, { ref: false })]);
    for (const lease of this.#running.keys()) lease.giveUp();
    await Promise.race([all(), delay(half, undefined, { ref: false })]);
  }

  async #accept(sql: Sql, message: DirectMessage, hooks: DirectSendCallbacks): Promise<void> {
    const { id, accountId, content } = message;
    if (content.draft) await this.#lockDraft(sql, accountId, content.draft);
    await sql.query(ACCEPT, [
      id,
      accountId,
      message.at,
      message.messageId,
      message.threadId,
      JSON.stringify(content),
      JSON.stringify(message.envelope),
      message.mime,
      message.messageIdHeader,
      message.foreignHeader,
      currentTraceparent(),
    ]);
    await this.outgoing.storeAlongside(sql, accountId, message);
    await hooks.accepted?.(sql);
    afterCommit(sql, () => sendsAccepted.inc({ by: 'send' }));
  }

  /** Locks the draft, so that two requests cannot send it at the same time. */
  async #lockDraft(sql: Sql, accountId: string, draft: DraftVersion): Promise<void> {
    await lockDraft(sql, accountId, draft);
    const sending = await sql.query(IS_BEING_SENT, [accountId, draft.id]);
    if (sending.length > 0)
      throw new ConflictError('draft.sending', 'draft_id: the draft is being sent');
  }

  async #run(
    { id, accountId, at }: DirectMessage,
    message: MessageToSend,
    lease: DirectLease,
    hooks: DirectSendCallbacks,
  ): Promise<DirectResult> {
    const row: SendJobRow = {
      id,
      fence: 0,
      attempt: 1,
      ambiguous: false,
      gateId: accountId,
      dueAt: at,
      gateFailures: 0,
      retryLimitAt: at,
      route: 'account',
      failures: 0,
      lookUps: 0,
      resendAttempt: null,
      deferred: null,
      attemptAssumed: false,
      held: false,
      paused: false,
      direct: true,
    };
    const outcomes = [await this.#attempt(row, message, lease)];
    if (outcomes[0]?.next.kind === 'again' && (await this.#wasSent(message, row))) {
      const looked = await this.#attempt({ ...row, attempt: 2, ambiguous: true }, message, lease);
      outcomes.push(looked);
    }
    return this.#settle(row, outcomes, hooks);
  }

  async #attempt(
    row: SendJobRow,
    message: MessageToSend,
    lease: DirectLease,
  ): Promise<Outcome<SendResult>> {
    const ended = await this.#ending(row, message, lease);
    const { move } = ended.result;
    // The response reports the result, so no notification is sent.
    return { ...ended, result: { ...ended.result, move: move && { ...move, quiet: true } } };
  }

  async #ending(
    row: SendJobRow,
    message: MessageToSend,
    lease: DirectLease,
  ): Promise<Outcome<SendResult>> {
    try {
      // `null`: the send was aborted before the content left, or a worker has taken over the row.
      return (
        (await this.sender.send(row, message, lease)) ??
        this.sender.afterError(row, new Error('aborted before the message was sent'))
      );
    } catch (error) {
      this.#log.error(error);
      return this.sender.afterError(row, error);
    }
  }

  /**
   * Looks the message up at once: a message whose response was lost is often found. If it is not
   * found, the Sent folder may only lag behind.
   */
  async #wasSent(message: MessageToSend, row: SendJobRow): Promise<boolean> {
    try {
      const opened = await this.routes.find('account', message);
      if (!opened) return false;
      const traces = tracesOf(message, row);
      return (await opened.findSent(message.messageIdHeader, traces)).found;
    } catch (error) {
      this.#log.warn(
        `message ${message.id} could not be looked up at once; a worker will look it up later: ${String(error)}`,
      );
      return false;
    }
  }

  /**
   * Records the result and returns it. The caller gets the result even if it cannot be recorded; a
   * worker will then look the message up.
   */
  async #settle(
    row: SendJobRow,
    outcomes: readonly Outcome<SendResult>[],
    hooks: DirectSendCallbacks,
  ): Promise<DirectResult> {
    const last = outcomes.at(-1) as Outcome<SendResult>;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#record(row, outcomes, hooks);
      } catch (error) {
        this.#log.error(error);
        if (tries === MOST_TRIES) return resultOf(last, last.result.move?.to ?? 'delayed', []);
        await delay(PAUSE_MS * tries);
      }
    }
  }

  async #record(
    row: SendJobRow,
    outcomes: readonly Outcome<SendResult>[],
    hooks: DirectSendCallbacks,
  ): Promise<DirectResult> {
    const last = outcomes.at(-1) as Outcome<SendResult>;
    const { id, gateId: accountId } = row;
    return this.database.transaction(async (sql) => {
      const ours =
        last.next.kind === 'done'
          ? await sql.query(FINISH, [id, accountId])
          : await sql.query(AGAIN, [id, accountId, last.next.at]);
      for (const outcome of outcomes) {
        const record = ours.length > 0 ? recordSends : recordFencedSends;
        await record(sql, [{ row, ...outcome }], this.clock.now());
      }
      const [job] = await sql.query<RowOf<JobStatus, 'status'> & RowOf<OutboxMessage, 'refused'>>(
        RESULT,
        [id, accountId],
      );
      // A message that was sent stays sent, even if a worker has taken over the row and did not
      // find the message.
      const wasSent = last.result.move?.to === 'successful';
      const ended = resultOf(
        last,
        wasSent ? 'successful' : (job?.status ?? 'delayed'),
        job?.refused ?? [],
      );
      await hooks.ended?.(sql, ended);
      if (last.next.kind === 'again') wakeAfterCommit(sql, 'send');
      return ended;
    });
  }
}

function asStored(message: DirectMessage): Omit<MessageToSend, 'account' | 'providerThreadId'> {
  const { id, envelope, content, messageIdHeader, mime } = message;
  return {
    id,
    status: 'pending',
    envelope,
    bcc: content.bcc,
    draft: content.draft ?? null,
    messageIdHeader,
    mime,
    bytes: mime.length,
    accepted: [],
    refused: [],
    onMissed: 'send',
    maxLatenessSeconds: null,
    onUnknown: 'fail',
  };
}

function resultOf(
  { result: { attempt, retryAfterSeconds = null, move, stored } }: Outcome<SendResult>,
  status: JobState,
  refused: readonly RefusedRecipient[],
): DirectResult {
  return {
    status,
    code: (attempt?.code ?? null) as ProviderErrorCode | null,
    phase: (attempt?.phase ?? null) as SendPhase | null,
    detail: attempt?.detail ?? move?.reason ?? '',
    refused: refused.length > 0 ? refused : (move?.refused ?? []),
    retryAfterSeconds,
    ...(stored ? { stored } : {}),
  };
}
