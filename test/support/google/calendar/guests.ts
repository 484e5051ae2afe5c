import type { Calendars } from './calendars.ts';
import type { Attendee, GoogleEvent } from './google-event.ts';
import type { StubCalendar } from './stub-calendar.ts';

/** Whom Calendar mails about a change. */
export type SendUpdates = 'all' | 'externalOnly' | 'none';

/** Fields that belong to each person's copy. */
const PERSONAL = ['reminders', 'colorId', 'transparency', 'visibility'];

/**
 * Brings the organizer's event to its guests: people of the stub get a copy in their primary
 * calendar, rooms answer, and mails are recorded. Guests who were removed lose their copy.
 * @param before the organizer's event before the change; null for a new one
 */
export function tellGuests(
  calendars: Calendars,
  organizer: StubCalendar,
  event: GoogleEvent,
  before: GoogleEvent | null,
  sendUpdates: SendUpdates,
): void {
  const known = new Set(guestsOf(before).map(({ email }) => email));
  const isCancelled = event.status === 'cancelled';
  for (const { email } of guestsOf(event)) {
    const kind = isCancelled ? 'cancellation' : known.has(email) ? 'update' : 'invitation';
    mailGuest(calendars, kind, email, event, sendUpdates);
    const calendar = calendars.all.get(email);
    if (!calendar || calendar === organizer) continue;
    if (isCancelled) cancelCopy(calendar, event.id);
    else copyTo(calendars, calendar, organizer, event);
  }
  if (isCancelled) return;
  const invited = new Set(guestsOf(event).map(({ email }) => email));
  for (const email of known) {
    if (invited.has(email)) continue;
    mailGuest(calendars, 'cancellation', email, event, sendUpdates);
    const calendar = calendars.all.get(email);
    if (calendar) cancelCopy(calendar, event.id);
  }
}

/** Guests other than the organizer. */
function guestsOf(event: GoogleEvent | null): Attendee[] {
  return (event?.attendees ?? []).filter(({ email }) => email !== event?.organizer.email);
}

function mailGuest(
  calendars: Calendars,
  kind: 'invitation' | 'update' | 'cancellation',
  email: string,
  event: GoogleEvent,
  sendUpdates: SendUpdates,
): void {
  const isOutside = !calendars.all.has(email);
  if (sendUpdates === 'none' || (sendUpdates === 'externalOnly' && !isOutside)) return;
  if (!calendars.rooms.has(email)) calendars.mail(kind, email, event);
}

function cancelCopy(calendar: StubCalendar, id: string): void {
  const copy = calendar.find(id);
  if (copy && copy.event.status !== 'cancelled') calendar.cancel(copy.event);
}

function copyTo(
  calendars: Calendars,
  calendar: StubCalendar,
  organizer: StubCalendar,
  event: GoogleEvent,
): void {
  const own = calendar.find(event.id)?.event;
  const personal = Object.fromEntries(
    PERSONAL.filter((name) => own?.[name] !== undefined).map((name) => [name, own?.[name]]),
  );
  const { reminders: _reminders, colorId: _color, extendedProperties, ...rest } = event;
  const { shared } = (extendedProperties ?? {}) as { shared?: Record<string, string> };
  const common = { ...rest, ...(shared && { extendedProperties: { shared } }) };
  calendar.put({ ...common, ...personal } as GoogleEvent);
  if (!calendar.isRoom) return;
  const answer = isFree(calendar, event) ? 'accepted' : 'declined';
  recordResponse(calendars, organizer, event.id, calendar.id, { responseStatus: answer });
}

function isFree(calendar: StubCalendar, event: GoogleEvent): boolean {
  const [start, end] = calendar.rangeOf(event);
  return [...calendar.events.values()].every(({ event: other }) => {
    const [from, to] = calendar.rangeOf(other);
    const own = other.attendees?.find(({ email }) => email === calendar.id);
    const isBusy = other.status !== 'cancelled' && own?.responseStatus === 'accepted';
    return other.id === event.id || !isBusy || to <= start || from >= end;
  });
}

/** Writes a guest's answer into every copy of an event. */
export function recordResponse(
  calendars: Calendars,
  organizer: StubCalendar | null,
  eventId: string,
  guest: string,
  answer: Partial<Attendee>,
): void {
  const original = organizer?.find(eventId)?.event;
  const people = original?.attendees?.map(({ email }) => email) ?? [];
  for (const id of new Set([organizer?.id ?? guest, guest, ...people])) {
    const calendar = calendars.all.get(id);
    const copy = calendar?.find(eventId)?.event;
    if (!calendar || !copy || copy.status === 'cancelled') continue;
    const attendees = (copy.attendees ?? []).map((one) =>
      one.email === guest ? { ...one, ...answer } : one,
    );
    calendar.put({ ...copy, attendees });
  }
}
