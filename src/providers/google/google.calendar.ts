import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { fieldsOf, type IcalFields, UnwritableEventError } from '../../formats/ical/ical-fields.ts';
import { isRevision, mergeFields } from '../../formats/ical/ical-write.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type {
  CalendarContent,
  CalendarPort,
  EventContent,
  EventProviderIds,
  EventResponse,
  EventUpdateOptions,
  EventWriteOptions,
  FreeBusyRequest,
  InstancePosition,
  NotifyOption,
  PersonBusy,
  ProviderAccount,
  ProviderSequence,
  RemoteCalendar,
} from '../port/connector.ts';
import { EventIds } from './google-event-ids.ts';
import type { GoogleApi, GoogleRequest } from './google-api.ts';
import { GoogleError } from './google-error.ts';
import {
  type GoogleEvent,
  googleEvent,
  KEY_PROPERTY,
  meetingDetails,
  readEvent,
  writeEvent,
} from './google-event.ts';
import { GoogleEventChanges } from './google-event-changes.ts';

const ROOT = '/calendar/v3';
const enc = encodeURIComponent;
/** Every method of the Calendar API counts as one request. */
const COST = { units: 1, priority: 'interactive' } as const;

const calendarEntry = z.object({
  id: z.string(),
  summary: z.string().default(''),
  summaryOverride: z.string().optional(),
  description: z.string().optional(),
  location: z.string().optional(),
  timeZone: z.string().optional(),
  accessRole: z.string().default('reader'),
  primary: z.boolean().default(false),
});
const calendarList = z.object({
  items: z.array(calendarEntry).default([]),
  nextPageToken: z.string().optional(),
});
const createdCalendar = z.object({ id: z.string() });
const busyAnswer = z.object({
  calendars: z
    .record(
      z.string(),
      z.object({
        busy: z.array(z.object({ start: z.string(), end: z.string() })).default([]),
        errors: z.array(z.object({ reason: z.string().default('unknown') })).default([]),
      }),
    )
    .default({}),
});

/** Attempts to change an event that other programs keep changing. */
const MOST_ROUNDS = 5;
/** What a calendar created with a key has at the end of its description. */
const MARK = '\n\ncarillon:';
/** Roles that may change events. */
const WRITERS: readonly string[] = ['owner', 'writer'];

const BUSY_REASONS: Readonly<Record<string, string>> = {
  notFound: 'Google does not know this address, or does not show its times to this account',
  groupTooBig: 'the group has too many members',
};

interface Written extends EventUpdateOptions {
  content: EventContent;
}

/**
 * Google Calendar. The `providerId` of a calendar is Google's; that of an event is the calendar's,
 * a slash, and Google's, because Google's is unique in a calendar only.
 */
export class GoogleCalendar implements CalendarPort {
  readonly mailsParticipants = 'on-request';
  readonly conferencing = ['Google Meet'] as const;
  readonly #changes: GoogleEventChanges;

  constructor(private readonly api: GoogleApi) {
    this.#changes = new GoogleEventChanges(api);
  }

  asStored(_account: Pick<ProviderAccount, 'email' | 'name'>, event: EventContent): EventContent {
    const stored = throughGoogle(writable(event));
    const { conferencing } = stored;
    // The mirror keeps what Google cannot store.
    if (conferencing !== undefined) return { ...stored };
    const { conferencing: _left, ...rest } = stored;
    return rest;
  }

  /** An account whose user has not agreed to calendars has none. */
  async listCalendars(account: ProviderAccount): Promise<readonly RemoteCalendar[]> {
    try {
      return await this.#calendars(account);
    } catch (error) {
      if (error instanceof GoogleError && error.isWithoutConsent) return [];
      throw error;
    }
  }

