import { newId } from '../../platform/base/ids/ids.ts';
import type { GateSignal, Outcome } from '../../platform/work/dispatcher.ts';
import type { AttemptRecord } from '../../platform/job-statuses/jobs.ts';
import type { SendReceipt } from '../../providers/port/connector.ts';
import type { RefusedRecipient, SendPhase } from '../../platform/base/errors/provider-error.ts';
import type { decideUnproven, RetryDecision, RetryRule } from './retry-policy.ts';
import {
  type Attempt, type AttemptEnd, OVERDUE_SECONDS, type RecipientProgress, type SendJobRow, type SendResult,
} from './send-attempt.ts'; // prettier-ignore

/*
 * What becomes of a message after an attempt, as values: next state and reason, line of the timeline, what the row
 * carries on. Nothing here asks or writes.
 */

/** What any part of the policy decided. */
export type Decision = RetryDecision | ReturnType<typeof decideUnproven>;

/** Said of a message that ends while nobody knows what became of an earlier attempt. */
export const UNSURE = 'whether an earlier attempt succeeded is unknown';

/** How long an account is left alone that has reached its daily limit, unless its provider names a time. */
const DAILY_LIMIT_SECONDS = 3_600;

/** Whether an earlier attempt has to be looked up before this one may send. */
export function needsLookUp(job: SendJobRow): boolean {
  return job.ambiguous && !isResent(job);
}

/** Whether this attempt sends a second copy on purpose: the outcome of an earlier attempt stayed unknown. */
export function isResent({ ambiguous, resendAttempt, attempt }: SendJobRow): boolean {
  return ambiguous && resendAttempt === attempt;
}

/** Recipients that the server had put off when the outcome became unknown: a copy that is found is not theirs. */
export function putOffBefore({ putOff, attempt }: SendJobRow): readonly string[] {
  // A worker may have died in a later attempt, in which they were not put off.
  return putOff?.attempt === attempt - 1 ? putOff.emails : [];
}

/**
 * Whether the deadline passed before a worker picked the message up: sending it that late would surprise the recipient. False for a
 * message with a single attempt.
 */
export function isTooLate({ retryLimitAt, dueAt }: SendJobRow, now: Date): boolean {
  return retryLimitAt > dueAt && now.getTime() > retryLimitAt.getTime() + OVERDUE_SECONDS * 1000;
}

/** Whole seconds a message that was never attempted is later than its sender allows; 0: it may go. */
export function secondsMissed({ job, message, startedAt }: Attempt): number {
  if (!message || message.onMissed !== 'skip' || job.attempt > 1 || job.ambiguous) return 0;
  const late = Math.floor((startedAt.getTime() - job.dueAt.getTime()) / 1000);
  return late > (message.maxLatenessSeconds ?? 0) ? late : 0;
}

/** The provider's answer to a message it accepted. */
export function words({ response, refused, deferred }: SendReceipt): string {
  const list = (what: string, of: SendReceipt['refused']) =>
    of.length > 0
      ? `; ${what}: ${of.map(({ email, reason }) => `${email} (${reason})`).join(', ')}`
      : '';
  return `${response}${list('refused', refused)}${list('put off', deferred)}`;
}

/** What a line of the timeline has of its own. */
export function lineOf(
  { job, startedAt, route, handedOff }: Attempt,
  endedAt: Date,
  rest: Partial<AttemptRecord> & Pick<AttemptRecord, 'outcome'>,
): AttemptRecord {
  return {
    id: newId(),
    jobId: job.id,
    attempt: job.attempt,
    startedAt,
    endedAt,
    route: handedOff ? route : null,
    phase: null,
    code: null,
    detail: null,
    nextAt: null,
    rule: null,
    ...rest,
  };
}

/** Everybody has it who has not refused it. @param recipients null: nobody has refused it, in no attempt */
export function sent(
  attempt: Attempt,
  now: Date,
  end: { detail: string; phase: SendPhase },
  recipients: RecipientProgress | null,
): Outcome<SendResult> {
  const { job, route } = attempt;
  const refused = recipients?.refused ?? attempt.message?.refused ?? [];
  return {
    next: { kind: 'done' },
    result: {
      move: { id: job.id, to: 'successful', route, ...(refused.length > 0 ? { refused } : {}) },
      attempt: lineOf(attempt, now, { ...end, outcome: 'sent' }),
      refusal: null,
      progress: null,
      recipients,
    },
  };
}

