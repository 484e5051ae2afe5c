import { participantKey, type StoredNotification } from '../../events/event-values.ts';
import type {
  NotificationOutcome,
  PlannedReminder,
  ReminderEvent,
  ReminderStatus,
} from '../../events/ports/event-reminders.ts';
import type { ReminderType } from '../reminder-status.ts';

/** A reminder that should exist. */
export interface DesiredReminder {
  notificationId: string;
  /** Address in lower case, or phone number without one; empty for webhooks. */
  participant: string;
  name: string;
  type: ReminderType;
  recipient: string;
  dueAt: Date;
  expiresAt: Date;
  /** Why it must not be sent; `null` if it may be sent. */
  skip: string | null;
  /** Why it is too late to plan this reminder for the first time; `null` if there is time. */
  tooLate: string | null;
}

/** A reminder that exists. */
export interface ExistingReminder {
  id: string;
  notificationId: string;
  participant: string;
  dueAt: Date;
  status: ReminderStatus;
  reason: string | null;
  /** True if no attempt has begun. Only such a reminder may be changed to another time. */
  untouched: boolean;
}

/** A status change of an existing reminder. */
export interface PlannedTransition {
  id: string;
  to: ReminderStatus;
  reason: string | null;
}

/** The writes that bring the reminders of an event up to date. */
export interface ReminderChanges {
  moves: PlannedTransition[];
  /** Existing rows whose recipient, name or time may have changed. */
  rewrites: (DesiredReminder & { id: string })[];
  inserts: (DesiredReminder & { status: 'scheduled' | 'skipped'; reason: string | null })[];
  outcomes: PlannedReminder[];
}

/** A reminder planned up to this long after its due time is still sent, at once. */
export const PLANNING_GRACE_MS = 60_000;

/**
 * A reminder is useful until the event begins. One that is due at the start is useful for this much
 * longer.
 */
export const BEGINNING_GRACE_MS = 60_000;

const MINUTE_MS = 60_000;
const iso = (instant: Date): string => instant.toISOString().replace('.000Z', 'Z');

/** When a notification is due, and when it expires. */
export function timesOf(startsAt: Date, minutes: number): { dueAt: Date; expiresAt: Date } {
  const dueAt = new Date(startsAt.getTime() - minutes * MINUTE_MS);
  return {
    dueAt,
    expiresAt: new Date(Math.max(startsAt.getTime(), dueAt.getTime() + BEGINNING_GRACE_MS)),
  };
}

function lateness(dueAt: Date, expiresAt: Date, at: Date): string | null {
  if (at >= expiresAt) return 'too late: the event has already begun';
  if (at.getTime() - dueAt.getTime() > PLANNING_GRACE_MS) {
    return `too late: it would have been due at ${iso(dueAt)}`;
  }
  return null;
}

export function contentOf(notification: StoredNotification, title: string): Record<string, string> {
  const fallback = `Reminder: ${title || 'your event'}`;
  switch (notification.type) {
    case 'email':
      return { subject: notification.subject || fallback, body: notification.body };
    case 'sms':
      return { message: notification.message || fallback };
    case 'webhook':
      return { payload: notification.payload };
  }
}

/**
 * The reminders an event should have: for email and SMS one per notification and participant, for
 * webhooks one per notification.
 */
export function desiredReminders(event: ReminderEvent, at: Date): DesiredReminder[] {
  if (event.cancelled) return [];
  const people = new Map(event.participants.map((person) => [participantKey(person), person]));
  return event.notifications.flatMap((notification): DesiredReminder[] => {
    const { id: notificationId, type } = notification;
    const { dueAt, expiresAt } = timesOf(event.startsAt, notification.minutes_before_event);
    const common = {
      notificationId,
      type,
      dueAt,
      expiresAt,
      tooLate: lateness(dueAt, expiresAt, at),
    };
    if (type === 'webhook') {
      return [{ ...common, participant: '', name: '', recipient: notification.url, skip: null }];
    }
    return [...people].map(([participant, { name, email, phone_number: phone, status }]) => {
      const recipient = type === 'sms' ? (phone ?? '') : email.toLowerCase();
      const missing = type === 'sms' ? 'phone number' : 'email address';
      const unreachable = recipient === '' ? `the participant has no ${missing}` : null;
      const skip = status === 'no' ? 'the participant has declined' : unreachable;
      return { ...common, participant, name, recipient, skip };
    });
  });
}

const slotOf = (reminder: { notificationId: string; participant: string }) =>
  `${reminder.notificationId} ${reminder.participant}`;
const keyOf = (reminder: { notificationId: string; participant: string; dueAt: Date }) =>
  `${slotOf(reminder)} ${reminder.dueAt.getTime()}`;

/** Why a scheduled reminder is no longer wanted. */
function cancelReason(existing: ExistingReminder, event: ReminderEvent): string {
  if (event.cancelled) return 'the event was cancelled';
  if (!event.notifications.some(({ id }) => id === existing.notificationId)) {
    return 'the notification was removed from the event';
  }
  const here = event.participants.some((one) => participantKey(one) === existing.participant);
  if (existing.participant !== '' && !here) return 'the participant was removed from the event';
  return 'the event was moved to another time';
}

