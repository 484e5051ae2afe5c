import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { BusyPeople, type CalendarTimes, type Found, type Wanted } from './busy-people.ts';
import { BusyRepository } from './busy.repository.ts';
import { type OpenHours, openSpans } from './open-hours.ts';
import { candidates, rotation, type RoundRobin } from './round-robin.ts';
import {
  anyoneSlots,
  collectiveSlots,
  consecutiveSlots,
  type Person,
  type Search,
  type Slot,
} from './slots.ts';
import { clipSpans, mergeSpans, type Span } from './spans.ts';

/** Busy times of somebody, or of one calendar. */
export interface BusyCalendars {
  email: string;
  calendarId?: string;
  /** Within what was asked for; they neither overlap nor touch. */
  spans: Span[];
}

/** Possible times, and in a rotation whose turn it is. */
export interface FoundSlots {
  slots: Slot[];
  order?: readonly string[];
}

/** What all requests for possible times have in common. */
export interface MeetingRequest extends Pick<Wanted, 'calendars'> {
  search: Search;
  /** Default true. */
  tentativeBusy?: boolean | undefined;
  /** Busy times of people who have no account here. */
  outsiders: readonly { email: string; busy: readonly Span[] }[];
  /** Who is not named in any of them can be met at any time. */
  openHours: readonly (OpenHours & { emails: readonly string[] })[];
}

/** A meeting of all of the people, or of one of a rotation. */
export interface SlotRequest extends MeetingRequest, Wanted {
  /** Undefined: everybody has to have time. */
  roundRobin?: RoundRobin | undefined;
  /** Whose meetings decide whose turn it is. */
  eventCollectionId?: string | undefined;
}

/** Meetings that follow each other, one with each list of people. */
export interface ChainRequest extends MeetingRequest {
  meetings: readonly (readonly string[])[];
}

/** When people have time (api facts 7.2), by the mirror of their calendars. */
@Injectable()
export class AvailabilityService {
  constructor(
    private readonly people: BusyPeople,
    private readonly repository: BusyRepository,
  ) {}

  /** By address first, then by calendar. @throws {InvalidInputError} also for somebody who is not known */
  async freeBusy(account: AccountPrincipal, wanted: Wanted, range: Span): Promise<BusyCalendars[]> {
    const found = await this.people.find(account, wanted);
    const times = await this.people.read(found, range, true);
    return found.map(({ email, calendarId, calendarIds }) => {
      const spans = calendarIds.flatMap((id) => timesOf(times, id));
      return {
        email,
        ...(calendarId === undefined ? {} : { calendarId }),
        spans: clipSpans(mergeSpans(spans), range),
      };
    });
  }

  /** Times of one meeting: with all of them, or with one of a rotation. @throws {InvalidInputError} */
  async slots(account: AccountPrincipal, request: SlotRequest): Promise<FoundSlots> {
    const { search, roundRobin, eventCollectionId: collectionId } = request;
    const found = await this.people.find(account, request, outsidersOf(request));
    const people = await this.#people(found, request, request.emails);
    if (!roundRobin) return { slots: collectiveSlots(people, search) };
    const emails = people.map(({ email }) => email);
    const accountIds = [...new Set([account.accountId, ...found.flatMap((one) => one.accountIds)])];
    const last = collectionId
      ? await this.repository.lastMeetings(accountIds, collectionId, emails)
      : new Map<string, number>();
    const order = rotation(emails, last);
    const next = candidates(order, roundRobin).flatMap(
      (email) => people.find((one) => one.email === email) ?? [],
    );
    return { slots: anyoneSlots(next, search), order };
  }

  /**
   * Chains of meetings, one with each list of people. Who is given by calendar, or has times of an outsider without being
   * in a list, has to be in all of them.
   * @throws {InvalidInputError}
   */
  async chains(account: AccountPrincipal, request: ChainRequest): Promise<Slot[][]> {
    const emails = [...new Set(request.meetings.flat())];
    const found = await this.people.find(account, { ...request, emails }, outsidersOf(request));
    const people = await this.#people(found, request, emails);
    const isEverywhere = ({ email }: Person): boolean => !emails.includes(email);
    const everywhere = people.filter(isEverywhere);
    const meetings = request.meetings.map((group) => [
      ...people
        .filter(({ email }) => group.includes(email))
        .toSorted((a, b) => group.indexOf(a.email) - group.indexOf(b.email)),
      ...everywhere,
    ]);
    return consecutiveSlots(meetings, request.search);
  }

  /** Everybody of a request once, by address: those asked for by it in their order, then the others. */
  async #people(
    found: readonly Found[],
    { search: { range, buffer }, tentativeBusy, outsiders, openHours }: MeetingRequest,
    emails: readonly string[],
  ): Promise<Person[]> {
    const reach = { start: Math.max(0, range.start - buffer), end: range.end + buffer };
    const times = await this.people.read(found, reach, tentativeBusy ?? true);
    const given = [...found.map(({ email }) => email), ...outsiders.map(({ email }) => email)];
    return [...new Set([...emails, ...given])].map((email) => {
      const calendarIds = new Set(
        found.flatMap((one) => (one.email === email ? one.calendarIds : [])),
      );
      const calendars = [...calendarIds].flatMap((id) => times.get(id) ?? []);
      const told = outsiders.filter((one) => one.email === email);
      const hours = openHours.filter((one) => one.emails.includes(email));
      return {
        email,
        busy: [...calendars.flatMap(({ busy }) => busy), ...told.flatMap((one) => one.busy)],
        groups: calendars.flatMap(({ groups }) => groups),
        open: hours.length > 0 ? openSpans(hours, range) : null,
      };
    });
  }
}

const timesOf = (times: ReadonlyMap<string, CalendarTimes>, id: string): Span[] => {
  const { busy = [], groups = [] } = times.get(id) ?? {};
  return [...busy, ...groups];
};

const outsidersOf = ({ outsiders }: MeetingRequest): ReadonlySet<string> =>
  new Set(outsiders.map(({ email }) => email));