  async #calendars(account: ProviderAccount): Promise<readonly RemoteCalendar[]> {
    const found: RemoteCalendar[] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.#read(
        account,
        {
          method: 'GET',
          path: '/users/me/calendarList',
          query: { maxResults: 250, minAccessRole: 'reader', pageToken },
        },
        calendarList,
      );
      for (const one of page.items) {
        found.push({
          providerId: one.id,
          name: one.summaryOverride ?? one.summary,
          description: withoutMark(one.description) || null,
          location: one.location ?? null,
          timezone: one.timeZone ?? null,
          isPrimary: one.primary,
          readOnly: !WRITERS.includes(one.accessRole),
        });
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return found;
  }

  listEventChanges(
    account: ProviderAccount,
    calendarProviderId: string,
    cursor: string | null,
    limit: number,
  ) {
    return this.#changes.list(account, calendarProviderId, cursor, limit);
  }

  /**
   * Google has no key for a new calendar. The key stands at the end of its description, where a
   * repeated creation finds it; `listCalendars` leaves it out.
   */
  async createCalendar(account: ProviderAccount, key: string, calendar: CalendarContent) {
    const there = await this.#calendarWithKey(account, key);
    if (there !== undefined) {
      await this.#patchCalendar(account, there, calendar, key);
      return { providerId: there };
    }
    const json = { ...writeCalendar(calendar), description: marked(calendar.description, key) };
    const { id } = await this.#read(
      account,
      { method: 'POST', path: '/calendars', json },
      createdCalendar,
    );
    return { providerId: id };
  }

  async updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    const before = await this.#read(
      account,
      { method: 'GET', path: `/calendars/${enc(providerId)}` },
      calendarEntry.omit({ accessRole: true, primary: true }),
    );
    await this.#patchCalendar(account, providerId, calendar, keyIn(before.description));
  }

  async deleteCalendar(account: ProviderAccount, providerId: string) {
    const path = `/calendars/${enc(providerId)}`;
    await ignoreGone(this.#send(account, { method: 'DELETE', path }));
  }

  async createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    options: EventWriteOptions = {},
  ): Promise<EventProviderIds> {
    // Ids may have the letters a to v and digits.
    const id = key.replaceAll('-', '').toLowerCase();
    const path = `/calendars/${enc(calendarProviderId)}/events`;
    const json = {
      ...writeEvent(writable(event)),
      ...hidden(event),
      ...meetingRequest(options),
      id,
      extendedProperties: { private: { [KEY_PROPERTY]: key } },
    };
    try {
      const query = writeQuery(options);
      // Repeatable: the id makes a second creation a conflict.
      const request = { method: 'POST', path, query, json, repeatable: true } as const;
      return idsOf(calendarProviderId, await this.#read(account, request, googleEvent), options);
    } catch (error) {
      if (!(error instanceof GoogleError) || error.status !== 409) throw error;
      const providerId = EventIds.join(calendarProviderId, id);
      const written = { ...options, content: event, base: null };
      return idsOf(calendarProviderId, await this.#update(account, providerId, written), options);
    }
  }

  async updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    options: EventUpdateOptions = {},
  ): Promise<ProviderSequence> {
    return resultOf(
      await this.#update(account, providerId, { ...options, content: event }),
      options,
    );
  }

  async deleteEvent(account: ProviderAccount, providerId: string, options: NotifyOption = {}) {
    const ids = EventIds.split(providerId);
    if (!ids) return;
    const query = { sendUpdates: updatesOf(options) };
    await ignoreGone(this.#send(account, { method: 'DELETE', path: pathOf(ids), query }));
  }

  async writeInstance(
    account: ProviderAccount,
    { series, start }: InstancePosition,
    event: EventContent,
    options: EventUpdateOptions = {},
  ): Promise<EventProviderIds> {
    const providerId = `${series}_${start}`;
    const { calendarId } = EventIds.require(providerId);
    const written = { ...options, content: event };
    return idsOf(calendarId, await this.#update(account, providerId, written), options);
  }

  deleteInstance(
    account: ProviderAccount,
    { series, start }: InstancePosition,
    options: NotifyOption = {},
  ) {
    return this.deleteEvent(account, `${series}_${start}`, options);
  }

  /** Google cannot forget the changes of an instance: it gets the values of the series again. */
  async resetInstance(account: ProviderAccount, providerId: string) {
    const ids = EventIds.split(providerId);
    const seriesId = ids?.eventId.replace(/_\d{8}(T\d{6}Z)?$/, '');
    if (!ids || !seriesId || seriesId === ids.eventId) return;
    try {
      const [series, instance] = await Promise.all([
        this.#get(account, EventIds.of(ids.calendarId, seriesId)),
        this.#get(account, ids),
      ]);
      const json = asDefined(series, instance);
      const query = { sendUpdates: 'none', conferenceDataVersion: 1 };
      await this.#send(account, { method: 'PATCH', path: pathOf(ids), query, json });
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
    }
  }

  async respond(
    account: ProviderAccount,
    providerId: string,
    { status, comment, notify }: EventResponse,
  ): Promise<void> {
    const ids = EventIds.require(providerId);
    await this.#rewrite(account, ids, (event) => {
      const attendees = event.attendees ?? [];
      const own = attendees.find(
        (one) => one.self === true || one.email?.toLowerCase() === account.email,
      );
      if (!own)
        throw new ProviderError('rejected', 'Google: the account is not a guest of the event');
      const answer = { yes: 'accepted', no: 'declined', maybe: 'tentative' }[status];
      const answered = { ...own, responseStatus: answer, ...(comment === null ? {} : { comment }) };
      if (isDeepStrictEqual(own, answered)) return null;
      return {
        query: { sendUpdates: notify ? 'all' : 'none' },
        json: { attendees: attendees.map((one) => (one === own ? answered : one)) },
      };
    });
  }

  async freeBusy(
    account: ProviderAccount,
    { emails, start, end }: FreeBusyRequest,
  ): Promise<readonly PersonBusy[]> {
    const json = {
      timeMin: new Date(start * 1000).toISOString(),
      timeMax: new Date(end * 1000).toISOString(),
      items: emails.map((id) => ({ id })),
    };
    const request = { method: 'POST', path: '/freeBusy', json, repeatable: true } as const;
    const { calendars } = await this.#read(account, request, busyAnswer);
    return emails.flatMap((email): PersonBusy[] => {
      const found = calendars[email];
      if (!found) return [];
      const [error] = found.errors;
      if (error) return [{ email, unknown: BUSY_REASONS[error.reason] ?? error.reason }];
      const busy = found.busy.map((one) => ({
        start: Math.floor(Date.parse(one.start) / 1000),
        end: Math.ceil(Date.parse(one.end) / 1000),
      }));
      return [{ email, busy }];
    });
  }

  async #update(
    account: ProviderAccount,
    providerId: string,
    { content, base = null, ...options }: Written,
  ): Promise<GoogleEvent> {
    const ours = throughGoogle(writable(content));
    const before = base && throughGoogle(writable(base));
    return this.#rewrite(account, EventIds.require(providerId), (event) => {
      if (event.status === 'cancelled')
        throw event.recurringEventId === undefined
          ? new ProviderError('not-found', 'Google: the event was deleted')
          : conflict('The instance was deleted');
      const present = readEvent(event, 'UTC');
      if (!present) throw new ProviderError('rejected', 'Google: the event has no time');
      const theirs = comparable(present, ours);
      const { write, conflicts } = mergeFields(
        before && { ...before, conferencing: before.conferencing ?? null },
        { ...ours, conferencing: ours.conferencing ?? null },
        theirs,
      );
      if (conflicts.length > 0) throw conflict(`Changed: ${conflicts.join(', ')}`);
      const meeting = event.conferenceData ? {} : meetingRequest(options);
      const isOlder = (event.sequence ?? 0) < (options.sequence ?? 0);
      const json = {
        ...writeEvent(write, event.attendees),
        ...hidden(content),
        ...meeting,
        ...(isOlder && !isRevision(write) ? { sequence: options.sequence } : {}),
      };
      return Object.keys(json).length === 0 ? null : { query: writeQuery(options), json };
    });
  }

  /**
   * Reads an event, changes it, and repeats this if another program has changed it meanwhile.
   * @param change `null` if there is nothing to write
   */
  async #rewrite(
    account: ProviderAccount,
    ids: EventIds,
    change: (event: GoogleEvent) => Pick<GoogleRequest, 'query' | 'json'> | null,
  ): Promise<GoogleEvent> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const event = await this.#get(account, ids);
      const written = change(event);
      if (!written) return event;
      const headers: Record<string, string> = event.etag ? { 'if-match': event.etag } : {};
      try {
        const request = { method: 'PATCH', path: pathOf(ids), headers, ...written } as const;
        return await this.#read(account, { ...request, repeatable: true }, googleEvent);
      } catch (error) {
        if (!(error instanceof GoogleError) || error.status !== 412) throw error;
      }
    }
    throw new ProviderError('temporary', 'Other programs keep changing the event; try again later');
  }

  #get(account: ProviderAccount, ids: EventIds): Promise<GoogleEvent> {
    return this.#read(account, { method: 'GET', path: pathOf(ids) }, googleEvent);
  }

  async #calendarWithKey(account: ProviderAccount, key: string): Promise<string | undefined> {
    let pageToken: string | undefined;
    do {
      const query = { maxResults: 250, minAccessRole: 'owner', pageToken };
      const request = { method: 'GET', path: '/users/me/calendarList', query } as const;
      const page = await this.#read(account, request, calendarList);
      const found = page.items.find(({ description }) => keyIn(description) === key);
      if (found) return found.id;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return undefined;
  }

  async #patchCalendar(
    account: ProviderAccount,
    providerId: string,
    calendar: CalendarContent,
    key: string | null,
  ): Promise<void> {
    const description =
      key === null ? (calendar.description ?? '') : marked(calendar.description, key);
    const json = { ...writeCalendar(calendar), description };
    const path = `/calendars/${enc(providerId)}`;
    await this.#send(account, { method: 'PATCH', path, json, repeatable: true });
  }

  #send(account: ProviderAccount, request: Omit<GoogleRequest, 'units' | 'priority'>) {
    return this.api.send(account, { ...request, path: ROOT + request.path, ...COST });
  }

  #read<T>(
    account: ProviderAccount,
    request: Omit<GoogleRequest, 'units' | 'priority'>,
    shape: z.ZodType<T>,
  ): Promise<T> {
    return this.api.read(account, { ...request, path: ROOT + request.path, ...COST }, shape);
  }
}

