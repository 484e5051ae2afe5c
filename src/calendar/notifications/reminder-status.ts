import type { ReminderStatus } from '../events/ports/event-reminders.ts';
import type { Transitions } from '../../platform/base/state/transitions.ts';

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
