import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { keepNotificationIds } from './keep-notification-ids.ts';
import type { EventFields } from '../event-record.ts';
import type {
  Conferencing,
  EventAutocreate,
  EventNotification,
  Participant,
  Recurrence,
  ReminderSettings,
  When,
} from '../event-values.ts';
import { firstMinutes, participantKey } from '../event-values.ts';
import { InvalidRecurrenceError } from '../../../formats/recurrence/recurrence-lines.ts';
import { TooManyOccurrencesError } from '../../../formats/recurrence/rules.ts';
import { Series } from '../../../formats/recurrence/series.ts';
import { boundsOf, withoutAddedZones } from '../when/when.ts';

/** Fields that are stored as they are given. */
const PLAIN_FIELDS = [
  'title',
  'description',
  'location',
  'busy',
  'readOnly',
  'visibility',
  'hideParticipants',
  'metadata',
  'customerEventId',
  'eventCollectionId',
  'capacity',
  'roundRobinOrder',
] as const satisfies readonly (keyof EventFields)[];

type Wanted<T> = { [K in keyof T]?: T[K] | undefined };
type ParticipantInput = Pick<Participant, 'email'> & Wanted<Omit<Participant, 'email'>>;

/** The fields of an event that a client can set; `undefined` means not given. */
export type EventInput = Wanted<Pick<EventFields, (typeof PLAIN_FIELDS)[number] | 'when'>> & {
  participants?: readonly ParticipantInput[] | undefined;
  /** Default zone: the calendar's. */
  recurrence?: (Pick<Recurrence, 'rrule'> & Wanted<Recurrence>) | undefined;
  conferencing?:
    | (Conferencing & { autocreate?: undefined })
    | { provider: string; autocreate: Pick<EventAutocreate, 'settings'> }
    | undefined;
  notifications?: readonly EventNotification[] | undefined;
  reminderMinutes?: string | undefined;
  reminderMethod?: string | undefined;
  /** As `reminderMinutes` and `reminderMethod`, which have precedence. */
  reminders?:
    | { reminder_minutes?: string | undefined; reminder_method?: string | undefined }
    | undefined;
};

/** Input for a change of an existing event. */
export type EventUpdate = EventInput & { calendarId?: string | undefined };

/** Input for a new event. */
export type NewEvent = EventInput & {
  calendarId: string;
  when: When;
};

/** Defaults of a new event; `when` has no default. */
export const NEW_EVENT: Omit<EventFields, 'when' | 'startsAt' | 'endsAt'> = {
  title: '',
  description: '',
  location: '',
  busy: true,
  readOnly: false,
  visibility: null,
  hideParticipants: false,
  participants: [],
  recurrence: null,
  conferencing: null,
  autocreate: null,
  reminders: null,
  notifications: [],
  metadata: {},
  customerEventId: null,
  eventCollectionId: null,
  capacity: null,
  roundRobinOrder: [],
};

const DEFAULT_METHOD = 'popup';

/**
 * Computes the fields of an event after a client has sent `input` for it. Fields that are not given
 * stay as they are. This function is pure.
 * @param zone of all-day events, and of a recurrence without a zone: the calendar's zone, or UTC
 * @throws {InvalidInputError} if the fields contradict each other
 */
export function applyInput(before: EventFields, input: EventInput, zone: string): EventFields {
  const { notifications, participants, recurrence } = input;
  const when = input.when
    ? withoutAddedZones(before.when, input.when, before.recurrence?.timezone)
    : before.when;
  const after: EventFields = {
    ...before,
    ...Object.fromEntries(
      PLAIN_FIELDS.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
    ),
    when,
    ...boundsOf(when, zone),
    participants: participants
      ? mergeParticipants(before.participants, participants)
      : before.participants,
    recurrence: recurrence
      ? { rrule: recurrence.rrule, timezone: recurrence.timezone ?? zone }
      : before.recurrence,
    ...mergeConferencing(before, input.conferencing),
    reminders: mergeReminders(before.reminders, input),
    notifications: notifications
      ? keepNotificationIds(before.notifications, notifications)
      : before.notifications,
  };
  assertCapacity(after);
  if (input.recurrence || input.when) assertRecurrence(after);
  return after;
}

