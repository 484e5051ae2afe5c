import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import {
  BusyPeople,
  type CalendarTimes,
  type Found,
  type FoundPeople,
  type Wanted,
} from './busy-people.ts';
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
import { RemoteBusy } from './remote-busy.ts';
import { clipSpans, mergeSpans, type Span } from './spans.ts';

/** Busy times of one person or one calendar. */
export interface BusyCalendars {
  email: string;
  calendarId?: string;
  /** Within the requested range; the spans neither overlap nor touch. */
  spans: Span[];
}

/** Possible times, and for round-robin requests the order of the rotation. */
export interface FoundSlots {
  slots: Slot[];
  order?: readonly string[];
}

/** Common fields of all requests for possible times. */
export interface MeetingRequest extends Pick<Wanted, 'calendars'> {
  search: Search;
  /** True if tentative events count as busy. Default true. */
  tentativeBusy?: boolean | undefined;
  /** Busy times of people without an account on this server. */
  outsiders: readonly { email: string; busy: readonly Span[] }[];
  /** Hours at which people can be met. A person without an entry can be met at any time. */
  openHours: readonly (OpenHours & { emails: readonly string[] })[];
}

/** A request for one meeting, with all of the people or with one person of a rotation. */
export interface SlotRequest extends MeetingRequest, Wanted {
  /** If `undefined`, all people must be available. */
  roundRobin?: RoundRobin | undefined;
  /** Id of the collection whose meetings decide the order of the rotation. */
  eventCollectionId?: string | undefined;
}

/** A request for meetings in a row, each with its own list of people. */
export interface ChainRequest extends MeetingRequest {
  meetings: readonly (readonly string[])[];
}

/**
 * Computes when people are available, from the mirror of their calendars. People without an account
 * are looked up at the provider of the asking account, if it shows their times.
 */
@Injectable()
export class AvailabilityService {
  constructor(
    private readonly people: BusyPeople,
    private readonly repository: BusyRepository,
    private readonly remote: RemoteBusy,
  ) {}

  /**
   * Busy times of people given by address, followed by those of people given by calendar.
   * @throws {InvalidInputError} also if a person or calendar is unknown
   * @throws {DomainError} if the provider was asked and failed
   */
  async freeBusy(account: AccountPrincipal, wanted: Wanted, range: Span): Promise<BusyCalendars[]> {
    const found = await this.people.find(account, wanted);
    const [times, remote] = await Promise.all([
      this.people.read([...found.byAddress, ...found.byCalendar], range, true),
      this.remote.read(account, found.unknown, range),
    ]);
    const clipped = (spans: readonly Span[]) => clipSpans(mergeSpans([...spans]), range);
    const busyOf = ({ email, calendarId, calendarIds }: Found): BusyCalendars => ({
      email,
      ...(calendarId === undefined ? {} : { calendarId }),
      spans: clipped(calendarIds.flatMap((id) => timesOf(times, id))),
    });
    const byAddress = [...new Set(wanted.emails)].map((email) => {
      const known = found.byAddress.find((one) => one.email === email);
      return known ? busyOf(known) : { email, spans: clipped(remote.get(email) ?? []) };
    });
    return [...byAddress, ...found.byCalendar.map(busyOf)];
  }

  /**
   * Possible times for one meeting, with all people or with one person of a rotation.
   * @throws {InvalidInputError}
   */
  async slots(account: AccountPrincipal, request: SlotRequest): Promise<FoundSlots> {
    const { search, roundRobin, eventCollectionId: collectionId } = request;
    const found = await this.people.find(account, request, outsidersOf(request));
    const people = await this.#people(account, found, request, request.emails);
    if (!roundRobin) return { slots: collectiveSlots(people, search) };
    const emails = people.map(({ email }) => email);
    const accountIds = [
      ...new Set([account.accountId, ...allOf(found).flatMap((one) => one.accountIds)]),
    ];
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
   * Chains of meetings, each with its own list of people. A person who is in no list (given by
   * calendar or only in `free_busy`) must attend all meetings.
   * @throws {InvalidInputError}
   */
  async chains(account: AccountPrincipal, request: ChainRequest): Promise<Slot[][]> {
    const emails = [...new Set(request.meetings.flat())];
    const found = await this.people.find(account, { ...request, emails }, outsidersOf(request));
    const people = await this.#people(account, found, request, emails);
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

  /**
   * The people of a request, one entry per address: first those of `emails` in their order, then
   * the others.
   */
  async #people(
    account: AccountPrincipal,
    people: FoundPeople,
    request: MeetingRequest,
    emails: readonly string[],
  ): Promise<Person[]> {
    const { search, tentativeBusy, openHours } = request;
    const { range, buffer } = search;
    const reach = { start: Math.max(0, range.start - buffer), end: range.end + buffer };
    const found = allOf(people);
    const [times, remote] = await Promise.all([
      this.people.read(found, reach, tentativeBusy ?? true),
      this.remote.read(account, people.unknown, reach),
    ]);
    const outsiders = [
      ...request.outsiders,
      ...[...remote].map(([email, busy]) => ({ email, busy })),
    ];
    const given = [...found.map(({ email }) => email), ...outsiders.map(({ email }) => email)];
    return [...new Set([...emails, ...given])].map((email) => {
      const calendarIds = new Set(
        found.flatMap((one) => (one.email === email ? one.calendarIds : [])),
      );
      const calendars = [...calendarIds].flatMap((id) => times.get(id) ?? []);
      const given = outsiders.filter((one) => one.email === email);
      const hours = openHours.filter((one) => one.emails.includes(email));
      return {
        email,
        busy: [...calendars.flatMap(({ busy }) => busy), ...given.flatMap((one) => one.busy)],
        groups: calendars.flatMap(({ groups }) => groups),
        open: hours.length > 0 ? openSpans(hours, range) : null,
      };
    });
  }
}

const allOf = ({ byAddress, byCalendar }: FoundPeople): Found[] => [...byAddress, ...byCalendar];

const timesOf = (times: ReadonlyMap<string, CalendarTimes>, id: string): Span[] => {
  const { busy = [], groups = [] } = times.get(id) ?? {};
  return [...busy, ...groups];
};

const outsidersOf = ({ outsiders }: MeetingRequest): ReadonlySet<string> =>
  new Set(outsiders.map(({ email }) => email));
