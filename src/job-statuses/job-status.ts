import type { Transitions } from '../platform/base/state/transitions.ts';

/** States of an outbox message and of every other job. */
export const JOB_STATES = ['pending', 'delayed', 'successful', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/**
 * All allowed transitions of workers and clients. The trigger on `job_status` enforces them too.
 */
export const JOB_TRANSITIONS = {
  pending: ['pending', 'delayed', 'successful', 'failed', 'cancelled'],
  delayed: ['pending', 'delayed', 'successful', 'failed', 'cancelled'],
  successful: [],
  failed: [],
  cancelled: [],
} as const satisfies Transitions<JobState>;

/** Beginning of the reason of a job that failed because workers died while they ran it. */
export const QUARANTINE_PREFIX = 'quarantined:';

/** Beginning of the reason of a message that failed because its outcome stayed unknown. */
export const UNKNOWN_PREFIX = 'the outcome is unknown';

/** Part of the reason of a message that failed while an earlier outcome was unknown. */
export const EARLIER_OUTCOME_UNKNOWN = 'whether an earlier attempt succeeded is unknown';

/** Matches the reasons of failed messages that may have been sent. Also valid in PostgreSQL. */
export const MAY_HAVE_BEEN_SENT = `^(${QUARANTINE_PREFIX}|${UNKNOWN_PREFIX})|${EARLIER_OUTCOME_UNKNOWN}`;

/** The first exception: an operator releases a message from quarantine (ADR 0089). */
const RELEASE = `(old.status = 'failed' and new.status = 'delayed' and old.reason like '${QUARANTINE_PREFIX}%')`;

/** The second exception: an operator found out that a failed message was sent (ADR 0132). */
const SETTLE = `(old.status = 'failed' and new.status = 'successful' and old.reason ~ '${MAY_HAVE_BEEN_SENT}')`;

/** SQL condition: true for an update whose transition is not allowed. */
export const FORBIDDEN_TRANSITION = `not ${RELEASE} and not ${SETTLE} and (${JOB_STATES.map(
  (from) => {
    const allowed = [from, ...JOB_TRANSITIONS[from]].map((to) => `'${to}'`);
    return `(old.status = '${from}' and new.status not in (${[...new Set(allowed)].join(', ')}))`;
  },
).join(' or ')})`;

/** States that have a `reason`. */
export const STATES_WITH_REASON: readonly JobState[] = ['delayed', 'failed', 'cancelled'];

/** Routes of a message: the account's own provider, or the application's mailing service. */
export const SEND_ROUTES = ['account', 'relay'] as const;
export type SendRoute = (typeof SEND_ROUTES)[number];

/** All actions of jobs. */
export const JOB_ACTIONS = [
  'new_outbox',
  'send_message',
  'create_calendar',
  'update_calendar',
  'delete_calendar',
  'create_event',
  'update_event',
  'delete_event',
  'notify_participants',
  'send_invitation',
  'update_message',
  'save_draft',
  'delete_draft',
  'save_sent_email',
  'create_folder',
  'update_folder',
  'delete_folder',
  'create_label',
  'update_label',
  'delete_label',
  'create_contact',
  'update_contact',
  'delete_contact',
] as const;
export type JobAction = (typeof JOB_ACTIONS)[number];
