import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
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
  ProviderAccount,
  ProviderSequence,
} from '../../port/connector.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphCalendars } from './graph-calendars.ts';
import { GraphError } from '../graph-error.ts';
import {
  bodyWithMeeting,
  extrasOf,
  type GraphEvent,
  type GraphFields,
  meetingDetails,
  readEvent,
  TEAMS,
  writeEvent,
} from './graph-event.ts';
import { GraphEventChanges } from './graph-event-changes.ts';
import { GraphEventsApi, incompleteSeries, pathOf } from './graph-events-api.ts';
import { conflict, differences, givenIn, merged, throughGraph, whenAt } from '../graph-fields.ts';
import { excludedStarts } from './graph-recurrence.ts';
import { GraphSchedule } from './graph-schedule.ts';
import { GraphSeries } from './graph-series.ts';

/** Attempts to change an event that other programs keep changing. */
const MOST_ROUNDS = 5;
/** An event of this age, in milliseconds, was created by the request that returns it. */
const NEW_MS = 5_000;

interface Written extends EventUpdateOptions {
  content: EventContent;
}

/**
 * Calendars of Microsoft Graph. The `providerId` of an event is its immutable id, which is unique
 * in a mailbox and stays when the event is moved to another calendar.
 */
export class GraphCalendar implements CalendarPort {
  /** Exchange mails the participants of every meeting, and cannot be asked not to. */
  readonly mailsParticipants = 'always';
  readonly conferencing = [TEAMS] as const;
  readonly #calendars: GraphCalendars;
  readonly #events: GraphEventsApi;
  readonly #changes: GraphEventChanges;
  readonly #series: GraphSeries;
  readonly #schedule: GraphSchedule;

  constructor(
    private readonly api: GraphApi,
    private readonly clock: Clock,
  ) {
    this.#calendars = new GraphCalendars(api);
    this.#events = new GraphEventsApi(api, clock);
    this.#changes = new GraphEventChanges(api, this.#events);
    this.#series = new GraphSeries(this.#events);
    this.#schedule = new GraphSchedule(api);
  }

  asStored(_account: Pick<ProviderAccount, 'email' | 'name'>, event: EventContent): EventContent {
    const { status, conferencing } = event;
    return {
      ...throughGraph(event),
      // The mirror keeps what Graph has no property for.
      ...(status === undefined ? {} : { status }),
      ...(conferencing === undefined ? {} : { conferencing }),
    };
  }

  listCalendars(account: ProviderAccount) {
    return this.#calendars.list(account);
  }

  listEventChanges(
    account: ProviderAccount,
    calendarProviderId: string,
    cursor: string | null,
    limit: number,
  ) {
    return this.#changes.list(account, calendarProviderId, cursor, limit);
  }

  createCalendar(account: ProviderAccount, key: string, calendar: CalendarContent) {
    return this.#calendars.create(account, key, calendar);
  }

  updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    return this.#calendars.update(account, providerId, calendar);
  }

  deleteCalendar(account: ProviderAccount, providerId: string) {
    return this.#calendars.remove(account, providerId);
  }

  async createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    options: EventWriteOptions = {},
  ): Promise<EventProviderIds> {
    const fields = throughGraph(event);
    const path = `/calendars/${encodeURIComponent(calendarProviderId)}/events`;
    const json = { ...writeEvent(fields), ...extrasOf(event, options), transactionId: key };
    // Repeatable: the same `transactionId` makes no second event.
    const request = { method: 'POST', path, json, repeatable: true } as const;
    if (options.meeting)
      await this.#calendars.assertTeams(
        account,
        `/calendars/${encodeURIComponent(calendarProviderId)}`,
      );
    const created = await this.#createdOnce(account, calendarProviderId, key, request);
    const isNew = this.clock.now().getTime() - Date.parse(created.createdDateTime ?? '') < NEW_MS;
    const excludes = excludedIn(fields).length > 0;
    // A repeated request returns the event of the first one, which may have other content.
    const written =
      isNew && !excludes
        ? created
        : await this.#update(account, created.id, { ...options, content: event, base: null });
    return idsOf(written, created.iCalUId, options);
  }

  /** The event of a creation, also if an earlier attempt has made it: Graph may then answer 409. */
  async #createdOnce(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    request: Parameters<GraphEventsApi['read']>[1],
  ): Promise<GraphEvent> {
    try {
      return await this.#calendars.unlessPassing(
        account,
        calendarProviderId,
        this.#events.read(account, request),
      );
    } catch (error) {
      if (!(error instanceof GraphError) || error.status !== 409) throw error;
      const found = await this.#events.createdWith(account, calendarProviderId, key);
      if (found) return found;
      throw error;
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

  /** Exchange cancels a meeting of the account, and mails its participants. */
  deleteEvent(account: ProviderAccount, providerId: string) {
    return this.#events.remove(account, providerId);
  }

  async writeInstance(
    account: ProviderAccount,
    instance: InstancePosition,
    event: EventContent,
    options: EventUpdateOptions = {},
  ): Promise<EventProviderIds> {
    const series = await this.#events.get(account, instance.series);
    const found = await this.#events.occurrenceAt(account, series, startMs(instance.start));
    if (!found) throw conflict('The instance was deleted');
    const written = await this.#update(account, found.id, { ...options, content: event });
    return idsOf(written, series.iCalUId, options);
  }

  async deleteInstance(account: ProviderAccount, instance: InstancePosition) {
    const series = await this.#events.findProven(account, instance.series);
    if (!series) return;
    const found = await this.#events.occurrenceAt(account, series, startMs(instance.start));
    if (found) await this.#events.remove(account, found.id);
  }

  /** Graph cannot forget the changes of an instance: it gets the values of its series again. */
  async resetInstance(account: ProviderAccount, providerId: string) {
    const event = await this.#events.findProven(account, providerId);
    if (event?.type !== 'exception' || !event.seriesMasterId || !event.originalStart) return;
    const series = await this.#events.findProven(account, event.seriesMasterId);
    const [defined, present] = [series && readEvent(series), readEvent(event)];
    if (!series || !defined || !present) return;
    const originalMs = await this.#events.originalMsOf(account, series, event);
    const names = Object.keys(differences(defined, present, originalMs));
    if (names.length === 0) return;
    const values = { ...defined, when: whenAt(defined.when, originalMs) };
    const fields = Object.fromEntries(
      Object.entries(values).filter(([name]) => names.includes(name)),
    );
    const json = writeEvent(fields, event.attendees ?? []);
    await this.#patch(account, event, json);
  }

  async respond(
    account: ProviderAccount,
    providerId: string,
    { status, comment, notify }: EventResponse,
  ): Promise<void> {
    const event = await this.#events.get(account, providerId);
    if (event.isOrganizer)
      throw new ProviderError('rejected', 'Microsoft: the account is the organizer of the event');
    const answer = ANSWERS[status];
    // A second answer of the same kind would be mailed again.
    if (event.responseStatus?.response === answer.stored) return;
    const path = `${pathOf(providerId)}/${answer.action}`;
    const json = { sendResponse: notify, ...(comment === null ? {} : { comment }) };
    const request = { method: 'POST', path, json, priority: 'interactive' } as const;
    const answering = this.api.send(account, { ...request, repeatable: true });
    await this.#events.unlessPassing(account, providerId, answering);
  }

  freeBusy(account: ProviderAccount, request: FreeBusyRequest) {
    return this.#schedule.freeBusy(account, request);
  }

  rooms(account: ProviderAccount, signal: AbortSignal) {
    return this.#schedule.rooms(account, signal);
  }

  /**
   * Reads an event, merges a change into it, and repeats this if another program has changed it
   * meanwhile.
   */
  async #update(
    account: ProviderAccount,
    id: string,
    { content, base = null, notes, ...options }: Written,
  ): Promise<GraphEvent> {
    const stored = throughGraph(content);
    const from = base && throughGraph(base);
    const isResumed = await this.#series.resume(account, id, notes);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const event = await this.#events.get(account, id);
      const ours = this.#comparable(event, givenIn(content, stored));
      const state = needsState(event, ours, from)
        ? await this.#events.stateOf(account, event)
        : { exceptions: [], excluded: from?.recurrence ? excludedIn(from) : [] };
      if (!state) throw incompleteSeries();
      const theirs = readEvent(event, state.excluded);
      if (!theirs) throw new ProviderError('rejected', 'Microsoft: the event has no time');
      // An earlier attempt has written the rule, and perhaps not all of its exclusions.
      const isOurs = isResumed && GraphSeries.isSameRule(ours.recurrence, theirs.recurrence);
      const before = isOurs && from ? { ...from, recurrence: theirs.recurrence } : from;
      const write = merged(before && this.#comparable(event, before), ours, theirs);
      const json = await this.#json(account, event, theirs, write);
      const extras = event.onlineMeeting?.joinUrl ? {} : extrasOf({}, options);
      const all = { ...json, ...extras, ...hidden(content, event) };
      if ('isOnlineMeeting' in extras)
        await this.#calendars.assertTeams(account, `${pathOf(id)}/calendar`);
      const plan = await this.#series.plan(account, event, { state, theirs, write });
      try {
        await this.#series.note(event, plan, notes);
        const written =
          Object.keys(all).length === 0 ? event : await this.#patch(account, event, all);
        await this.#series.carryOut(account, written, plan);
        return written;
      } catch (error) {
        if (!(error instanceof GraphError) || error.status !== 412) throw error;
      }
    }
    throw new ProviderError('temporary', 'Other programs keep changing the event; try again later');
  }

  /** An instance has no recurrence of its own. */
  #comparable<T extends Partial<GraphFields>>(event: GraphEvent, fields: T): T {
    const { recurrence: _series, ...rest } = fields;
    return event.seriesMasterId ? (rest as T) : fields;
  }

  /** The properties for a change. Exclusions of a series are not properties: `GraphSeries`. */
  async #json(
    account: ProviderAccount,
    event: GraphEvent,
    theirs: GraphFields,
    write: Partial<GraphFields>,
  ): Promise<Record<string, unknown>> {
    const { recurrence, ...rest } = write;
    const isRule = recurrence !== undefined && GraphSeries.isNewRule(theirs, write);
    const fields = isRule ? { ...rest, recurrence, when: rest.when ?? theirs.when } : rest;
    const json = writeEvent(fields, event.attendees ?? []);
    if (write.description === undefined || !event.onlineMeeting?.joinUrl) return json;
    const html = await this.#events.html(account, event.id);
    return { ...json, body: bodyWithMeeting(write.description, html) };
  }

  #patch(
    account: ProviderAccount,
    event: GraphEvent,
    json: Record<string, unknown>,
  ): Promise<GraphEvent> {
    const etag = event['@odata.etag'];
    const headers: Record<string, string> = etag ? { 'if-match': etag } : {};
    const request = { method: 'PATCH', path: pathOf(event.id), headers, json } as const;
    const patching = this.#events.read(account, { ...request, repeatable: true });
    return this.#events.unlessPassing(account, event.id, patching);
  }
}

