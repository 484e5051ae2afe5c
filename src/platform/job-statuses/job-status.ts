import type { Transitions } from '../base/state/transitions.ts';

/** States of an outbox message and of any other job (spec 3.1). */
export const JOB_STATES = ['pending', 'delayed', 'successful', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Every move there is (spec 3.1, design 5); the check constraint on `job_status` repeats what it implies. */
export const JOB_TRANSITIONS = {
  pending: ['pending', 'delayed', 'successful', 'failed', 'cancelled'],
  delayed: ['pending', 'delayed', 'successful', 'failed', 'cancelled'],
  successful: [],
  failed: [],
  cancelled: [],
} as const satisfies Transitions<JobState>;

/** Condition in SQL for an update that makes a move the table does not have. */
export const FORBIDDEN_MOVE = JOB_STATES.map((from) => {
  const allowed = [from, ...JOB_TRANSITIONS[from]].map((to) => `'${to}'`);
  return `(old.status = '${from}' and new.status not in (${[...new Set(allowed)].join(', ')}))`;
}).join(' or ');

/** States that carry a `reason` (spec 2.6). */
export const STATES_WITH_REASON: readonly JobState[] = ['delayed', 'failed', 'cancelled'];

/** Ways a message can go: the account's own provider, or the application's third-party mailing service (spec 8). */
export const SEND_ROUTES = ['account', 'relay'] as const;
export type SendRoute = (typeof SEND_ROUTES)[number];

/** What a job does (api facts 6.4). */
export const JOB_ACTIONS = [
  'new_outbox', 'send_message',
  'create_calendar', 'update_calendar', 'delete_calendar',
  'create_event', 'update_event', 'delete_event',
  'notify_participants', 'send_invitation',
  'update_message', 'save_draft', 'delete_draft', 'save_sent_email',
  'create_folder', 'update_folder', 'delete_folder',
  'create_label', 'update_label', 'delete_label',
  'create_contact', 'update_contact', 'delete_contact',
] as const; // prettier-ignore
export type JobAction = (typeof JOB_ACTIONS)[number];
