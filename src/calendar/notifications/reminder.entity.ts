import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { REMINDER_STATUSES } from '../events/ports/event-reminders.ts';
import { REMINDER_TYPES } from './reminder-status.ts';

const ReminderSchema = defineEntity({
  name: 'Reminder',
  tableName: 'reminder',
  uniques: [
    { name: 'reminder_once', properties: ['eventId', 'notificationId', 'participant', 'dueAt'] },
  ],
  indexes: [
    { name: 'reminder_account', properties: ['account'] },
    // Operators search by recipient over all accounts.
    {
      name: 'reminder_recipient',
      expression: `create index "reminder_recipient" on "reminder" (lower(recipient), id)`,
    },
  ],
  checks: [
    {
      name: 'reminder_reason',
      expression: `reason is not null or status in ('scheduled', 'sent')`,
    },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** No foreign key, because this module does not know the table of events. */
    eventId: p.uuid(),
    notificationId: p.uuid(),
    /**
     * Address of the participant in lower case, or phone number without one; empty for webhooks,
     * which are sent once.
     */
    participant: p.text(),
    type: p.enum(REMINDER_TYPES),
    /** Email address, phone number or URL. */
    recipient: p.text(),
    /** Name of the participant; empty for webhooks. */
    name: p.text(),
    dueAt: p.datetime().columnType('timestamptz'),
    /**
     * From this time the reminder is useless and is skipped: the start of the event, but at least a
     * minute after `dueAt`.
     */
    expiresAt: p.datetime().columnType('timestamptz'),
    status: p.enum(REMINDER_STATUSES),
    /** Why it was not sent; while it is scheduled, why the last attempt did not succeed. */
    reason: p.text().nullable(),
    attempts: p.smallint().default(0),
    /**
     * Message-ID of an email reminder. It never changes, so that an attempt with an unknown outcome
     * can be looked up.
     */
    messageIdHeader: p.text().nullable(),
    /**
     * When the reminder was counted for the quotas; `null` if not yet. It is counted once for all
     * attempts.
     */
    chargedAt: p.datetime().columnType('timestamptz').nullable(),
    sentAt: p.datetime().columnType('timestamptz').nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** One reminder to one recipient. Clients can read its status. */
export class Reminder extends ReminderSchema.class {}
ReminderSchema.setClass(Reminder);