const ANSWERS = {
  yes: { action: 'accept', stored: 'accepted' },
  no: { action: 'decline', stored: 'declined' },
  maybe: { action: 'tentativelyAccept', stored: 'tentativelyAccepted' },
} as const;

const STAMP = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)Z)?$/;

/** Unix milliseconds of `20300311T080000Z` or `20300311`. */
function startMs(start: string): number {
  const [, year, month, day, hour = '00', minute = '00', second = '00'] = STAMP.exec(start) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** Whether a change may concern the deleted instances of a series. */
function needsState(
  event: GraphEvent,
  ours: Partial<GraphFields>,
  before: GraphFields | null,
): boolean {
  if (!event.recurrence || ours.recurrence === undefined) return false;
  return (
    !before ||
    !isDeepStrictEqual(before.recurrence, ours.recurrence) ||
    !isDeepStrictEqual(before.when, ours.when)
  );
}

function excludedIn({ recurrence, when }: GraphFields): number[] {
  return recurrence ? excludedStarts(recurrence, GraphSeries.startOf(recurrence, when)) : [];
}

function hidden(content: EventContent, event: GraphEvent): Record<string, unknown> {
  const { hide_participants: hide } = content;
  return typeof hide === 'boolean' && hide !== (event.hideAttendees ?? false)
    ? { hideAttendees: hide }
    : {};
}

function resultOf(event: GraphEvent, { meeting }: EventWriteOptions): ProviderSequence {
  return meeting ? { meeting: meetingDetails(event) ?? 'pending' } : {};
}

function idsOf(event: GraphEvent, icalUid: string | null | undefined, options: EventWriteOptions) {
  return { providerId: event.id, icalUid: icalUid ?? event.id, ...resultOf(event, options) };
}