const conflict = (what: string) =>
  new ProviderError(
    'conflict',
    `${what} at the provider in the meantime. Read the event and repeat the changes you still want`,
  );

const pathOf = ({ calendarId, eventId }: EventIds): string =>
  `/calendars/${enc(calendarId)}/events/${enc(eventId)}`;

const updatesOf = ({ notify = false }: NotifyOption): string => (notify ? 'all' : 'none');

const writeQuery = (options: NotifyOption) => ({
  sendUpdates: updatesOf(options),
  conferenceDataVersion: 1,
});

function writable(event: EventContent): IcalFields {
  try {
    return fieldsOf(event);
  } catch (cause) {
    if (!(cause instanceof UnwritableEventError)) throw cause;
    throw new ProviderError('rejected', cause.message, { cause });
  }
}

type StoredFields = Omit<IcalFields, 'conferencing'> & Partial<Pick<IcalFields, 'conferencing'>>;

/** The fields as they read after they were written. */
function throughGoogle(fields: IcalFields): StoredFields {
  const written = googleEvent.parse({ ...writeEvent(fields), id: 'x', conferenceData: undefined });
  const stored = readEvent(written, 'UTC');
  if (!stored) throw new Error('unreachable');
  return { ...stored, conferencing: fields.conferencing };
}

