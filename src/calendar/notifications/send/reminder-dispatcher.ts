import { Injectable } from '@nestjs/common';
import { INTERNAL_REASON, internalReason } from '../../../platform/base/errors/internal-reason.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import type {
  ClaimedRow,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../../../platform/work/queue/dispatcher.ts';
import { afterCommit, type Sql } from '../../../platform/database/sql.ts';
import { reminderAttempts } from '../../../platform/metrics/queue-metrics.ts';
import { markGrantsInvalid } from '../../../accounts/grants/mark-invalid.ts';
import type { AccountPause, ConnectedAccount } from '../../../accounts/grants/provider-accounts.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { refusalOf } from '../../../platform/quotas/quota.ts';
import { LeaseLostError } from '../../../mail/outbox/send/hand-over.ts';
import type { DueReminder, ReminderSender } from './due-reminder.ts';
import { EmailReminderSender } from './email-sender.ts';
import {
  lockReminders,
  transitionReminders,
  noteFailedAttempts,
  noteWaits,
  recordLookUps,
  requeueDropped,
} from './reminder-transitions.ts';
import {
  decideReminder,
  LAST_BEFORE_SECONDS,
  nextReminderLookUp,
  type ReminderDecision,
  type ReminderDelivery,
} from './reminder-policy.ts';
import type { ReminderType } from '../reminder-status.ts';
import { reportReminders } from './reminder-reports.ts';
import { type FoundReminder, ReminderRepository } from '../reminder.repository.ts';
import { SmsReminderSender } from './sms-sender.ts';
import { WebhookReminderSender } from './webhook-sender.ts';

/** A claimed row of the queue. */
export interface ClaimedReminder extends ClaimedRow {
  /** Look-ups since the outcome became unknown that proved nothing. */
  lookUps: number;
}

interface Counted {
  /** Attempts to send the reminder so far; look-ups do not count. */
  attempts: number;
}

/**
 * Result of a run. `dropped` means that the reminder is no longer wanted, `paused` that an operator
 * paused sending.
 */
export type ReminderResult =
  | (Exclude<ReminderDecision, { kind: 'failed' }> & Counted)
  /** `refused`: the credentials that the provider permanently refused, or `null`. */
  | ({ kind: 'failed'; reason: string; refused: string | null } & Counted)
  | ({ kind: 'skipped'; reason: string } & Counted)
  | { kind: 'paused'; reason: string }
  | { kind: 'dropped' };

type ReminderOutcome = Outcome<ReminderResult>;

/** Many at a time, because receivers and mail servers may be slow. */
const SLOTS = 64;
/** Few at a time: reminders claimed by a worker that dies are late until its death is noticed. */
const MOST_UNBEGUN = 16;
/**
 * Milliseconds between claims. Saves three quarters of the queries, for a delay that no user
 * notices.
 */
const CLAIM_EVERY_MS = 20;
/**
 * Milliseconds between two reminders of one account beyond its first eight. An event with hundreds
 * of participants must not take minutes.
 */
const PACE_MS = 10;
/**
 * Pause after an internal error; multiplied by the number of attempts. After the last allowed
 * attempt the reminder fails.
 */
const INTERNAL_ERROR_PAUSE_MS = 30_000;
const MOST_INTERNAL_ERRORS = 20;
/** How long a reminder waits before it is looked at again while sending is paused. */
const PAUSED_WAIT_MS = 60_000;
/** Reminders of a recurring event are about its first occurrence (ADR 0072). */
const WITHOUT_FIRST =
  'the first occurrence of the recurring event was excluded, or changed or deleted on its own';
/**
 * Ten seconds before the event. A reminder that becomes due later than that is looked up after half
 * of the time that is left: the copy of one that has just left appears with a delay.
 */
const LOOK_UP_BY = `
  (select greatest(r.expires_at - interval '${LAST_BEFORE_SECONDS} s', due.at + (r.expires_at - due.at) / 2)
   from reminder r, lateral (select greatest(j.run_at, now()) as at) due where r.id = j.id)`;
const DROPPED: ReminderOutcome = { next: { kind: 'done' }, result: { kind: 'dropped' } };

/**
 * Sends one reminder per run. First looks up an earlier attempt with an unknown outcome. Then
 * checks that the reminder is still wanted and not expired, commits the hand-off marker, sends
 * once, and sets the next state according to the policy.
 */
