import { isDeepStrictEqual } from 'node:util';
import { mergeFields } from '../../../formats/ical/ical-merge.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type {
  EventContent,
  EventProviderIds,
  EventResponse,
  EventUpdateOptions,
  EventWriteOptions,
  InstancePosition,
  NotifyOption,
  ProviderAccount,
  ProviderSequence,
} from '../../port/connector.ts';
import { ignoreGone, nullIfGone } from '../../rest/gone.ts';
import type { CalendarApi } from './google-calendar-api.ts';
import { GoogleError } from '../google-error.ts';
import { EventIds } from './google-event-ids.ts';
import {
  CONFERENCE_PROPERTY,
  digestOf,
  type GoogleAttendee,
  type GoogleEvent,
  googleEvent,
  fixedType,
  isAsDefined,
  mayBeMarked,
  MEET,
  meetingDetails,
  readEvent,
  RESET_PROPERTY,
  startOf,
  type StoredFields,
} from './google-event.ts';
import type { GoogleInstances } from './google-instances.ts';
import {
  meetingRequest,
  newEvent,
  storedForm,
  writable,
  writeEvent,
  writeHidden,
} from './google-event-write.ts';

/** Attempts to change an event that other programs keep changing. */
const MOST_ROUNDS = 5;

type Properties = Record<string, unknown>;
type Query = Record<string, string | number>;

interface Written extends EventUpdateOptions {
  content: EventContent;
}

/** A PATCH of an event. */
interface Change {
  query: Query;
  json: Properties;
}

/** Writes events of Google Calendar. See `CalendarPort` for what the methods guarantee. */
export class GoogleEventWriter {
  constructor(
    private readonly api: CalendarApi,
    private readonly instances: GoogleInstances,
  ) {}

  /** See `CalendarPort.createEvent`. The key decides the id: a repeated creation is a conflict. */
  async create(
    account: ProviderAccount,
    calendarId: string,
    key: string,
    content: EventContent,
    options: EventWriteOptions = {},
  ): Promise<EventProviderIds> {
    const ids = EventIds.ofKey(calendarId, key);
    const fields = newEvent(writable(content));
    const meeting = meetingRequest(options.meeting);
    const hidden = writeHidden(content, null, null);
    const sequence = options.sequence ? { sequence: options.sequence } : {};
    const json = { ...fields, ...hidden, ...meeting, ...sequence, id: ids.eventId };
    const request = { method: 'POST', path: pathOf({ calendarId }), repeatable: true } as const;
    try {
      const made = await withConference({ query: writeQuery(options), json }, (change) =>
        this.api.read(account, { ...request, ...change }, googleEvent),
      );
      return idsOf(calendarId, made, options);
    } catch (error) {
      if (!(error instanceof GoogleError) || error.status !== 409) throw error;
      const there = await this.#update(account, ids, { ...options, content });
      return idsOf(calendarId, there, options);
    }
  }

