import { newId } from '../../../platform/base/ids/ids.ts';
import type { RateGateSignal, Outcome } from '../../../platform/work/queue/dispatcher.ts';
import type { AttemptRecord } from '../../../job-statuses/job-attempts.ts';
import { EARLIER_OUTCOME_UNKNOWN, UNKNOWN_PREFIX } from '../../../job-statuses/job-status.ts';
import type { SendReceipt } from '../../../providers/port/connector.ts';
import type { RefusedRecipient, SendPhase } from '../../../platform/base/errors/provider-error.ts';
import type { decideUnproven, RetryDecision, RetryRule } from './retry-policy.ts';
import {
  type Attempt,
  type AttemptEnd,
  OVERDUE_SECONDS,
  type RecipientProgress,
  type SendJobRow,
  type SendResult,
  SINGLE_ATTEMPT_SECONDS,
} from './send-attempt.ts';

/*
 * Pure functions that turn the end of an attempt into its result. The result contains the next
 * state and its reason, the line in the timeline, and what the queue row keeps.
 */

/** A decision of any part of the policy. */
export type Decision = RetryDecision | ReturnType<typeof decideUnproven>;

/**
 * How long an account that has reached its daily limit sends nothing, unless its provider names a
 * time.
 */
const DAILY_LIMIT_SECONDS = 3_600;

/** Whether an earlier attempt has to be looked up before this one may send. */
export function needsLookUp(row: SendJobRow): boolean {
  return row.ambiguous && !isResent(row);
}

/**
 * Whether this attempt may send a second copy on purpose. It may if all look-ups of an unknown
 * outcome proved nothing and `on_unknown` is `resend` (`decideUnproven`).
 */
export function isResent({ ambiguous, resendAttempt, attempt }: SendJobRow): boolean {
  return ambiguous && resendAttempt === attempt;
}

/**
 * Recipients that the server had deferred when the outcome became unknown. If a look-up finds the
 * message, the other recipients have it, but these do not.
 */
export function deferredBefore({ deferred, attempt }: SendJobRow): readonly string[] {
  // Out of date after any further attempt: the server may have accepted these recipients in it,
  // although its worker died.
  return deferred?.attempt === attempt - 1 ? deferred.emails : [];
}

type Times = Pick<SendJobRow, 'retryLimitAt' | 'dueAt'>;

/**
 * When no attempt may begin any more: the retry limit, or an hour after the send time for a message
 * with a single attempt.
 */
export function deadlineOf({ retryLimitAt, dueAt }: Times): Date {
  if (retryLimitAt > dueAt) return retryLimitAt;
  return new Date(dueAt.getTime() + SINGLE_ATTEMPT_SECONDS * 1000);
}

/** Until when an attempt may begin that had to wait for us: a minute after `deadlineOf`. */
export function lastStartOf(row: Times): Date {
  return new Date(deadlineOf(row).getTime() + OVERDUE_SECONDS * 1000);
}

/**
 * Whether the deadline passed before a worker picked the message up. Sending it that late would
 * surprise the recipient.
 */
export const isTooLate = (row: Times, now: Date): boolean => now > lastStartOf(row);

/**
 * When a message is no longer sent after look-ups that proved nothing: its retry limit, or
 * `lastStartOf` if only a failover makes it look attempted.
 */
export function resendLimitOf(row: SendJobRow): Date {
  return row.attemptAssumed ? lastStartOf(row) : row.retryLimitAt;
}

/**
 * Whether an attempt before the current one was made, or may have been. An attempt that is only
 * assumed does not count (`SendJobRow.attemptAssumed`).
 */
const mayHaveBeenAttempted = (row: SendJobRow) =>
  row.attemptAssumed ? row.failures > 0 || row.route === 'relay' : row.attempt > 1 || row.ambiguous;

/**
 * From when on a message is later than its sender allows; `null` if it may be late, or if it may
 * have been attempted.
 */
