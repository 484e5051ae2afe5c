import type { Transitions } from '../../platform/base/state/transitions.ts';

/** Fate of one reminder (design 9). All but `scheduled` and `sent` carry a reason. */
export const REMINDER_STATUSES = ['scheduled', 'sent', 'failed', 'skipped', 'cancelled'] as const;
export type ReminderStatus = (typeof REMINDER_STATUSES)[number];

/**
 * `skipped` and `cancelled` can come back: a participant accepts after all, or an event is moved back. They can also
 * turn out to be `sent`: the reminder was on its way when the event was changed, and what left is told.
 */
export const REMINDER_TRANSITIONS = {
  scheduled: ['sent', 'failed', 'skipped', 'cancelled'],
  sent: [],
  failed: [],
  skipped: ['scheduled', 'sent'],
  cancelled: ['scheduled', 'skipped', 'sent'],
} as const satisfies Transitions<ReminderStatus>;

export const REMINDER_TYPES = ['email', 'sms', 'webhook'] as const;
export type ReminderType = (typeof REMINDER_TYPES)[number];
