import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const ReminderContentSchema = defineEntity({
  name: 'ReminderContent',
  tableName: 'reminder_content',
  indexes: [{ name: 'reminder_content_account', properties: ['account'] }],
  properties: {
    /** No foreign key, because this module does not know the table of events. */
    eventId: p.uuid().primary(),
    notificationId: p.uuid().primary(),
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** `{subject, body}`, `{message}` or `{payload}`. */
    content: p.json<Record<string, string>>(),
  },
});

/** Text of the reminders of one notification. Stored once for all participants. */
export class ReminderContent extends ReminderContentSchema.class {}
ReminderContentSchema.setClass(ReminderContent);