@Injectable()
export class ReminderDispatcher implements Dispatcher<ClaimedReminder, ReminderResult> {
  readonly table: QueueTable = {
    queue: 'reminder',
    table: 'reminder_job',
    gateColumn: 'account_id',
    columns: { lookUps: 'look_ups' },
    paceMs: PACE_MS,
    noEffectBeforeHandOff: true,
    lookUpBy: LOOK_UP_BY,
  };
  readonly slots = SLOTS;
  readonly claimEveryMs = CLAIM_EVERY_MS;
  readonly mostBeforeHandOff = MOST_UNBEGUN;
  readonly #senders: Readonly<Record<ReminderType, ReminderSender>>;

  constructor(
    private readonly reminders: ReminderRepository,
    private readonly clock: Clock,
    email: EmailReminderSender,
    sms: SmsReminderSender,
    webhook: WebhookReminderSender,
  ) {
    this.#senders = { email, sms, webhook };
  }

  async run(row: ClaimedReminder, lease: Lease): Promise<ReminderOutcome | null> {
    const due = await this.reminders.findDue(row.id, row.gateId);
    if (!due) return DROPPED;
    const { reminder, account } = due;
    if (reminder.status !== 'scheduled') return this.#settleUnwanted(row, due, lease);
    const before = attemptsBefore(row);
    const end = (delivery: ReminderDelivery, attempts = row.attempt) =>
      this.#decide(row, attempts, due, delivery);
    if (account.grantStatus === 'invalid') {
      return end({
        kind: 'refused',
        reason: "the account's credentials are out of date: the user has to authenticate again",
      });
    }
    const sender = this.#senders[reminder.type];
    const earlier = await this.#lookUp(row, reminder, account, lease);
    if (earlier) return end(earlier, before);
    if (reminder.withoutFirst)
      return done({ kind: 'skipped', reason: WITHOUT_FIRST, attempts: before });
    if (this.clock.now() >= reminder.expiresAt) return done(expired(reminder, before));
    if (account.pause && isPaused(reminder, account.pause))
      return this.#waits(reminder, account.pause);
    if (row.lookUps > 0) await this.reminders.forgetLookUps(row.id, row.fence);
    if (!(await lease.handOff())) return null;
    // Checked as late as possible: a change of the event that was committed before this check wins.
    const admission = await this.reminders.admit(row.id, row.gateId);
    if (admission.kind === 'dropped') return DROPPED;
    if (admission.kind === 'refused') {
      const reason = `not sent: ${refusalOf(admission.by)}`;
      return done({ kind: 'skipped', reason, attempts: before });
    }
    try {
      return end(await sender.send(reminder, account, lease));
    } catch (error) {
      if (error instanceof LeaseLostError) return null;
      throw error;
    }
  }

  /** The queue engine has already logged the error. */
  onError({ attempt: attempts, ambiguous, lookUps }: ClaimedReminder): ReminderOutcome {
    // The outcome is unknown, and the reminder is not loaded here. The next run checks the reminder
    // again.
    const reason = INTERNAL_REASON;
    if (attempts >= MOST_INTERNAL_ERRORS)
      return done({ kind: 'failed', reason, refused: null, attempts });
    const at = new Date(this.clock.now().getTime() + INTERNAL_ERROR_PAUSE_MS * attempts);
    return {
      next: { kind: 'again', at, ambiguous },
      result: { kind: 'retry', at, reason, ambiguous, lookUps, attempts },
    };
  }

  onPoison({ attempt: attempts }: ClaimedReminder): ReminderOutcome {
    return done({
      kind: 'failed',
      reason: 'quarantined: several workers crashed while they sent this reminder',
      refused: null,
      attempts,
    });
  }

  async record(
    sql: Sql,
    settled: readonly Settled<ClaimedReminder, ReminderResult>[],
  ): Promise<void> {
    const now = this.clock.now();
    const of = <K extends ReminderResult['kind']>(...kinds: K[]) =>
      settled.flatMap(({ row, result }) =>
        (kinds as string[]).includes(result.kind)
          ? [{ row, result: result as Extract<ReminderResult, { kind: K }> }]
          : [],
      );
    await lockReminders(
      sql,
      settled.map(({ row }) => row.id),
    );
    const refusals = of('failed').flatMap(({ row, result: { reason, refused } }) =>
      refused === null ? [] : [{ accountId: row.gateId, reason, settingsSealed: refused }],
    );
    await markGrantsInvalid(sql, refusals, now);
    await transitionReminders(
      sql,
      of('sent', 'failed', 'skipped').map(({ row, result }) => ({
        id: row.id,
        to: result.kind,
        reason: result.kind === 'sent' ? null : result.reason,
        attempts: result.attempts,
      })),
      now,
    );
    await noteFailedAttempts(
      sql,
      of('retry').map(({ row, result: { attempts, reason } }) => ({
        id: row.id,
        attempts,
        reason,
      })),
      now,
    );
    await recordLookUps(
      sql,
      of('retry')
        .filter(
          ({ row, result }) => result.attempts < row.attempt || result.lookUps !== row.lookUps,
        )
        .map(({ row, result: { attempts, lookUps } }) => ({ id: row.id, attempts, lookUps })),
    );
    await noteWaits(
      sql,
      of('paused').map(({ row, result: { reason } }) => ({ id: row.id, reason })),
      now,
    );
    await requeueDropped(
      sql,
      of('dropped').map(({ row }) => row.id),
    );
    afterCommit(sql, () => {
      for (const { result } of settled)
        if (result.kind !== 'dropped') reminderAttempts.inc({ result: result.kind });
      reportReminders(settled, now);
    });
  }

