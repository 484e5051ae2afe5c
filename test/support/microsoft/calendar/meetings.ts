import { randomUUID } from 'node:crypto';
import type { StubUser } from '../directory/directory.ts';
import type { World } from '../world.ts';
import type { EventContent, Response, StoredEvent } from './event.ts';

/** A mail about a meeting that Exchange sends by itself. */
export interface MeetingMail {
  kind: 'request' | 'update' | 'cancellation' | 'response';
  from: string;
  to: string[];
  subject: string;
  iCalUId: string;
  /** Only responses. */
  response?: Response;
  comment: string;
}

/** Fields that copies in the calendars of attendees share with the organizer's event. */
const SHARED = [
  'subject',
  'body',
  'start',
  'end',
  'startZone',
  'endZone',
  'isAllDay',
  'location',
  'attendees',
  'recurrence',
  'sensitivity',
  'importance',
  'isOnlineMeeting',
  'onlineMeetingProvider',
  'hideAttendees',
] as const;

/** Link of a Teams meeting for an event that asks for one; null for none. */
export function joinUrlFor({
  isOnlineMeeting,
  onlineMeetingProvider,
}: EventContent): string | null {
  const isTeams = isOnlineMeeting && /^(teamsForBusiness|unknown)$/.test(onlineMeetingProvider);
  return isTeams ? `https://teams.microsoft.com/l/meetup-join/19%3ameeting_${randomUUID()}` : null;
}

/** Invites the attendees of a new or changed meeting, and cancels it for those who left. */
export function inviteAll(
  world: World,
  owner: StubUser,
  event: StoredEvent,
  before: StoredEvent | null,
): void {
  const addresses = event.attendees.map(({ address }) => address.toLowerCase());
  const known = new Set(before?.attendees.map(({ address }) => address.toLowerCase()));
  const added = addresses.filter((address) => !known.has(address));
  const kept = addresses.filter((address) => known.has(address));
  const left = [...known].filter((address) => !addresses.includes(address));
  mail(world, owner, event, 'request', added);
  mail(world, owner, event, 'update', kept);
  mail(world, owner, event, 'cancellation', left);
  for (const address of addresses) copyTo(world, event.master ?? event, address);
  for (const address of left) cancelFor(world, event, address);
}

/** Cancels a meeting, or one instance of it, for all attendees. */
export function cancelAll(world: World, owner: StubUser, event: StoredEvent, comment = ''): void {
  const addresses = event.attendees.map(({ address }) => address.toLowerCase());
  mail(world, owner, event, 'cancellation', addresses, comment);
  for (const address of addresses) cancelFor(world, event, address);
}

/** Records an attendee's answer in its own calendar and, if it is sent, at the organizer. */
export function respond(
  world: World,
  user: StubUser,
  event: StoredEvent,
  response: 'accepted' | 'declined' | 'tentativelyAccepted',
  { send, comment }: { send: boolean; comment: string },
): void {
  const organizer = world.directory.user(event.organizer.address);
  const responded = user.calendars.now();
  if (response === 'declined') user.calendars.remove(event);
  else {
    const showAs = response === 'accepted' ? 'busy' : 'tentative';
    user.calendars.update(event, { response, responded, showAs });
  }
  if (!send) return;
  const from = user.email;
  const { iCalUId, subject } = event;
  const to = [event.organizer.address];
  world.meetingMails.push({ kind: 'response', from, to, subject, iCalUId, response, comment });
  const original = organizer && find(organizer, event);
  if (!original) return;
  const attendees = original.attendees.map((attendee) =>
    attendee.address.toLowerCase() === from.toLowerCase()
      ? { ...attendee, response, responded }
      : attendee,
  );
  organizer.calendars.update(original, { attendees });
}

function mail(
  world: World,
  owner: StubUser,
  { iCalUId, subject }: StoredEvent,
  kind: MeetingMail['kind'],
  to: string[],
  comment = '',
): void {
  if (to.length === 0) return;
  world.meetingMails.push({ kind, from: owner.email, to, subject, iCalUId, comment });
}

/** Puts a meeting into the default calendar of an attendee, or brings its copy up to date. */
function copyTo(world: World, event: StoredEvent, address: string): void {
  const user = world.directory.user(address);
  if (!user || user.email.toLowerCase() === event.organizer.address.toLowerCase()) return;
  const shared = Object.fromEntries(
    SHARED.map((name) => [name, event[name]]),
  ) as Partial<EventContent>;
  const isFree = user.kind === 'room' && !isBusy(user, event);
  let copy = find(user, event);
  if (copy) user.calendars.update(copy, changed(copy, shared));
  else {
    copy = user.calendars.add(
      user.calendars.defaultCalendar.id,
      { ...event, ...shared, showAs: 'tentative' },
      {
        organizer: event.organizer,
        isOrganizer: false,
        response: 'notResponded',
        iCalUId: event.iCalUId,
        transactionId: null,
        joinUrl: event.joinUrl,
      },
    );
  }
  copyInstances(copy, event);
  if (user.kind !== 'room') return;
  const response = isFree ? 'accepted' : 'declined';
  respond(world, user, copy, response, { send: true, comment: '' });
}

/** Fields of a copy that differ: times that stay the same keep the exceptions of a series. */
function changed(copy: StoredEvent, shared: Partial<EventContent>): Partial<StoredEvent> {
  const before = copy as unknown as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(shared).filter(
      ([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value),
    ),
  );
}

function copyInstances(copy: StoredEvent, event: StoredEvent): void {
  for (const start of event.removed) copy.removed.add(start);
  for (const [start, exception] of event.exceptions) {
    const { isOrganizer, organizer, response, calendarId } = copy;
    const own = { isOrganizer, organizer, response, calendarId, master: copy };
    const suffix = `_O${start}`;
    const ids = {
      immutableId: `${copy.immutableId}${suffix}`,
      restId: `${copy.restId.replace(/=+$/, '')}${suffix}=`,
    };
    copy.exceptions.set(start, { ...exception, ...own, ...ids });
  }
}

function isBusy(user: StubUser, event: StoredEvent): boolean {
  return user.calendars
    .allEvents()
    .filter(({ iCalUId }) => iCalUId !== event.iCalUId)
    .some((other) => user.calendars.instancesOf(other, event.start, event.end).length > 0);
}

function cancelFor(world: World, event: StoredEvent, address: string): void {
  const user = world.directory.user(address);
  const copy = user && find(user, event);
  if (!copy) return;
  if (event.originalStart !== null) user.calendars.removeOccurrence(copy, event.originalStart);
  else {
    const subject = `Canceled: ${event.subject}`;
    user.calendars.update(copy, { isCancelled: true, subject, showAs: 'free' });
  }
}

const find = (user: StubUser, { iCalUId }: StoredEvent): StoredEvent | undefined =>
  user.calendars.allEvents().find((other) => other.iCalUId === iCalUId);