/**
 * Rejects fields that only a whole series can have.
 * @throws {InvalidInputError}
 */
export function assertInstanceInput({ recurrence, notifications }: EventInput): void {
  if (recurrence)
    throw new InvalidInputError(
      'recurrence: an instance of a recurring event has no rules of its own; change the recurring event',
    );
  if (notifications && notifications.length > 0)
    throw new InvalidInputError(
      'notifications: an instance of a recurring event cannot have notifications of its own',
    );
}

/**
 * The new list replaces the old one. Answers of participants are kept by address, or by phone
 * number without one, unless `input` has new ones.
 */
function mergeParticipants(
  before: readonly Participant[],
  input: readonly ParticipantInput[],
): Participant[] {
  const known = new Map(before.map((participant) => [participantKey(participant), participant]));
  return input.map(({ email, name, phone_number, status, comment }) => {
    const stored = known.get(participantKey({ email, phone_number: phone_number ?? null }));
    return {
      email,
      name: name ?? '',
      phone_number: phone_number || null,
      status: status ?? stored?.status ?? 'noreply',
      comment: (comment === undefined ? stored?.comment : comment) || null,
    };
  });
}

/**
 * Clients send back the conferencing they have read. That must not replace a meeting that was
 * created for the event.
 */
function mergeConferencing(
  before: Pick<EventFields, 'conferencing' | 'autocreate'>,
  input: EventInput['conferencing'],
): Pick<EventFields, 'conferencing' | 'autocreate'> {
  const { conferencing, autocreate } = before;
  if (!input) return { conferencing, autocreate };
  const isSame = autocreate?.provider === input.provider;
  const { provider, autocreate: wanted } = input;
  if (wanted) {
    return {
      conferencing: isSame ? conferencing : null,
      autocreate: { provider, settings: wanted.settings },
    };
  }
  if (isSame && conferencing && input.details.url === conferencing.details.url)
    return { conferencing, autocreate };
  return { conferencing: input, autocreate: null };
}

function mergeReminders(
  before: ReminderSettings | null,
  { reminderMinutes, reminderMethod: method, reminders }: EventInput,
): ReminderSettings | null {
  const given = reminders?.reminder_minutes;
  // Clients send back the first reminder that they have read. That must not remove the others.
  const isSame = before && given && firstMinutes(given) === firstMinutes(before.reminder_minutes);
  const minutes = reminderMinutes ?? (isSame ? undefined : given) ?? before?.reminder_minutes;
  const reminderMethod = method ?? reminders?.reminder_method;
  if (minutes !== undefined) {
    return {
      reminder_minutes: minutes,
      reminder_method: reminderMethod ?? before?.reminder_method ?? DEFAULT_METHOD,
    };
  }
  if (reminderMethod) throw new InvalidInputError('reminder_method: needs reminder_minutes');
  return null;
}

function assertCapacity({ capacity, participants }: EventFields): void {
  if (capacity === null || capacity === -1 || participants.length <= capacity) return;
  throw new InvalidInputError(
    `capacity: the event has ${participants.length} participants, more than its capacity of ${capacity}`,
  );
}

function assertRecurrence({ when, recurrence }: EventFields): void {
  if (!recurrence) return;
  const refuse = (why: string) => new InvalidInputError(`recurrence.rrule: ${why}`);
  try {
    const series = new Series({ when, recurrence });
    const frequency = series.endlessFrequency;
    if (frequency) throw refuse(`FREQ=${frequency} needs COUNT or UNTIL`);
    if (!series.hasOccurrences) throw refuse('the rule never matches a date');
    series.assertExpandable();
  } catch (error) {
    if (error instanceof InvalidRecurrenceError || error instanceof TooManyOccurrencesError)
      throw refuse(error.message);
    throw error;
  }
}