  /** See `CalendarPort.updateEvent`. */
  async update(
    account: ProviderAccount,
    providerId: string,
    content: EventContent,
    options: EventUpdateOptions = {},
  ): Promise<ProviderSequence> {
    const ids = EventIds.require(providerId);
    return resultOf(await this.#update(account, ids, { ...options, content }), options);
  }

  /** See `CalendarPort.deleteEvent`. */
  async remove(account: ProviderAccount, providerId: string, options: NotifyOption = {}) {
    const ids = EventIds.split(providerId);
    if (!ids) return;
    const query = { sendUpdates: updatesOf(options) };
    const path = pathOf(ids);
    const deleting = this.api.send(account, { method: 'DELETE', path, query });
    await ignoreGone(this.api.unlessPassing(account, path, deleting));
  }

  /** See `CalendarPort.writeInstance`. */
  async writeInstance(
    account: ProviderAccount,
    position: InstancePosition,
    content: EventContent,
    options: EventUpdateOptions = {},
  ): Promise<EventProviderIds> {
    const ids = await this.instances.require(account, position);
    const written = await this.#update(account, ids, { ...options, content });
    return idsOf(ids.calendarId, written, options);
  }

  /** See `CalendarPort.deleteInstance`. */
  async removeInstance(
    account: ProviderAccount,
    position: InstancePosition,
    options: NotifyOption = {},
  ): Promise<void> {
    const ids = await this.instances.find(account, position);
    if (ids) await this.remove(account, EventIds.join(ids.calendarId, ids.eventId), options);
    // Without an instance, the series may be gone, or nothing can be found at the moment.
    else await nullIfGone(this.#get(account, EventIds.require(position.series)));
  }

  /**
   * See `CalendarPort.resetInstance`. Google cannot forget that an instance was changed: it gets
   * the values of the series again and a mark, by which `listEventChanges` leaves it out.
   */
  async reset(account: ProviderAccount, providerId: string): Promise<void> {
    const ids = EventIds.split(providerId);
    if (!ids) return;
    try {
      const instance = await this.#get(account, ids);
      const { recurringEventId: seriesId } = instance;
      if (seriesId === undefined || isAsDefined(instance) || !mayBeMarked(instance)) return;
      const series = await this.#get(account, EventIds.of(ids.calendarId, seriesId));
      if (series.status === 'cancelled') return;
      const reset = await this.#rewrite(account, ids, (now) => ({
        query: writeQuery({}),
        json: asDefined(series, now),
      }));
      const json = { extendedProperties: { private: { [RESET_PROPERTY]: digestOf(reset) } } };
      await this.#patch(account, ids, reset, { query: writeQuery({}), json });
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
    }
  }

  /** See `CalendarPort.respond`. */
  async respond(
    account: ProviderAccount,
    providerId: string,
    { status, comment, notify }: EventResponse,
  ): Promise<void> {
    await this.#rewrite(account, EventIds.require(providerId), (event) => {
      if (event.status === 'cancelled')
        throw new ProviderError('not-found', 'Google: the event was deleted');
      const { attendees = [], attendeesOmitted = false } = event;
      const own = attendees.find((one) => one.self === true || one.email === account.email);
      if (!own)
        throw new ProviderError('rejected', 'Google: the account is not a guest of the event');
      const answer = { yes: 'accepted', no: 'declined', maybe: 'tentative' }[status];
      const answered = { ...own, responseStatus: answer, ...(comment === null ? {} : { comment }) };
      if (isDeepStrictEqual(own, answered)) return null;
      const guests: readonly GoogleAttendee[] = attendeesOmitted ? [own] : attendees;
      const json = {
        attendees: guests.map((one) => (one === own ? answered : one)),
        ...(attendeesOmitted ? { attendeesOmitted } : {}),
      };
      return { query: { sendUpdates: updatesOf({ notify }) }, json };
    });
  }

  async #update(
    account: ProviderAccount,
    ids: EventIds,
    { content, base = null, ...options }: Written,
  ): Promise<GoogleEvent> {
    const ours = wanted(content, options);
    const before = base && storedForm(writable(base));
    await this.#requireInstance(account, ids);
    return this.#rewrite(account, ids, (event) => {
      const present = event.status === 'cancelled' ? null : readEvent(event);
      if (!present) throw gone(event);
      const { write, conflicts } = mergeFields(
        before && comparable(before, present),
        comparable(ours, present),
        comparable(present, before ?? ours),
      );
      if (conflicts.length > 0) throw conflict(`Changed: ${conflicts.join(', ')}`);
      const isOlder = (event.sequence ?? 0) < (options.sequence ?? 0);
      const json = {
        ...writeEvent(write, event),
        ...writeHidden(content, base, event),
        ...(event.conferenceData ? {} : meetingRequest(options.meeting)),
        ...(isOlder ? { sequence: options.sequence } : {}),
      };
      return Object.keys(json).length === 0 ? null : { query: writeQuery(options), json };
    });
  }

  /**
   * A removed instance and an instance of a removed series look alike.
   * @throws {ProviderError} `not-found` if the series of a removed instance was deleted
   */
  async #requireInstance(account: ProviderAccount, ids: EventIds): Promise<void> {
    const { status, recurringEventId: seriesId } = await this.#get(account, ids);
    if (status !== 'cancelled' || seriesId === undefined) return;
    const series = await this.#get(account, EventIds.of(ids.calendarId, seriesId));
    if (series.status === 'cancelled')
      throw new ProviderError('not-found', 'Google: the series was deleted');
  }

  /**
   * Reads an event, changes it, and repeats this if another program has changed it meanwhile.
   * @param change `null` if there is nothing to write
   */
  async #rewrite(
    account: ProviderAccount,
    ids: EventIds,
    change: (event: GoogleEvent) => Change | null,
  ): Promise<GoogleEvent> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const event = await this.#get(account, ids);
      const written = change(event);
      if (!written) return event;
      assertWritable(event);
      try {
        return await withConference(
          written,
          (one) => this.#patch(account, ids, event, one),
          mayBeMarked(event),
        );
      } catch (error) {
        if (!(error instanceof GoogleError) || error.status !== 412) throw error;
      }
    }
    throw new ProviderError('temporary', 'Other programs keep changing the event; try again later');
  }

  #patch(
    account: ProviderAccount,
    ids: EventIds,
    { etag }: GoogleEvent,
    change: Change,
  ): Promise<GoogleEvent> {
    const headers: Record<string, string> = etag ? { 'if-match': etag } : {};
    // Repeatable: a repetition reads the event again, and writes what is still missing.
    const request = { method: 'PATCH', path: pathOf(ids), headers, repeatable: true } as const;
    const patching = this.api.read(account, { ...request, ...change }, googleEvent);
    return this.api.unlessPassing(account, pathOf(ids), patching);
  }

  #get(account: ProviderAccount, ids: EventIds): Promise<GoogleEvent> {
    const path = pathOf(ids);
    const reading = this.api.read(account, { method: 'GET', path }, googleEvent);
    return this.api.unlessPassing(account, path, reading);
  }
}

