import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/base/time/clock.ts';
import type {
  Dispatcher,
  LateRow,
  Lease,
  Outcome,
  QueueTable,
  RowLoading,
  Settled,
} from '../../../platform/work/queue/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { afterCommit, type Sql } from '../../../platform/database/sql.ts';
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  MAY_SEND,
  ProviderAccounts,
} from '../../../accounts/grants/provider-accounts.ts';
import {
  NOTHING_TO_SEND,
  OVERDUE_SECONDS,
  type SendJobRow,
  type SendResult,
  SINGLE_ATTEMPT_SECONDS,
  type MessageToSend,
} from './send-attempt.ts';
import { providerThreadSql } from '../../threading/provider-threads.ts';
import { MessageSender, SHORT_MIME } from './send-message.ts';
import { recordFencedSends } from '../record/fenced-sends.ts';
import { recordLateSends, recordSends } from '../record/send-recording.ts';
import { SentMirror, type SentRow } from '../record/sent-mirror.ts';
import { ON_HOLD_REASON } from '../steer/sends-of-account.ts';

export type LoadedMessage = Omit<MessageToSend, 'account'> & AccountRow;

/**
 * Data that the engine loads with a row of `send_job`. `ready` selects the rows that are handed off
 * in the same round trip. It excludes rows that need a decision, or a long text, before they can be
 * sent.
 */
const LOADING: RowLoading = {
  columns: `
    s.status, m.envelope, m.bcc, ${providerThreadSql('j.account_id', 's.thread_id')} as "providerThreadId", m.draft, m.message_id_header as "messageIdHeader",
    case when ${SHORT_MIME} then m.mime end as mime, octet_length(m.mime) as bytes, m.accepted, m.refused,
    m.on_missed as "onMissed", m.max_lateness_seconds as "maxLatenessSeconds", m.on_unknown as "onUnknown",
    ${ACCOUNT_COLUMNS}`,
  joins: `
    join outbox_message m on m.id = j.id and m.account_id = j.account_id
    join job_status s on s.id = j.id
    join "grant" g on g.id = j.account_id`,
  ready: `${SHORT_MIME} and s.status in ('pending', 'delayed') and g.status <> 'invalid' and m.on_missed = 'send'
    and ${MAY_SEND} and not j.held and not j.ambiguous and j.route = 'account'
    and now() <= interval '${OVERDUE_SECONDS} s' + case when j.retry_limit_at > j.due_at then j.retry_limit_at
      else j.due_at + interval '${SINGLE_ATTEMPT_SECONDS} s' end`,
};

/** Dispatcher of the outbox queue. `MessageSender` sends each row. */
@Injectable()
export class SendDispatcher implements Dispatcher<SendJobRow, SendResult, LoadedMessage> {
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
      deferred: 'put_off',
      held: 'held',
      traceparent: 'traceparent',
      paused: 'paused',
      attemptAssumed: 'attempt_assumed',
    },
    breaker: { troubles: 5, firstStopSeconds: 30, longestStopSeconds: 15 * 60 },
    noEffectBeforeHandOff: true,
    createdAt: '(select s.created_at from job_status s where s.id = j.id)',
    attemptAssumedColumn: 'attempt_assumed',
    deadlineColumn: 'retry_limit_at',
    loading: LOADING,
  };
  readonly slots: number;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly accounts: ProviderAccounts,
    private readonly sender: MessageSender,
    private readonly mirror: SentMirror,
    private readonly clock: Clock,
  ) {
    this.slots = config.outbox.slots;
  }

  async run(
    row: SendJobRow,
    lease: Lease,
    loaded: LoadedMessage | undefined,
  ): Promise<Outcome<SendResult> | null> {
    if (row.held && this.clock.now() < row.retryLimitAt) return heldUntilDeadline(row);
    // The account was deleted, or the row was settled elsewhere: nothing is left to send.
    if (loaded?.status !== 'pending' && loaded?.status !== 'delayed') return NOTHING_TO_SEND;
    return this.sender.send(row, { ...loaded, account: this.accounts.open(loaded) }, lease);
  }

  onError(row: SendJobRow, error: unknown): Outcome<SendResult> {
    return this.sender.afterError(row, error);
  }

  onPoison(row: SendJobRow): Outcome<SendResult> {
    return this.sender.quarantine(row);
  }

  async record(sql: Sql, settled: readonly Settled<SendJobRow, SendResult>[]): Promise<void> {
    await recordSends(sql, settled, this.clock.now());
    const sent = settled.filter(({ result }) => result.move?.to === 'successful');
    const rows = sent.map(({ row: { id }, result: { attempt, stored } }): SentRow => {
      const at = attempt?.startedAt ?? this.clock.now();
      return { id, at, threadId: stored?.threadId ?? null };
    });
    afterCommit(sql, () => this.mirror.addSoon(rows));
  }

  recordFenced(sql: Sql, fenced: readonly Settled<SendJobRow, SendResult>[]): Promise<void> {
    return recordFencedSends(sql, fenced, this.clock.now());
  }

  recordLate(sql: Sql, late: readonly LateRow[]): Promise<void> {
    return recordLateSends(sql, late, this.clock.now());
  }
}

/**
 * Keeps a message on hold from being sent by the servers of another mailbox. The message waits for
 * a new `send_at`, or for its deadline.
 */
function heldUntilDeadline(row: SendJobRow): Outcome<SendResult> {
  const move = { id: row.id, to: 'delayed', reason: ON_HOLD_REASON } as const;
  const next = { kind: 'again', at: row.retryLimitAt, ambiguous: row.ambiguous } as const;
  return { next, result: { ...NOTHING_TO_SEND.result, move } };
}