/** What follows an attempt by which not everybody has got the message. */
export function concluded(
  attempt: Attempt,
  now: Date,
  end: AttemptEnd,
  decision: Decision,
): Outcome<SendResult> {
  const { job, message } = attempt;
  const { code, phase, detail } = end;
  const nextAt = nextOf(decision, now);
  const line = lineOf(attempt, now, {
    outcome: outcomeOf(end),
    code,
    phase,
    detail,
    nextAt,
    rule: decision.rule,
  });
  const unknown = code === 'outcome-unknown';
  // That it fails now says nothing about the attempt nobody knows of.
  const open = !unknown && isResent(job);
  const reason = reasonOf(decision.rule, open ? `${detail}; ${UNSURE}` : detail);
  if (nextAt) {
    return {
      next: { kind: 'again', at: nextAt, ambiguous: unknown || open },
      result: {
        move: { id: job.id, to: 'delayed', reason, ...wayOf(attempt, end) },
        attempt: line,
        refusal: null,
        progress: {
          ...progressOf(attempt, end, decision),
          putOff: putOffOf(attempt, end, decision),
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
        id: job.id,
        to: 'failed',
        reason,
        ...wayOf(attempt, end),
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

function outcomeOf({ taken, code }: AttemptEnd): AttemptRecord['outcome'] {
  if (taken) return 'sent';
  return code === 'outcome-unknown' ? 'unknown' : 'not-sent';
}

/** Told from the first recipient on who has got it. */
function wayOf({ route }: Attempt, { taken }: AttemptEnd): { route?: Attempt['route'] } {
  return taken ? { route } : {};
}

function nextOf(decision: Decision, now: Date): Date | null {
  if (decision.kind === 'stop') return null;
  return decision.kind === 'retry' ? decision.at : now;
}

function progressOf({ job, route, failures }: Attempt, { code }: AttemptEnd, decision: Decision) {
  const unknown = code === 'outcome-unknown';
  const resent = decision.kind === 'resend' || (!unknown && isResent(job));
  const lookUps = unknown && !resent ? job.lookUps : 0;
  const resendAttempt = resent ? job.attempt + 1 : null;
  if (decision.kind === 'switch')
    return { route: 'relay' as const, failures: 0, lookUps, resendAttempt };
  return { route, failures, lookUps, resendAttempt };
}

function putOffOf({ job }: Attempt, { code, putOff }: AttemptEnd, { kind }: Decision) {
  const emails = putOff ?? putOffBefore(job);
  if (code !== 'outcome-unknown' || kind !== 'retry' || emails.length === 0) return null;
  return { attempt: job.attempt, emails };
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
    case 'look-up':
      return `the outcome is unknown and being looked up: ${detail}`;
    case 'resend':
      return `the outcome is unknown, so it is sent again: ${detail}`;
    case 'unknown':
      return `the outcome is unknown: ${detail}`;
    case 'missed':
      return `missed: ${detail}`;
    case 'daily-limit-to-relay':
    case 'five-attempts-to-relay':
      return `could not be sent over the account, so the mailing service is next: ${detail}`;
    default:
      return `could not be sent yet: ${detail}`;
  }
}

/**
 * What an attempt says about its account's server. One over the mailing service says only that nothing need wait for
 * that server any more.
 * @param end null: it was sent
 */
export function signalOf({ job, route }: Attempt, end: AttemptEnd | null): GateSignal | undefined {
  if (end?.internal) return undefined;
  if (route !== 'account') return job.gateFailures > 0 ? { kind: 'well' } : undefined;
  if (end?.code === 'quota-exhausted') {
    const seconds = end.retryAfterSeconds ?? DAILY_LIMIT_SECONDS;
    return {
      kind: 'close',
      seconds,
      reason: `the account's daily limit is reached: ${end.detail}`,
    };
  }
  const atTheDoor = end?.phase === 'connect' || end?.phase === 'login';
  if (atTheDoor && (end.code === 'temporary' || end.code === 'rate-limited')) {
    return { kind: 'trouble', reason: `the account's server could not be reached: ${end.detail}` };
  }
  // It was reached, unless nobody knows: an answer about the message, a login that was refused, or success.
  const reached = end === null || end.code === 'auth-invalid' || (end.phase !== null && !atTheDoor);
  return reached && end?.code !== 'outcome-unknown' && job.gateFailures > 0
    ? { kind: 'well' }
    : undefined;
}

const key = (email: string) => email.toLowerCase();

/** Recipients who have neither accepted nor refused the message: those of the next attempt. */
export function remaining(
  recipients: readonly string[],
  { accepted, refused }: RecipientProgress,
): readonly string[] {
  if (accepted.length === 0 && refused.length === 0) return recipients;
  const settled = new Set([...accepted, ...refused.map(({ email }) => email)].map(key));
  return recipients.filter((email) => !settled.has(key(email)));
}

/** Adds those who are refused from now on; the first reason of an address stays. */
export function withRefused(
  { accepted, refused }: RecipientProgress,
  more: readonly RefusedRecipient[],
): RecipientProgress {
  const known = new Set(refused.map(({ email }) => key(email)));
  return { accepted, refused: [...refused, ...more.filter(({ email }) => !known.has(key(email)))] };
}

/**
 * How far a message has come after an attempt that the provider accepted.
 * @param asked recipients of the attempt
 * @returns `rest`: those it is to be sent to again. Without any whom the provider puts off, everybody it did not refuse
 *   has it.
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