/**
 * Makes a write again without the conference if Google refuses to store one of another service. Its
 * address becomes the location if there is none, so that guests find it, and Carillon keeps the
 * rest.
 * @param mayMark whether the event may get a private property
 */
async function withConference(
  change: Change,
  write: (change: Change) => Promise<GoogleEvent>,
  mayMark = true,
): Promise<GoogleEvent> {
  try {
    return await write(change);
  } catch (error) {
    const { conferenceData, ...json } = change.json;
    const refused = googleEvent.shape.conferenceData.safeParse(conferenceData).data;
    const isRefused = error instanceof GoogleError && error.status === 400;
    if (
      !mayMark ||
      !refused ||
      refused.createRequest ||
      !isRefused ||
      !/conference/i.test(error.message)
    )
      throw error;
    const url = refused.entryPoints?.[0]?.uri;
    const location = json['location'] ? {} : { location: url };
    const extendedProperties = { private: { [CONFERENCE_PROPERTY]: 'kept' } };
    return write({ ...change, json: { ...json, ...location, extendedProperties } });
  }
}

/** The fields to write. A meeting that Google creates is not a field, and stays if it is there. */
function wanted(content: EventContent, { meeting }: EventWriteOptions): StoredFields {
  const { conferencing, ...fields } = storedForm(writable(content));
  return meeting || conferencing === undefined ? fields : { ...fields, conferencing };
}

/** @throws {ProviderError} `rejected` */
function assertWritable(event: GoogleEvent): void {
  const type = fixedType(event);
  if (type !== null)
    throw new ProviderError(
      'rejected',
      `Google: the event is ${type}, which other programs cannot change. Change it in Google Calendar`,
    );
}

const gone = (event: GoogleEvent): ProviderError =>
  event.recurringEventId === undefined
    ? new ProviderError('not-found', 'Google: the event was deleted')
    : conflict('The instance was deleted');

const conflict = (what: string) =>
  new ProviderError(
    'conflict',
    `${what} at the provider in the meantime. Read the event and repeat the changes you still want`,
  );

function pathOf({ calendarId, eventId }: { calendarId: string; eventId?: string }): string {
  const events = `/calendars/${encodeURIComponent(calendarId)}/events`;
  return eventId === undefined ? events : `${events}/${encodeURIComponent(eventId)}`;
}

const updatesOf = ({ notify = false }: NotifyOption): string => (notify ? 'all' : 'none');

const writeQuery = (options: NotifyOption): Query => ({
  sendUpdates: updatesOf(options),
  conferenceDataVersion: 1,
});

/** The fields for a comparison: a conference that one side cannot express is no difference. */
function comparable(fields: StoredFields, other: StoredFields) {
  const { conferencing = other.conferencing ?? null } = fields;
  return { ...fields, conferencing };
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
function asDefined(series: GoogleEvent, instance: GoogleEvent): Properties {
  const { originalStartTime: start } = instance;
  const fields = readEvent(series);
  if (!fields || !start) throw new ProviderError('rejected', 'Google: the instance has no time');
  const { when: _when, recurrence: _recurrence, conferencing, ...same } = fields;
  const end = startOf(start) + startOf(series.end ?? {}) - startOf(series.start ?? {});
  const at = new Date(end * 1000).toISOString();
  const hasMeeting = conferencing !== undefined && conferencing?.provider !== MEET;
  return {
    ...writeEvent(hasMeeting ? { ...same, conferencing } : same, series),
    start,
    end:
      start.date === undefined
        ? { dateTime: at, timeZone: series.end?.timeZone ?? 'UTC', date: null }
        : { date: at.slice(0, 10), dateTime: null, timeZone: null },
  };
}
