import {
  fieldsOf,
  type IcalAnswer,
  type IcalConferencing,
  type IcalFields,
  type IcalParticipant,
  type IcalWhen,
  UnwritableEventError,
} from '../../../formats/ical/ical-fields.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { EventContent, NativeMeeting } from '../../port/connector.ts';
import {
  CONFERENCE_PROPERTY,
  dateText,
  DAY_MS,
  emailOf,
  type GoogleAttendee,
  type GoogleEvent,
  googleEvent,
  hasUnstoredConference,
  isRule,
  MEET,
  readEvent,
  type StoredFields,
} from './google-event.ts';

/* Writes the fields of the API as an event of Google Calendar. */

/** Properties of an event. In a PATCH, `null` removes a property, and absent ones stay. */
type Properties = Record<string, unknown>;

/** @throws {ProviderError} `rejected` if the content cannot be written */
export function writable(event: EventContent): IcalFields {
  try {
    return fieldsOf(event);
  } catch (cause) {
    if (!(cause instanceof UnwritableEventError)) throw cause;
    throw new ProviderError('rejected', cause.message, { cause });
  }
}

/** The properties of a new event. */
export function newEvent(fields: IcalFields): Properties {
  const written = writeEvent(fields, null);
  return withoutNulls(written) as Properties;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      one === null || one === undefined ? [] : [[name, withoutNulls(one)]],
    ),
  );
}

/** The fields as they read after they were written, without a conference that cannot be stored. */
export function storedForm(fields: IcalFields): StoredFields {
  const stored = readEvent(googleEvent.parse({ ...newEvent(fields), id: 'x' }));
  if (!stored) throw new ProviderError('rejected', 'when: the event has no time');
  const { conferencing, ...rest } = stored;
  if (fields.conferencing === null) return { ...rest, conferencing: null };
  return conferencing ? { ...rest, conferencing } : rest;
}

/** The properties that ask Google to create a meeting. */
export function meetingRequest(meeting: NativeMeeting | undefined): Properties {
  if (!meeting) return {};
  const conferenceSolutionKey = { type: 'hangoutsMeet' };
  return { conferenceData: { createRequest: { requestId: meeting.key, conferenceSolutionKey } } };
}

/** The property for `hide_participants` if it has to change. */
export function writeHidden(
  { hide_participants: hide }: EventContent,
  base: EventContent | null,
  present: GoogleEvent | null,
): Properties {
  const isHidden = present?.guestsCanSeeOtherGuests === false;
  if (hide === true) return isHidden ? {} : { guestsCanSeeOtherGuests: false };
  const isShownAgain = hide === false && base?.['hide_participants'] === true && isHidden;
  return isShownAgain ? { guestsCanSeeOtherGuests: true } : {};
}

/**
 * The properties of Google's event for some fields.
 * @param present the event as it is; `null` for a new one. Values that the API lacks stay
 */
