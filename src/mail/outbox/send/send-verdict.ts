import { newId } from '../../../platform/base/ids/ids.ts';
import type { Outcome } from '../../../platform/work/queue/dispatcher.ts';
import type { AttemptRecord } from '../../../job-statuses/job-attempts.ts';
import { EARLIER_OUTCOME_UNKNOWN, UNKNOWN_PREFIX } from '../../../job-statuses/job-status.ts';
import type { SendPhase } from '../../../platform/base/errors/provider-error.ts';
import type { decideUnproven, RetryDecision, RetryRule } from './retry-policy.ts';
import type {
  Attempt,
  AttemptEnd,
  RecipientProgress,
  SendJobRow,
  SendResult,
} from './send-attempt.ts';
import { isResent } from './send-limits.ts';
import { deferredBefore, withRefused } from './send-recipients.ts';

/*
 * Pure functions that turn the end of an attempt into its result. The result contains the next
 * state and its reason, the line in the timeline, and what the queue row keeps.
 */

/** A decision of any part of the policy. */
export type Decision = RetryDecision | ReturnType<typeof decideUnproven>;

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
 * Says of a row of unknown outcome that its message may have been sent. After a failover, an
 * attempt may only be assumed (ADR 0139).
 */
export const earlierOutcome = ({ attemptAssumed }: SendJobRow): string =>
  attemptAssumed
    ? `${EARLIER_OUTCOME_UNKNOWN}, and whether there was one, because the database failed over`
    : EARLIER_OUTCOME_UNKNOWN;

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
  const reason = reasonOf(decision.rule, open ? `${detail}; ${earlierOutcome(row)}` : detail);
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
