import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import type { AvailabilityBody, ConsecutiveBody, FreeBusyBody } from './availability.schema.ts';
import { BusyPeople, type CalendarTimes, type Found } from './busy-people.ts';
import { BusyRepository } from './busy.repository.ts';
import { openSpans } from './open-hours.ts';
import { candidates, rotation } from './round-robin.ts';
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
type Meeting = Omit<ConsecutiveBody, 'emails'>;

/** When people have time (api facts 7.2), by the mirror of their calendars. */
@Injectable()
export class AvailabilityService {
  constructor(
    private readonly people: BusyPeople,
    private readonly repository: BusyRepository,
  ) {}

  /** By address first, then by calendar. @throws {InvalidInputError} also for somebody who is not known */
  async freeBusy(account: AccountPrincipal, body: FreeBusyBody): Promise<BusyCalendars[]> {
    const range = { start: body.start_time, end: body.end_time };
    const found = await this.people.find(account, body);
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
  async slots(account: AccountPrincipal, body: AvailabilityBody): Promise<FoundSlots> {
    const { round_robin: roundRobin, event_collection_id: collectionId } = body;
    const search = searchOf(body);
    const found = await this.people.find(account, body, outsidersOf(body));
    const people = await this.#people(found, body, body.emails, search);
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
  async chains(account: AccountPrincipal, body: ConsecutiveBody): Promise<Slot[][]> {
    const search = searchOf(body);
    const emails = [...new Set(body.emails.flat())];
    const found = await this.people.find(account, { ...body, emails }, outsidersOf(body));
    const people = await this.#people(found, body, emails, search);
    const isEverywhere = ({ email }: Person): boolean => !emails.includes(email);
    const everywhere = people.filter(isEverywhere);
    const meetings = body.emails.map((group) => [
      ...people
        .filter(({ email }) => group.includes(email))
        .toSorted((a, b) => group.indexOf(a.email) - group.indexOf(b.email)),
      ...everywhere,
    ]);
    return consecutiveSlots(meetings, search);
  }

  /** Everybody of a request once, by address: those asked for by it in their order, then the others. */
  async #people(
    found: readonly Found[],
    body: Meeting,
    emails: readonly string[],
    { range, buffer }: Search,
  ): Promise<Person[]> {
    const reach = { start: Math.max(0, range.start - buffer), end: range.end + buffer };
    const times = await this.people.read(found, reach, body.tentative_busy ?? true);
    const given = [...found.map(({ email }) => email), ...body.free_busy.map(({ email }) => email)];
    return [...new Set([...emails, ...given])].map((email) => {
      const calendarIds = new Set(found.flatMap((one) => (one.email === email ? one.calendarIds : [])));
      const calendars = [...calendarIds].flatMap((id) => times.get(id) ?? []);
      const told = body.free_busy.filter((one) => one.email === email);
      const hours = body.open_hours.filter((one) => one.emails.includes(email));
      return {
        email,
        busy: [
          ...calendars.flatMap(({ busy }) => busy),
          ...told.flatMap((one) => one.time_slots.map(spanOf)),
        ],
        groups: calendars.flatMap(({ groups }) => groups),
        open: hours.length > 0 ? openSpans(hours.map(hoursOf), range) : null,
      };
    });
  }
}

const spanOf = ({ start_time, end_time }: { start_time: number; end_time: number }): Span => ({
  start: start_time,
  end: end_time,
});

const hoursOf = ({ days, timezone, start, end }: Meeting['open_hours'][number]) => ({
  days,
  timezone,
  startMinute: start,
  endMinute: end,
});

const timesOf = (times: ReadonlyMap<string, CalendarTimes>, id: string): Span[] => {
  const { busy = [], groups = [] } = times.get(id) ?? {};
  return [...busy, ...groups];
};

const outsidersOf = ({ free_busy }: Meeting): ReadonlySet<string> =>
  new Set(free_busy.map(({ email }) => email));

const searchOf = (body: Meeting): Search => ({
  range: { start: body.start_time, end: body.end_time },
  duration: body.duration_minutes * 60,
  interval: body.interval_minutes * 60,
  buffer: (body.buffer ?? 0) * 60,
});