export function writeEvent(fields: Partial<IcalFields>, present: GoogleEvent | null): Properties {
  const { when, recurrence, visibility, participants, reminders } = fields;
  const { title: summary, description, location, busy, status } = fields;
  const given: Properties = {
    summary,
    description,
    location,
    status,
    ...(when && writeWhen(when, recurrence?.timezone)),
    transparency: busy === undefined ? undefined : busy ? 'opaque' : 'transparent',
    visibility: visibility === undefined ? undefined : (visibility ?? 'default'),
    attendees: participants && writeParticipants(participants, present?.attendees ?? []),
    reminders: reminders === undefined ? undefined : writeReminders(reminders),
    recurrence: writeRecurrence(recurrence, present),
    ...writeConference(fields.conferencing, present),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Rules that the API does not have stay. */
function writeRecurrence(
  recurrence: IcalFields['recurrence'] | undefined,
  present: GoogleEvent | null,
): string[] | null | undefined {
  if (recurrence === undefined || recurrence === null) return recurrence;
  const others = (present?.recurrence ?? []).filter((line) => !isRule(line));
  return [...recurrence.rrule, ...others];
}

function writeMoment(seconds: number, zone: string): Properties {
  const dateTime = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  return { dateTime, timeZone: zone, date: null };
}

function writeWhen(when: IcalWhen, seriesZone: string | undefined): Properties {
  switch (when.object) {
    case 'time': {
      const at = writeMoment(when.time, seriesZone ?? when.timezone ?? 'UTC');
      return { start: at, end: at };
    }
    case 'timespan': {
      const from = seriesZone ?? when.start_timezone ?? 'UTC';
      return {
        start: writeMoment(when.start_time, from),
        end: writeMoment(when.end_time, seriesZone ?? when.end_timezone ?? from),
      };
    }
    case 'date':
      return writeDates(when.date, when.date);
    case 'datespan':
      return writeDates(when.start_date, when.end_date);
  }
}

function writeDates(first: string, last: string): Properties {
  const day = (date: string) => ({ date, dateTime: null, timeZone: null });
  return { start: day(first), end: day(dateText(Date.parse(last) + DAY_MS)) };
}

/** Methods of reminders that Google has; the others are shown as a popup. */
const REMINDER_METHODS = ['email', 'popup'];
const MOST_REMINDERS = 5;
/** Four weeks, the longest time before an event that Google accepts. */
const MOST_MINUTES = 40_320;

function writeReminders(reminders: IcalFields['reminders']): Properties {
  const minutes = [...(reminders?.reminder_minutes ?? '').matchAll(/\d+/g)]
    .map(([digits]) => Math.min(Number(digits), MOST_MINUTES))
    .slice(0, MOST_REMINDERS);
  // Google refuses its default together with reminders of the event's own.
  if (!reminders || minutes.length === 0 || reminders.reminder_minutes.includes('-'))
    return { useDefault: true, overrides: [] };
  const method = REMINDER_METHODS.includes(reminders.reminder_method)
    ? reminders.reminder_method
    : 'popup';
  return { useDefault: false, overrides: minutes.map((one) => ({ method, minutes: one })) };
}

const RESPONSES: Readonly<Record<IcalAnswer, string>> = {
  yes: 'accepted',
  no: 'declined',
  maybe: 'tentative',
  noreply: 'needsAction',
};

/** @param present the guests of the event at Google: properties that the API lacks are kept */
function writeParticipants(
  participants: readonly IcalParticipant[],
  present: readonly GoogleAttendee[],
): Properties[] {
  const before = new Map(present.map((one) => [emailOf(one.email), one]));
  return participants.map(({ email, name, status, comment }) => ({
    ...before.get(email),
    email,
    ...(name ? { displayName: name } : {}),
    ...(comment ? { comment } : {}),
    responseStatus: RESPONSES[status],
  }));
}

/** The conference of an event. One that is there already stays as it is. */
function writeConference(
  conferencing: IcalConferencing | null | undefined,
  present: GoogleEvent | null,
): Properties {
  if (conferencing === undefined) return {};
  const unmarked =
    present && hasUnstoredConference(present)
      ? { extendedProperties: { private: { [CONFERENCE_PROPERTY]: 'none' } } }
      : {};
  const url = conferencing?.details.url;
  if (!conferencing || !url) return { conferenceData: null, ...unmarked };
  const isThere = (present?.conferenceData?.entryPoints ?? []).some(({ uri }) => uri === url);
  return isThere ? {} : { conferenceData: conferenceOf(conferencing, url), ...unmarked };
}

/** A conference of another service is written as those of Google's add-ons are. */
function conferenceOf({ provider, details }: IcalConferencing, url: string): Properties {
  const { meeting_code: code, password, pin, phone = [] } = details;
  const type = provider === MEET ? 'hangoutsMeet' : 'addOn';
  const pins = pin ? { pin } : {};
  const video = {
    entryPointType: 'video',
    uri: url,
    ...(password ? { password } : {}),
    ...(phone.length === 0 ? pins : {}),
  };
  const phones = phone.map((label) => ({
    entryPointType: 'phone',
    uri: `tel:${label.replaceAll(/[^+\d]/g, '')}`,
    label,
    ...pins,
  }));
  const id = code ?? (provider === MEET ? new URL(url).pathname.slice(1) : undefined);
  return {
    ...(id ? { conferenceId: id } : {}),
    conferenceSolution: { key: { type }, name: provider },
    entryPoints: [video, ...phones],
  };
}
