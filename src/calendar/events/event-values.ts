import type { EventWhen } from '../../formats/recurrence/series-source.ts';

/**
 * Values inside an event. They are stored in the form the API uses, except that notifications also
 * have an id.
 */

export const EVENT_STATUSES = ['confirmed', 'tentative', 'cancelled'] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const PARTICIPANT_STATUSES = ['yes', 'no', 'maybe', 'noreply'] as const;
export type ParticipantStatus = (typeof PARTICIPANT_STATUSES)[number];

export interface Participant {
  /**
   * Lower case. Empty for a participant who is reached by phone only: no provider stores such a
   * participant, and no mail is sent to them.
   */
  email: string;
  name: string;
  phone_number: string | null;
  status: ParticipantStatus;
  comment: string | null;
}

/** What identifies a participant of an event: the address, or the phone number without one. */
export const participantKey = ({
  email,
  phone_number: phone,
}: Pick<Participant, 'email' | 'phone_number'>): string => email.toLowerCase() || (phone ?? '');

/** The participants that providers store, and to whom mail can be sent. */
export const withAddress = <P extends { email: string }>(participants: readonly P[]): P[] =>
  participants.filter(({ email }) => email !== '');

export type { Recurrence } from '../../formats/recurrence/series-source.ts';
export type When = EventWhen;

export interface Conferencing {
  provider: string;
  details: {
    meeting_code?: string;
    phone?: string[];
    password?: string;
    pin?: string;
    url?: string;
  };
}

/**
 * A request to create a meeting for the event. It stays in the event after the meeting was created.
 */
export interface EventAutocreate {
  provider: string;
  settings: Record<string, unknown>;
}

export interface ReminderSettings {
  /** Bracketed list, e.g. `[20]`. */
  reminder_minutes: string;
  reminder_method: string;
}

/** The first number of a bracketed list such as `[20,10]`; `null` if the list is empty. */
export function firstMinutes(list: string): number | null {
  const [first] = list.match(/-?\d+/) ?? [];
  return first === undefined ? null : Number(first);
}

/** A reminder as the caller set it. */
export type EventNotification =
  | { type: 'email'; minutes_before_event: number; subject: string; body: string }
  | { type: 'sms'; minutes_before_event: number; message: string }
  | { type: 'webhook'; minutes_before_event: number; url: string; payload: string };

/** A reminder with the id that links its planned reminders to it. */
export type StoredNotification = EventNotification & { id: string };
