import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const ReminderContentSchema = defineEntity({
  name: 'ReminderContent',
  tableName: 'reminder_content',
  indexes: [{ name: 'reminder_content_account', properties: ['account'] }],
  properties: {
    /** No foreign key: this room does not know events. */
    eventId: p.uuid().primary(),
    notificationId: p.uuid().primary(),
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** `{subject, body}`, `{message}` or `{payload}`. */
    content: p.json<Record<string, string>>(),
  },
});

/** What the reminders of one notification say: stored once, however many participants there are. */
export class ReminderContent extends ReminderContentSchema.class {}
ReminderContentSchema.setClass(ReminderContent);