/** The fields at Google, for a comparison: a conference without a name in the API is no change. */
function comparable(present: StoredFields, ours: StoredFields): IcalFields {
  const conferencing =
    present.conferencing === undefined ? (ours.conferencing ?? null) : present.conferencing;
  return { ...present, conferencing };
}

const hidden = ({ hide_participants: hide }: EventContent): Record<string, unknown> =>
  typeof hide === 'boolean' && hide ? { guestsCanSeeOtherGuests: false } : {};

function meetingRequest({ meeting }: EventWriteOptions): Record<string, unknown> {
  if (!meeting) return {};
  const createRequest = {
    requestId: meeting.key,
    conferenceSolutionKey: { type: 'hangoutsMeet' },
  };
  return { conferenceData: { createRequest } };
}

function resultOf(event: GoogleEvent, { meeting }: EventWriteOptions): ProviderSequence {
  const sequence = { sequence: event.sequence ?? 0 };
  return meeting ? { ...sequence, meeting: meetingDetails(event) ?? 'pending' } : sequence;
}

function idsOf(calendarId: string, event: GoogleEvent, options: EventWriteOptions) {
  return {
    providerId: EventIds.join(calendarId, event.id),
    icalUid: event.iCalUID ?? event.id,
    ...resultOf(event, options),
  };
}

/** What makes an instance again what its series defines. */
function asDefined(series: GoogleEvent, instance: GoogleEvent): Record<string, unknown> {
  const { originalStartTime: start } = instance;
  const length = startOfEnd(series) - startOfBegin(series);
  const end =
    start?.date === undefined
      ? { dateTime: new Date(Date.parse(start?.dateTime ?? '') + length).toISOString() }
      : { date: new Date(Date.parse(start.date) + length).toISOString().slice(0, 10) };
  return {
    status: 'confirmed',
    start,
    end: start?.timeZone === undefined ? end : { ...end, timeZone: start.timeZone },
    summary: series.summary ?? '',
    description: series.description ?? '',
    location: series.location ?? '',
    attendees: series.attendees ?? [],
    transparency: series.transparency ?? 'opaque',
    visibility: series.visibility ?? 'default',
    reminders: series.reminders ?? { useDefault: true },
  };
}

const startOfBegin = ({ start }: GoogleEvent) => Date.parse(start?.dateTime ?? start?.date ?? '');
const startOfEnd = ({ end }: GoogleEvent) => Date.parse(end?.dateTime ?? end?.date ?? '');

async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
  }
}

function writeCalendar({ name, location, timezone }: CalendarContent) {
  return {
    summary: name,
    location: location ?? '',
    ...(timezone === null ? {} : { timeZone: timezone }),
  };
}

const marked = (description: string | null, key: string): string =>
  `${description ?? ''}${MARK}${key}`;

const markIn = (description = ''): number => description.lastIndexOf(MARK.trim());

function keyIn(description: string | undefined): string | null {
  const at = markIn(description);
  return at < 0 ? null : (description ?? '').slice(at + MARK.trim().length).trim();
}

function withoutMark(description = ''): string {
  const at = markIn(description);
  return at < 0 ? description : description.slice(0, at).trimEnd();
}
