import type { ReminderStatus } from '../events/ports/event-reminders.ts';
import type { ReminderType } from './reminder-status.ts';

/** A reminder as the owner of the event sees it. */
export interface ReminderInfo {
  id: string;
  notificationId: string;
  type: ReminderType;
  /** Empty for webhooks. */
  participant: string;
  recipient: string;
  dueAt: Date;
  status: ReminderStatus;
  reason: string | null;
  attempts: number;
  sentAt: Date | null;
}
