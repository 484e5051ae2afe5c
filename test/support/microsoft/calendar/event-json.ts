import type { Json } from '../http/types.ts';
import { changeKey, etag, idIn, type JsonForm, stamp } from '../mail/message-json.ts';
import { htmlToText, previewOf } from '../mail/mime.ts';
import type { Attendee, Instance, StoredCalendar, StoredEvent } from './event.ts';
import { inZone } from './zones.ts';

/** How times are shown: `Prefer: outlook.timezone`. */
export interface EventForm extends JsonForm {
  zone: string;
}

const NO_TIME = '0001-01-01T00:00:00Z';

/** A calendar as Graph shows it. */
export function calendarJson(
  calendar: StoredCalendar,
  owner: { name: string; address: string },
  providers: readonly string[],
): Json {
  return {
    id: calendar.id,
    name: calendar.name,
    color: calendar.color,
    hexColor: '',
    isDefaultCalendar: calendar.isDefault,
    changeKey: Buffer.from(`${calendar.version}`).toString('base64'),
    canShare: true,
    canViewPrivateItems: true,
    canEdit: true,
    allowedOnlineMeetingProviders: [...providers],
    defaultOnlineMeetingProvider: providers[0] ?? 'unknown',
    isTallyingResponses: false,
    isRemovable: !calendar.isDefault,
    owner,
  };
}

/** An event, series or instance as Graph shows it. */
export function eventJson(event: StoredEvent, form: EventForm, instance?: Instance): Json {
  const ids = instance?.ids ?? event;
  const master = event.master ?? (instance?.type === 'occurrence' ? event : null);
  const originalStart = instance?.originalStart ?? event.originalStart;
  const join = event.joinUrl;
  const asText = form.bodyType === 'text' && event.body.contentType === 'html';
  return {
    '@odata.etag': etag(event, event.version),
    id: idIn(form, ids),
    createdDateTime: stamp(event.created),
    lastModifiedDateTime: stamp(event.modified),
    changeKey: changeKey(event, event.version),
    categories: event.categories,
    transactionId: event.transactionId,
    originalStartTimeZone: event.shownZone ?? event.startZone,
    originalEndTimeZone: event.shownZone ?? event.endZone,
    iCalUId: event.iCalUId,
    reminderMinutesBeforeStart: event.reminderMinutesBeforeStart,
    isReminderOn: event.isReminderOn,
    hasAttachments: false,
    subject: event.subject,
    bodyPreview: previewOf(event.body),
    importance: event.importance,
    sensitivity: event.sensitivity,
    isAllDay: event.isAllDay,
    isCancelled: event.isCancelled,
    isOrganizer: event.isOrganizer,
    isDraft: false,
    responseRequested: event.responseRequested,
    seriesMasterId: master ? idIn(form, master) : null,
    showAs: event.showAs,
    type: typeOf(event, instance),
    webLink: 'https://outlook.office365.com/owa/',
    onlineMeetingUrl: null,
    isOnlineMeeting: event.isOnlineMeeting,
    onlineMeetingProvider: event.onlineMeetingProvider,
    allowNewTimeProposals: event.allowNewTimeProposals,
    hideAttendees: event.hideAttendees,
    responseStatus: status(event.response, event.responded),
    body: asText ? { contentType: 'text', content: htmlToText(event.body.content) } : event.body,
    start: shownTime(event, instance?.start ?? event.start, event.startZone, form),
    end: shownTime(event, instance?.end ?? event.end, event.endZone, form),
    location: event.location,
    locations: [],
    recurrence: master ? null : recurrenceJson(event),
    attendees: event.attendees.map(attendeeJson),
    organizer: { emailAddress: event.organizer },
    onlineMeeting: join === null ? null : { joinUrl: join },
    ...(originalStart === null ? {} : { originalStart: stamp(new Date(originalStart)) }),
  };
}

/** All-day events begin and end at midnight, whatever zone they were made in. */
function shownTime({ isAllDay }: StoredEvent, ms: number, ownZone: string, form: EventForm): Json {
  return isAllDay ? { ...inZone(ms, ownZone), timeZone: 'UTC' } : inZone(ms, form.zone);
}

/** Guests are not told the zone of a series. */
function recurrenceJson({ recurrence, isOrganizer, startZone }: StoredEvent): Json | null {
  if (!recurrence) return null;
  const { pattern, range } = recurrence;
  const recurrenceTimeZone = isOrganizer ? range.recurrenceTimeZone || startZone : '';
  return { pattern, range: { ...range, recurrenceTimeZone } };
}

/** What a delta query says about an occurrence: all else is that of its series. */
export function occurrenceJson({ event, ids, start, end }: Instance, form: EventForm): Json {
  return {
    '@odata.type': '#microsoft.graph.event',
    '@odata.etag': etag(event, event.version),
    id: idIn(form, ids),
    seriesMasterId: idIn(form, event),
    type: 'occurrence',
    start: inZone(start, form.zone),
    end: inZone(end, form.zone),
  };
}

function typeOf(event: StoredEvent, instance?: Instance): string {
  if (instance) return instance.type;
  if (event.master) return 'exception';
  return event.recurrence ? 'seriesMaster' : 'singleInstance';
}

const status = (response: string, time: Date | null): Json => ({
  response,
  time: time ? stamp(time) : NO_TIME,
});

const attendeeJson = ({ type, name, address, response, responded }: Attendee): Json => ({
  type,
  status: status(response, responded),
  emailAddress: { name, address },
});
