import { toUnixSeconds, toUnixSecondsOrNull } from '../../../platform/base/time/unix-seconds.ts';
import type { ChangeRecord } from '../../../platform/changes/change-log.ts';
import { dedupeKey } from '../../../platform/changes/usual-webhooks.ts';
import type { ReminderInfo } from '../reminder-info.ts';

/** A reminder whose status has changed. */
export interface NotifiedReminder extends ReminderInfo {
  accountId: string;
  applicationId: string;
  eventId: string;
}

/** The webhooks of reminders that were sent or failed; none for those of another status. */
export function reminderChanges(reminders: readonly NotifiedReminder[], at: Date): ChangeRecord[] {
  return reminders.flatMap((reminder): ChangeRecord[] => {
    const { id: objectId, status, accountId, applicationId } = reminder;
    if (status !== 'sent' && status !== 'failed') return [];
    const trigger = `reminder.${status}` as const;
    const webhook = {
      trigger,
      dedupe: dedupeKey(trigger, objectId),
      attributes: {
        event_id: reminder.eventId,
        notification_id: reminder.notificationId,
        type: reminder.type,
        participant: reminder.participant || null,
        due_at: toUnixSeconds(reminder.dueAt),
        sent_at: toUnixSecondsOrNull(reminder.sentAt),
        attempts: reminder.attempts,
        reason: reminder.reason,
      },
    };
    const owner = { applicationId, accountId, at };
    return [{ ...owner, object: 'reminder', objectId, event: 'modify', webhook }];
  });
}
