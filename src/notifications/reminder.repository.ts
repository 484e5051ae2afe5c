import { Injectable } from '@nestjs/common';
import type { Page } from '../common/http/pagination.schema.ts';
import { Database } from '../database/sql.ts';
import type { DueReminder } from './due-reminder.ts';
import type { ReminderInfo } from './reminder-info.ts';
import type { ReminderStatus } from './reminder-status.ts';

const FIND_DUE = `
  select r.id, r.account_id as "accountId", r.type, r.recipient, r.name, c.content, r.due_at as "dueAt",
    r.expires_at as "expiresAt", r.status, r.reason as "lastFailure", r.message_id_header as "messageIdHeader", a.features,
    a.secret_sealed as "secretSealed"
  from reminder r
  join reminder_content c using (event_id, notification_id)
  join "grant" g on g.id = r.account_id
  join application a on a.id = g.application_id
  where r.id = $1 and r.account_id = $2`;

const STATUS = 'select status from reminder where id = $1 and account_id = $2';

const LIST = `
  select id, notification_id as "notificationId", type, participant, recipient, due_at as "dueAt", status, reason,
    attempts, sent_at as "sentAt"
  from reminder where account_id = $1 and event_id = $2
  order by due_at, type, participant, id limit $3 offset $4`;

/** Reads reminders for those who send and show them. */
@Injectable()
export class ReminderRepository {
  constructor(private readonly database: Database) {}

  /** @returns undefined when the account or the reminder is gone */
  async findDue(id: string, accountId: string): Promise<DueReminder | undefined> {
    const [row] = await this.database.query<DueReminder>(FIND_DUE, [id, accountId]);
    return row;
  }

  /** Whether it is still to be sent, as of now. */
  async isScheduled(id: string, accountId: string): Promise<boolean> {
    const [row] = await this.database.query<{ status: ReminderStatus }>(STATUS, [id, accountId]);
    return row?.status === 'scheduled';
  }

  /** By due time, type and participant. */
  listForEvent(accountId: string, eventId: string, { limit, offset }: Page): Promise<ReminderInfo[]> {
    return this.database.query<ReminderInfo>(LIST, [accountId, eventId, limit, offset]);
  }
}
