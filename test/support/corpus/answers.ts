import { randomUUID } from 'node:crypto';
import { toEventView, warningsOf } from '../../../src/calendar/events/events.mapper.ts';
import type { EventRecord } from '../../../src/calendar/events/event-record.ts';
import { fieldsOf, storableContent } from '../../../src/calendar/events/mirror/event-plan.ts';
import { instancesBetween } from '../../../src/calendar/events/recurrence/instances.ts';
import { toReadContactView } from '../../../src/contacts/contacts.mapper.ts';
import type { ContactRecord } from '../../../src/contacts/contacts.repository.ts';
import { utf8Lines } from '../../../src/formats/ical/content-lines.ts';
import { attachmentAt } from '../../../src/formats/mime/attachment-at.ts';
import { openSeries } from '../../../src/formats/recurrence/series.ts';
import { toMessageView } from '../../../src/mail/messages/messages.mapper.ts';
import type { MessageRecord } from '../../../src/mail/messages/filters/message-filter.ts';
import { readMessage } from '../../../src/mail/parsing/read-message.ts';
import { readContactObject } from '../../../src/providers/imap/dav/contacts/read-cards.ts';
import { readCardPicture } from '../../../src/providers/imap/dav/contacts/read-one-card.ts';
import { readCalendarObject } from '../../../src/providers/imap/dav/calendars/read-objects.ts';
import type { RemoteContact, RemoteEvent } from '../../../src/providers/port/connector.ts';
import { contactFields } from '../../../src/providers/port/contact-content.ts';
import { storableWarnings } from '../../../src/providers/port/warnings.ts';
import type { Kind } from './corpus.ts';
import {
  intervalsOf,
  type Shown,
  shownContact,
  shownEvent,
  shownFile,
  shownMessage,
  SPAN_SECONDS,
  startOf,
  textOf,
} from './shown.ts';

/*
 * What the API answers about a file, by the same functions that a sync pass and a request use, but
 * without a server, a database and threads.
 */

/** What the API answers about a message. */
export interface MailAnswer {
  message: Shown;
  text: string;
  /** With their contents; in `bytes`, each character is a byte. */
  files: Shown[];
}

/** What the API answers about a calendar object. */
export interface CalendarAnswer {
  events: Shown[];
  instances: string[];
  failures: string[];
}

/** What the API answers about a card. */
export interface ContactAnswer {
  contacts: Shown[];
  failures: string[];
}

/** What the API answers about a file of each kind. */
export interface Answers {
  mail: MailAnswer;
  calendars: CalendarAnswer;
  contacts: ContactAnswer;
}

/** Reads a file as a sync pass does, and answers as the API does. */
export const answerTo: { [K in Kind]: (bytes: Buffer) => Answers[K] } = {
  mail: answerToMessage,
  calendars: answerToCalendar,
  contacts: answerToCard,
};

/** Stands for every id: none of them is shown. */
const ID = randomUUID();
const NOW = new Date(0);

function answerToMessage(mime: Buffer): MailAnswer {
  const { parsed } = readMessage({ kind: 'mime', mime });
  const record: MessageRecord = {
    ...parsed,
    id: ID,
    accountId: ID,
    threadId: ID,
    date: NOW,
    unread: true,
    starred: false,
    metadata: {},
    draft: false,
    listed: false,
    version: 0,
    replyToMessageId: null,
    tracking: null,
    files: parsed.files.map((file) => ({ ...file, id: ID })),
    folders: [],
    eventIds: null,
    events: [],
  };
  const view = toMessageView(record, 'folder', 'expanded');
  const files = view.files.map((file, index) => {
    const content = attachmentAt({ mime, position: parsed.files[index]?.part ?? -1 });
    return { ...shownFile(file), bytes: Buffer.from(content ?? []).toString('latin1') };
  });
  return { message: shownMessage(view), text: textOf(parsed.body), files };
}

const PATH = '/calendar/object';

function answerToCalendar(bytes: Buffer): CalendarAnswer {
  const read = readCalendarObject({ path: PATH, text: utf8Lines(bytes).toString() });
  if ('unreadable' in read) return { events: [], instances: [], failures: [read.unreadable] };
  const records = read.events.map(recordOf);
  const events = records.map((event) => ({
    ...toEventView(event, []),
    warnings: warningsOf(event),
  }));
  const alive = records.filter(({ status }) => status !== 'cancelled');
  const first = Math.min(...events.map(({ when }) => startOf(when)));
  const instances = alive.flatMap((event) =>
    event.recurrence ? instancesOf(event, read.events, first) : [event.when],
  );
  return {
    events: events
      .filter(({ status, original_start_time }) => status !== 'cancelled' || original_start_time)
      .toSorted((a, b) => startOf(a.when) - startOf(b.when))
      .map(shownEvent),
    instances: intervalsOf(instances),
    failures: read.problems.length > 0 ? [read.problems.join('. ')] : [],
  };
}

function recordOf(remote: RemoteEvent): EventRecord {
  const fields = fieldsOf(storableContent(remote.content), 'UTC');
  const seconds = remote.originalStartTime;
  return {
    ...fields,
    id: ID,
    accountId: ID,
    calendarId: ID,
    icalUid: remote.icalUid,
    messageId: null,
    masterEventId: remote.masterProviderId === null ? null : ID,
    originalStart: seconds === null ? null : new Date(seconds * 1000),
    organizerEmail: remote.organizer?.email ?? null,
    organizerName: remote.organizer?.name ?? null,
    updatedAt: NOW,
    warnings: [...(remote.warnings ?? [])],
    readOnly: false,
    hideParticipants: false,
    autocreate: null,
    notifications: [],
    metadata: {},
    customerEventId: null,
    eventCollectionId: null,
    capacity: null,
    roundRobinOrder: [],
  };
}

/** The instances of a series that no other event of its file replaces. */
function instancesOf(event: EventRecord, events: readonly RemoteEvent[], first: number) {
  const { when, recurrence } = event;
  if (!recurrence) return [];
  const starts = events.flatMap(({ originalStartTime: start }) => (start === null ? [] : [start]));
  const replaced = starts.map((seconds) => seconds * 1000);
  const master = { ...event, recurrence, zone: 'UTC', replaced };
  const series = openSeries({ when, recurrence });
  return instancesBetween(master, series, first * 1000, (first + SPAN_SECONDS) * 1000).map(
    (instance) => instance.when,
  );
}

function answerToCard(bytes: Buffer): ContactAnswer {
  const text = utf8Lines(bytes).toString();
  const read = readContactObject({ path: PATH, text });
  if ('unreadable' in read) return { contacts: [], failures: [read.unreadable] };
  const failures = read.problems.length > 0 ? [read.problems.join('. ')] : [];
  if (read.contact === null) return { contacts: [], failures };
  const { content, warnings } = JSON.parse(read.contact) as RemoteContact;
  const fields = contactFields(content);
  const groups = fields.groups.map((path) => ({ id: ID, path }));
  const record: ContactRecord = {
    id: ID,
    accountId: ID,
    source: 'address_book',
    fields,
    picture: null,
    warnings: storableWarnings(warnings),
    groups,
  };
  const view = toReadContactView(record, '', 'expanded');
  const shown = readCardPicture(text);
  const type = 'picture' in shown ? shown.picture?.contentType : null;
  return { contacts: [shownContact(view, type ?? null)], failures };
}
