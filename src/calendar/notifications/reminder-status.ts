import type { Transitions } from '../../platform/base/state/transitions.ts';

/** Statuses of a reminder. All except `scheduled` and `sent` have a reason. */
export const REMINDER_STATUSES = ['scheduled', 'sent', 'failed', 'skipped', 'cancelled'] as const;
export type ReminderStatus = (typeof REMINDER_STATUSES)[number];

/**
 * A `skipped` or `cancelled` reminder can become `scheduled` again: a participant accepts after
 * all, or an event is moved back. It becomes `sent` if it turns out that an attempt from before the
 * change has sent it. A reminder with an unknown outcome stays `cancelled` if that cannot be found
 * out (see `ReminderDispatcher`). A `failed` reminder becomes `scheduled` only if an operator
 * releases it from quarantine.
 */
export const REMINDER_TRANSITIONS = {
  scheduled: ['sent', 'failed', 'skipped', 'cancelled'],
  sent: [],
  failed: ['scheduled'],
  skipped: ['scheduled', 'sent'],
  cancelled: ['scheduled', 'skipped', 'sent'],
} as const satisfies Transitions<ReminderStatus>;

export const REMINDER_TYPES = ['email', 'sms', 'webhook'] as const;
export type ReminderType = (typeof REMINDER_TYPES)[number];
