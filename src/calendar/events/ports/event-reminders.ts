import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type { EventFields, EventRecord } from '../event-record.ts';
import type { Participant, StoredNotification } from '../event-values.ts';

/** Statuses of a reminder. All except `scheduled` and `sent` have a reason. */
export const REMINDER_STATUSES = ['scheduled', 'sent', 'failed', 'skipped', 'cancelled'] as const;
export type ReminderStatus = (typeof REMINDER_STATUSES)[number];

/** The fields of an event that reminders depend on, after the change. */
export interface ReminderEvent {
  accountId: string;
  eventId: string;
  /** Used if a notification has an empty subject or message. */
  title: string;
  startsAt: Date;
  notifications: readonly StoredNotification[];
  /** A participant with the status `no` has declined and gets no reminder. */
  participants: readonly Pick<Participant, 'email' | 'name' | 'phone_number' | 'status'>[];
  /** True if the event was cancelled or deleted; it then has no reminders. */
  cancelled: boolean;
}

/** The outcome of one notification of an event, for all its recipients together. */
export interface NotificationOutcome {
  notificationId: string;
  dueAt: Date;
  /** `scheduled` if at least one recipient will be reminded, else `sent` if at least one was. */
  status: ReminderStatus;
  /** Why no recipient will be reminded; `null` if some will be or have been. */
  reason: string | null;
}

/** What is planned for one notification of an event. */
export interface PlannedReminder extends NotificationOutcome {
  type: StoredNotification['type'];
  /** Number of recipients to be reminded at `dueAt`. */
  recipients: number;
}

/** The fields of an event that the outcomes of its notifications depend on. */
export type RemindedEvent = Pick<EventRecord, 'id' | 'startsAt' | 'notifications' | 'status'>;

/** The fields of an event that decide whether it may have its notifications. */
export type NotifyingFields = Pick<
  EventFields,
  'notifications' | 'participants' | 'recurrence' | 'when'
>;

/**
 * The reminders of events: what events need of them. Implemented by the module `notifications`
 * (ADR 0105).
 */
export abstract class EventReminders {
  /**
   * Checks the notifications of an event as it is after a change. Call it before anything is
   * stored. An event without notifications always passes.
   * @param before the stored event; `null` for a new event
   * @throws {InvalidInputError} if the event may not have these notifications
   * @throws {ForbiddenError} if the account's scopes or the application's features do not allow
   *   them
   */
  abstract assertAllowed(
    account: AccountPrincipal,
    before: NotifyingFields | null,
    after: NotifyingFields,
  ): void;

  /**
   * Updates the reminders of an event, in the transaction that writes the event. Call it after
   * every change of start, title, participants, notifications or status. Unchanged reminders stay
   * as they are. A reminder that was sent is never sent again for the same due time.
   *
   * An unchanged notification must keep its id (`keepNotificationIds`), because the id identifies
   * it.
   *
   * @param at now, from the injected clock
   * @returns what is planned for each notification, in their order
   */
  abstract plan(sql: Sql, event: ReminderEvent, at: Date): Promise<PlannedReminder[]>;

  /**
   * Updates the reminders of many events of one account, with a few round trips for each 200
   * events. The caller must have locked the rows of the events.
   */
  abstract planAll(
    sql: Sql,
    accountId: string,
    events: readonly ReminderEvent[],
    at: Date,
  ): Promise<void>;

  /**
   * Cancels the scheduled reminders of events, in the caller's transaction and two round trips.
   * @param reason shown to users
   */
  abstract cancelEvents(
    sql: Sql,
    accountId: string,
    eventIds: readonly string[],
    reason: string,
    at: Date,
  ): Promise<void>;

  /**
   * The outcome of each notification at the present time of its event, with one query for all
   * events; without a query if no event has notifications.
   * @returns outcomes in the order of the notifications, by event id; events without notifications
   *   are absent
   */
  abstract outcomes(
    accountId: string,
    events: readonly RemindedEvent[],
  ): Promise<ReadonlyMap<string, readonly NotificationOutcome[]>>;
}
