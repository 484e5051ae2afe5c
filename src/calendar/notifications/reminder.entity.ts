import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { REMINDER_STATUSES, REMINDER_TYPES } from './reminder-status.ts';

const ReminderSchema = defineEntity({
  name: 'Reminder',
  tableName: 'reminder',
  uniques: [
    { name: 'reminder_once', properties: ['eventId', 'notificationId', 'participant', 'dueAt'] },
  ],
  indexes: [{ name: 'reminder_account', properties: ['account'] }],
  checks: [
    {
      name: 'reminder_reason',
      expression: `reason is not null or status in ('scheduled', 'sent')`,
    },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** No foreign key: this room does not know events. */
    eventId: p.uuid(),
    notificationId: p.uuid(),
    /** Lower-case address of the participant; empty for webhooks, which go out once. */
    participant: p.text(),
    type: p.enum(REMINDER_TYPES),
    /** Email address, phone number or URL. */
    recipient: p.text(),
    /** The participant's; empty for webhooks. */
    name: p.text(),
    dueAt: p.datetime().columnType('timestamptz'),
    /** After this it is useless and skipped: the start of the event, never less than a minute after `dueAt`. */
    expiresAt: p.datetime().columnType('timestamptz'),
    status: p.enum(REMINDER_STATUSES),
    /** Why it was not sent; for a scheduled one, why the last attempt did not succeed. */
    reason: p.text().nullable(),
    attempts: p.smallint().default(0),
    /** Message-ID of an email reminder: fixed, so that a doubtful send can be looked up. */
    messageIdHeader: p.text().nullable(),
    /** When it was counted for the quotas: once, however often it is tried. Null: not yet. */
    chargedAt: p.datetime().columnType('timestamptz').nullable(),
    sentAt: p.datetime().columnType('timestamptz').nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** One reminder to one participant: its fate can be read by the caller. */
export class Reminder extends ReminderSchema.class {}
ReminderSchema.setClass(Reminder);