export function missedFrom({ row, message }: Pick<Attempt, 'row' | 'message'>): Date | null {
  if (message?.onMissed !== 'skip' || mayHaveBeenAttempted(row)) return null;
  // Whole seconds count.
  return new Date(row.dueAt.getTime() + ((message.maxLatenessSeconds ?? 0) + 1) * 1000);
}

/**
 * Whole seconds by which a message that was never attempted is later than its sender allows. 0
 * means the message may be sent now.
 */
export function secondsMissed(attempt: Attempt): number {
  const { row, startedAt } = attempt;
  const from = missedFrom(attempt);
  return from && startedAt >= from
    ? Math.floor((startedAt.getTime() - row.dueAt.getTime()) / 1000)
    : 0;
}

/**
 * Text of the provider's response to a message it accepted, with the recipients it refused or
 * deferred.
 */
export function receiptText({ response, refused, deferred }: SendReceipt): string {
  const list = (what: string, of: SendReceipt['refused']) =>
    of.length > 0
      ? `; ${what}: ${of.map(({ email, reason }) => `${email} (${reason})`).join(', ')}`
      : '';
  return `${response}${list('refused', refused)}${list('deferred', deferred)}`;
}

/** A line of the timeline for this attempt. */
export function lineOf(
  { row, startedAt, route, handedOff }: Attempt,
  endedAt: Date,
  rest: Partial<AttemptRecord> & Pick<AttemptRecord, 'outcome'>,
): AttemptRecord {
  return {
    id: newId(),
    jobId: row.id,
    attempt: row.attempt,
    startedAt,
    endedAt,
    route: handedOff ? route : null,
    phase: null,
    code: null,
    detail: null,
    server: null,
    nextAt: null,
    rule: null,
    ...rest,
  };
}

/**
 * Result of an attempt after which every recipient has either accepted or refused the message.
 * @param recipients `null` if no recipient has refused the message in any attempt
 */
export function sent(
  attempt: Attempt,
  now: Date,
  end: { detail: string; phase: SendPhase },
  recipients: RecipientProgress | null,
): Outcome<SendResult> {
  const { row, route } = attempt;
  const refused = recipients?.refused ?? attempt.message?.refused ?? [];
  return {
    next: { kind: 'done' },
    result: {
      move: { id: row.id, to: 'successful', route, ...(refused.length > 0 ? { refused } : {}) },
      attempt: lineOf(attempt, now, { ...end, outcome: 'sent' }),
      refusal: null,
      progress: null,
      recipients,
    },
  };
}

/**
 * Result of an attempt after which some recipients have not received the message: it is tried
 * again, or it ends, as `decision` says.
 */
export function concluded(
  attempt: Attempt,
  now: Date,
  end: AttemptEnd,
  decision: Decision,
): Outcome<SendResult> {
  const { row, message } = attempt;
  const { code, phase, detail, server = null } = end;
  const nextAt = nextOf(decision, now);
  const line = lineOf(attempt, now, {
    outcome: outcomeOf(end),
    code,
    phase,
    detail,
    server,
    nextAt,
    rule: decision.rule,
  });
  const unknown = code === 'outcome-unknown';
  // A failure of this attempt leaves the outcome of the earlier attempt unknown.
  const open = !unknown && isResent(row);
  const reason = reasonOf(decision.rule, open ? `${detail}; ${EARLIER_OUTCOME_UNKNOWN}` : detail);
  if (nextAt) {
    return {
      next: { kind: 'again', at: nextAt, ambiguous: unknown || open },
      result: {
        move: { id: row.id, to: 'delayed', reason, server, ...acceptedRoute(attempt, end) },
        attempt: line,
        refusal: null,
        progress: {
          ...progressOf(attempt, end, decision),
          deferred: deferredAfter(attempt, end, decision),
        },
        recipients: end.recipients ?? null,
      },
    };
  }
  const before = end.recipients ?? message;
  const recipients =
    before && end.refused?.length ? withRefused(before, end.refused) : end.recipients;
  const refused = recipients?.refused ?? message?.refused ?? [];
  return {
    next: { kind: 'done' },
    result: {
      move: {
        id: row.id,
        to: 'failed',
        reason,
        server,
        ...acceptedRoute(attempt, end),
        ...(refused.length > 0 ? { refused } : {}),
      },
      attempt: line,
      refusal: refusalOf(attempt, detail, decision),
      progress: null,
      recipients: recipients ?? null,
      retryAfterSeconds: end.retryAfterSeconds ?? null,
    },
  };
}