/** State of one reminder, input of `outcomeOf`. */
export interface ReminderState {
  status: ReminderStatus;
  reason: string | null;
}

const PRECEDENCE: readonly ReminderStatus[] = [
  'scheduled',
  'sent',
  'failed',
  'skipped',
  'cancelled',
];

/**
 * Sums up the reminders of a notification.
 * @param states the states of its reminders at the present time of the event
 */
export function outcomeOf(
  notification: StoredNotification,
  event: Pick<ReminderEvent, 'startsAt' | 'cancelled'>,
  states: readonly ReminderState[],
): NotificationOutcome {
  const { dueAt } = timesOf(event.startsAt, notification.minutes_before_event);
  const base = { notificationId: notification.id, dueAt };
  const status = PRECEDENCE.find((candidate) => states.some((state) => state.status === candidate));
  if (event.cancelled && status !== 'sent')
    return { ...base, status: 'cancelled', reason: 'the event was cancelled' };
  if (!status) return { ...base, status: 'skipped', reason: 'the event has no participants' };
  const { reason = null } = states.find((state) => state.status === status) ?? {};
  const isGood = status === 'scheduled' || status === 'sent';
  return { ...base, status, reason: isGood ? null : reason };
}

/**
 * Compares existing reminders with desired ones. Pure function.
 * - A row with the same notification, participant and due time stays unchanged if it is sent or
 *   failed. Otherwise it is kept, scheduled again or skipped.
 * - If there is no row for the due time, an untouched row of another time is changed to it, else
 *   a new row is inserted. A row with an attempt is never changed: the attempt may be sending it
 *   for the old time.
 * - Scheduled rows that are no longer desired are cancelled, even if an attempt may already have
 *   sent them. The dispatcher then looks up whether it did.
 */
export function planChanges(
  event: ReminderEvent,
  existing: readonly ExistingReminder[],
  at: Date,
): ReminderChanges {
  const changes: ReminderChanges = { moves: [], rewrites: [], inserts: [], outcomes: [] };
  const byKey = new Map(existing.map((reminder) => [keyOf(reminder), reminder]));
  const desired = desiredReminders(event, at);
  const wanted = new Set(desired.map(keyOf));
  const free = existing.filter(
    ({ status, ...rest }) => status === 'scheduled' && !wanted.has(keyOf(rest)),
  );
  const movable = new Map(
    free.filter(({ untouched }) => untouched).map((row) => [slotOf(row), row]),
  );
  const states = new Map<string, ReminderState[]>(event.notifications.map(({ id }) => [id, []]));

  for (const reminder of desired) {
    const row = byKey.get(keyOf(reminder));
    const state = row ? planExisting(row, reminder, changes) : planNew(reminder, movable, changes);
    states.get(reminder.notificationId)?.push(state);
  }
  const moved = new Set(changes.rewrites.map(({ id }) => id));
  for (const row of free) {
    if (!moved.has(row.id))
      changes.moves.push({ id: row.id, to: 'cancelled', reason: cancelReason(row, event) });
  }
  changes.outcomes = event.notifications.map((notification) => {
    const own = states.get(notification.id) ?? [];
    return {
      ...outcomeOf(notification, event, own),
      type: notification.type,
      recipients: own.filter(({ status }) => status === 'scheduled').length,
    };
  });
  return changes;
}

/** Handles a desired reminder that has a row for exactly this time. */
function planExisting(
  row: ExistingReminder,
  reminder: DesiredReminder,
  changes: ReminderChanges,
): ReminderState {
  const { id, status, reason } = row;
  if (status === 'sent' || status === 'failed') return { status, reason };
  // A reminder that is already scheduled may be late because the worker was down. The dispatcher
  // decides about it.
  const skip = reminder.skip ?? (status === 'scheduled' ? null : reminder.tooLate);
  const to = skip ? 'skipped' : 'scheduled';
  if (to === status) {
    if (to === 'scheduled') changes.rewrites.push({ ...reminder, id });
    return { status, reason };
  }
  changes.moves.push({ id, to, reason: skip });
  if (to === 'scheduled') changes.rewrites.push({ ...reminder, id });
  return { status: to, reason: skip };
}

/**
 * Handles a desired reminder without a row for this time: reuses an untouched row of another time,
 * or asks for a new one.
 */
function planNew(
  reminder: DesiredReminder,
  movable: Map<string, ExistingReminder>,
  changes: ReminderChanges,
): ReminderState {
  const reason = reminder.skip ?? reminder.tooLate;
  const status = reason ? 'skipped' : 'scheduled';
  const row = movable.get(slotOf(reminder));
  if (row) {
    movable.delete(slotOf(reminder));
    changes.rewrites.push({ ...reminder, id: row.id });
    if (reason) changes.moves.push({ id: row.id, to: status, reason });
  } else {
    changes.inserts.push({ ...reminder, status, reason });
  }
  return { status, reason };
}
