import { Injectable } from '@nestjs/common';
import { Database, idsOf } from '../../../platform/database/sql.ts';
import type { NotificationOutcome, RemindedEvent } from '../../events/ports/event-reminders.ts';
import { outcomeOf, timesOf } from '../plan/reminder-plan.ts';
import type { Reminder } from '../reminder.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

// An event can have thousands of reminders, so they are grouped in the database.
const OUTCOMES = `
  select event_id as "eventId", notification_id as "notificationId", due_at as "dueAt", status,
    min(reason) as reason
  from reminder where account_id = $1 and event_id = any($2::uuid[])
  group by event_id, notification_id, due_at, status`;

interface Row extends RowOf<Reminder, 'eventId' | 'notificationId' | 'dueAt' | 'status'> {
  reason: string | null;
}

/** Reads the outcomes of the notifications of events. */
@Injectable()
export class ReminderOutcomes {
  constructor(private readonly database: Database) {}

  /** See `EventReminders.outcomes`. */
  async of(
    accountId: string,
    events: readonly RemindedEvent[],
  ): Promise<ReadonlyMap<string, readonly NotificationOutcome[]>> {
    const reminding = events.filter(({ notifications }) => notifications.length > 0);
    if (reminding.length === 0) return new Map();
    const rows = await this.database.query<Row>(OUTCOMES, [accountId, idsOf(reminding)]);
    const byEvent = Map.groupBy(rows, ({ eventId }) => eventId);
    return new Map(reminding.map((event) => [event.id, outcomesOf(event, byEvent.get(event.id))]));
  }
}

function outcomesOf(event: RemindedEvent, rows: readonly Row[] = []): NotificationOutcome[] {
  const { notifications, startsAt, status } = event;
  return notifications.map((notification) => {
    const { dueAt } = timesOf(startsAt, notification.minutes_before_event);
    const current = rows.filter(
      (row) => row.notificationId === notification.id && row.dueAt.getTime() === dueAt.getTime(),
    );
    return outcomeOf(notification, { startsAt, cancelled: status === 'cancelled' }, current);
  });
}
