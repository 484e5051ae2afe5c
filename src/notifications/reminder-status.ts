import type { Transitions } from '../common/state/transitions.ts';

/** Fate of one reminder (design 9). `skipped` and `failed` always carry a reason. */
export const REMINDER_STATUSES = ['scheduled', 'sent', 'failed', 'skipped', 'cancelled'] as const;
export type ReminderStatus = (typeof REMINDER_STATUSES)[number];

export const REMINDER_TRANSITIONS = {
  scheduled: ['scheduled', 'sent', 'failed', 'skipped', 'cancelled'],
  sent: [],
  failed: [],
  skipped: ['scheduled'],
  cancelled: [],
} as const satisfies Transitions<ReminderStatus>;

export const REMINDER_TYPES = ['email', 'sms', 'webhook'] as const;
export type ReminderType = (typeof REMINDER_TYPES)[number];