  /**
   * Handles a reminder that is no longer wanted, although an earlier attempt may have sent it. The
   * reminder becomes `sent` if the look-up finds it. It keeps its status (`cancelled`, for example)
   * if the look-up finds nothing, if the sender has no look-up (webhooks), or if the account's
   * credentials are invalid.
   */
  async #settleUnwanted(
    row: ClaimedReminder,
    due: FoundReminder,
    lease: Lease,
  ): Promise<ReminderOutcome> {
    if (due.account.grantStatus === 'invalid') return DROPPED;
    const earlier = await this.#lookUp(row, due.reminder, due.account, lease);
    return earlier ? this.#decide(row, attemptsBefore(row), due, earlier) : DROPPED;
  }

  /**
   * Result of an earlier attempt whose outcome is unknown; `null` if the reminder is to be sent, or
   * sent again.
   */
  async #lookUp(
    row: ClaimedReminder,
    reminder: DueReminder,
    account: ConnectedAccount,
    lease: Lease,
  ): Promise<ReminderDelivery | null> {
    const sender = this.#senders[reminder.type];
    if (!row.ambiguous || !sender.lookUp) return null;
    try {
      const looked = await sender.lookUp(reminder, account, lease);
      if (looked === 'sent') return { kind: 'sent' };
      if (looked === 'not-sent') return null;
      const lookUps = row.lookUps + 1;
      const at = nextReminderLookUp(lookUps, this.clock.now(), reminder.expiresAt);
      return at && { kind: 'unproven', at, lookUps };
    } catch (error) {
      const reason = error instanceof ProviderError ? error.message : internalReason(error);
      return { kind: 'look-up-failed', reason };
    }
  }

  /** Looks again after a minute, and when the reminder expires. */
  #waits({ expiresAt }: DueReminder, { text }: AccountPause): ReminderOutcome {
    const soon = this.clock.now().getTime() + PAUSED_WAIT_MS;
    const at = new Date(Math.min(soon, expiresAt.getTime()));
    return {
      next: { kind: 'again', at, ambiguous: false },
      result: { kind: 'paused', reason: text },
    };
  }

  #decide(
    { lookUps }: ClaimedReminder,
    attempts: number,
    { reminder: { expiresAt }, account }: FoundReminder,
    delivery: ReminderDelivery,
  ): ReminderOutcome {
    const now = this.clock.now();
    const decision = decideReminder({ delivery, attempts, lookUps, now, expiresAt });
    if (decision.kind === 'sent') return done({ ...decision, attempts });
    if (decision.kind === 'failed') {
      const { reason, credentialsInvalid } = decision;
      const refused = credentialsInvalid ? account.settingsSealed : null;
      return done({ kind: 'failed', reason, refused, attempts });
    }
    const { at, ambiguous } = decision;
    return { next: { kind: 'again', at, ambiguous }, result: { ...decision, attempts } };
  }
}

/**
 * Attempts before this run, for runs that begin none. At least 1 if the outcome is unknown: after a
 * failover of the database, the attempt itself may be missing (ADR 0127).
 */
function attemptsBefore({ attempt, ambiguous }: ClaimedReminder): number {
  return Math.max(attempt - 1, ambiguous ? 1 : 0);
}

/** A pause of sending holds reminders by email, and a suspended application sends none at all. */
function isPaused({ type }: DueReminder, { by }: AccountPause): boolean {
  return type === 'email' || by === 'suspension';
}

/**
 * The result of a reminder whose event has begun: `skipped` if no attempt failed before, so that
 * only downtime made it late; otherwise `failed`, with the reason of the last attempt.
 */
function expired({ lastFailure }: DueReminder, attempts: number): ReminderResult {
  if (!lastFailure) return { kind: 'skipped', reason: 'the event has already begun', attempts };
  const reason = `the event began before it could be sent (${lastFailure})`;
  return { kind: 'failed', reason, refused: null, attempts };
}

function done(result: ReminderResult): ReminderOutcome {
  return { next: { kind: 'done' }, result };
}