function outcomeOf({ acceptedBySome, code }: AttemptEnd): AttemptRecord['outcome'] {
  if (acceptedBySome) return 'sent';
  return code === 'outcome-unknown' ? 'unknown' : 'not-sent';
}

/** The route is reported as soon as one recipient has accepted the message. */
function acceptedRoute(
  { route }: Attempt,
  { acceptedBySome }: AttemptEnd,
): { route?: Attempt['route'] } {
  return acceptedBySome ? { route } : {};
}

function nextOf(decision: Decision, now: Date): Date | null {
  if (decision.kind === 'stop') return null;
  return decision.kind === 'retry' ? decision.at : now;
}

function progressOf(
  { row, route, failures, handedOff }: Attempt,
  { code }: AttemptEnd,
  decision: Decision,
) {
  const unknown = code === 'outcome-unknown';
  const attemptAssumed = unknown && row.attemptAssumed && !handedOff;
  const resent = decision.kind === 'resend' || (!unknown && isResent(row));
  const lookUps = unknown && !resent ? row.lookUps : 0;
  const resendAttempt = resent ? row.attempt + 1 : null;
  if (decision.kind === 'switch')
    return { route: 'relay' as const, failures: 0, lookUps, resendAttempt, attemptAssumed };
  return { route, failures, lookUps, resendAttempt, attemptAssumed };
}

function deferredAfter({ row }: Attempt, { code, deferred }: AttemptEnd, { kind }: Decision) {
  const emails = deferred ?? deferredBefore(row);
  if (code !== 'outcome-unknown' || kind !== 'retry' || emails.length === 0) return null;
  return { attempt: row.attempt, emails };
}

function refusalOf({ message }: Attempt, reason: string, { rule }: Decision) {
  if (rule !== 'auth-invalid' || !message) return null;
  const { accountId, settingsSealed } = message.account;
  return { accountId, settingsSealed, reason };
}

function reasonOf(rule: RetryRule, detail: string): string {
  switch (rule) {
    case 'deadline':
      return `retry limit datetime reached; last error: ${detail}`;
    case 'auth-invalid':
      return `invalid authentication: ${detail}`;
    case 'rejected':
      return `rejected by the provider: ${detail}`;
    case 'own-limit':
      return `not sent yet: ${detail}`;
    case 'look-up':
      return `the outcome is unknown and being looked up: ${detail}`;
    case 'resend':
      return `the outcome is unknown, so it is sent again: ${detail}`;
    case 'unknown':
      return `${UNKNOWN_PREFIX}: ${detail}`;
    case 'missed':
      return `missed: ${detail}`;
    case 'partly-sent':
      return detail;
    case 'daily-limit-to-relay':
    case 'five-attempts-to-relay':
      return `could not be sent over the account, so the mailing service is next: ${detail}`;
    default:
      return `could not be sent yet: ${detail}`;
  }
}

/**
 * Signal of an attempt about the account's server, for the circuit breaker. An attempt over the
 * mailing service can only reset the breaker: the account's messages no longer depend on that
 * server.
 * @param end `null` if the message was sent
 * @returns `undefined` if the attempt says nothing about the server
 */
