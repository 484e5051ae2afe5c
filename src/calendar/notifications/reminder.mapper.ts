import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { ReminderInfo } from './reminder-info.ts';
import type { ReminderView } from './reminder.schema.ts';

export function toReminderView(reminder: ReminderInfo): ReminderView {
  const {
    id,
    notificationId,
    type,
    participant,
    recipient,
    dueAt,
    status,
    reason,
    attempts,
    sentAt,
  } = reminder;
  return {
    id,
    object: 'reminder',
    notification_id: notificationId,
    type,
    participant: participant || null,
    recipient,
    due_at: toUnixSeconds(dueAt),
    status,
    reason,
    attempts,
    sent_at: toUnixSecondsOrNull(sentAt),
  };
}
