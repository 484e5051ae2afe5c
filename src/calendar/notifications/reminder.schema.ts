import { z } from 'zod';
import { pageQuery } from '../../platform/wire/pagination.schema.ts';
import { REMINDER_STATUSES } from '../events/ports/event-reminders.ts';
import { REMINDER_TYPES } from './reminder-status.ts';

/** Query of GET /events/{id}/notifications. */
export const listRemindersQuery = z.object(pageQuery);

/** One reminder to one recipient, as the API returns it. */
export const reminderView = z
  .object({
    id: z.string(),
    object: z.literal('reminder'),
    notification_id: z.string().describe('Id of the notification of the event'),
    type: z.enum(REMINDER_TYPES),
    participant: z
      .string()
      .nullable()
      .describe('Address of the participant, or phone number without one; null for webhooks'),
    recipient: z.string().describe('Email address, phone number or URL'),
    due_at: z.number().int(),
    status: z.enum(REMINDER_STATUSES),
    reason: z
      .string()
      .nullable()
      .describe('Why it was not sent; while scheduled, why the last attempt did not succeed'),
    attempts: z.number().int().describe('Attempts begun'),
    sent_at: z.number().int().nullable(),
  })
  .meta({
    id: 'Reminder',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000010',
      object: 'reminder',
      notification_id: '019aa1b2-0000-7000-8000-000000000011',
      type: 'email',
      participant: 'bo@example.test',
      recipient: 'bo@example.test',
      due_at: 1_700_000_000,
      status: 'sent',
      reason: null,
      attempts: 1,
      sent_at: 1_700_000_001,
    },
  });
export type ReminderView = z.infer<typeof reminderView>;