export function signalOf(
  { row, route }: Attempt,
  end: AttemptEnd | null,
): RateGateSignal | undefined {
  if (end?.internal) return undefined;
  if (route !== 'account') return row.gateFailures > 0 ? { kind: 'well' } : undefined;
  // The other messages of the account wait as well, without attempts of their own.
  if (end?.ownLimit)
    return { kind: 'stop', seconds: end.retryAfterSeconds ?? 1, reason: end.detail };
  if (end?.code === 'quota-exhausted') {
    const seconds = end.retryAfterSeconds ?? DAILY_LIMIT_SECONDS;
    return {
      kind: 'stop',
      seconds,
      reason: `the account's daily limit is reached: ${end.detail}`,
    };
  }
  const connecting = end?.phase === 'connect' || end?.phase === 'login';
  if (connecting && (end.code === 'temporary' || end.code === 'rate-limited')) {
    return { kind: 'trouble', reason: `the account's server could not be reached: ${end.detail}` };
  }
  // The server was reached if it accepted the message, refused the login or answered about the
  // message. An unknown outcome proves nothing.
  const reached =
    end === null || end.code === 'auth-invalid' || (end.phase !== null && !connecting);
  return reached && end?.code !== 'outcome-unknown' && row.gateFailures > 0
    ? { kind: 'well' }
    : undefined;
}

/**
 * Makes the timeline say when the next attempt is possible. If the signal stops the circuit
 * breaker, that is when the stop ends, or at the deadline if that is earlier. The queue row keeps
 * its own time, because the stop may be ended early.
 */
export function withTimeAfterStop(
  outcome: Outcome<SendResult>,
  signal: RateGateSignal,
  now: Date,
  row: SendJobRow,
): Outcome<SendResult> {
  const { next, result } = outcome;
  if (signal.kind !== 'stop' || next.kind !== 'again' || !result.attempt) return outcome;
  const stopEndsAt = new Date(now.getTime() + signal.seconds * 1000);
  if (next.at >= stopEndsAt) return outcome;
  const limit = now < row.retryLimitAt ? row.retryLimitAt : lastStartOf(row);
  const nextAt = stopEndsAt < limit ? stopEndsAt : limit;
  return { ...outcome, result: { ...result, attempt: { ...result.attempt, nextAt } } };
}

const key = (email: string) => email.toLowerCase();

/**
 * Recipients that have neither accepted nor refused the message: the recipients of the next
 * attempt.
 */
export function remaining(
  recipients: readonly string[],
  { accepted, refused }: RecipientProgress,
): readonly string[] {
  if (accepted.length === 0 && refused.length === 0) return recipients;
  const settled = new Set([...accepted, ...refused.map(({ email }) => email)].map(key));
  return recipients.filter((email) => !settled.has(key(email)));
}

/**
 * Adds recipients that have refused the message. An address that is listed already keeps its first
 * reason.
 */
export function withRefused(
  { accepted, refused }: RecipientProgress,
  more: readonly RefusedRecipient[],
): RecipientProgress {
  const known = new Set(refused.map(({ email }) => key(email)));
  return { accepted, refused: [...refused, ...more.filter(({ email }) => !known.has(key(email)))] };
}

/**
 * State of the recipients after an attempt that the provider accepted. If the provider deferred no
 * recipient, all it did not refuse have the message.
 * @param asked recipients of the attempt
 * @returns the state, and in `rest` the recipients the message has to be sent to again
 */
export function afterReceipt(
  before: RecipientProgress,
  asked: readonly string[],
  receipt: SendReceipt,
): RecipientProgress & { rest: readonly string[] } {
  const { refused } = withRefused(before, receipt.refused);
  if (receipt.deferred.length === 0) {
    const accepted = [
      ...before.accepted,
      ...remaining(asked, { accepted: [], refused: receipt.refused }),
    ];
    return { accepted, refused, rest: [] };
  }
  const took = new Set(receipt.accepted.map(key));
  const accepted = [...before.accepted, ...asked.filter((email) => took.has(key(email)))];
  return { accepted, refused, rest: remaining(asked, { accepted, refused }) };
}
