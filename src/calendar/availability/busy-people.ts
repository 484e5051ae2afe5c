import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, restrict, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { When } from '../events/event-values.ts';
import { instanceId } from '../events/recurrence/instances.ts';
import { type BusyInstance, busyInstances } from './busy-series.ts';
import { BusyRepository, type BusySeries, type KnownCalendar } from './busy.repository.ts';
import type { GroupMeeting } from './slots.ts';
import type { Span } from './spans.ts';
import { WorkBudget } from './work-budget.ts';

/** The people and calendars whose times are requested. */
export interface Wanted {
  emails: readonly string[];
  calendars: readonly { accountId: string; calendarIds: readonly string[] }[];
}

/** A person whose times are looked up: by address, or in a single calendar. */
export interface Found {
  email: string;
  /** Set only if this calendar was requested. */
  calendarId?: string;
  accountIds: readonly string[];
  calendarIds: readonly string[];
}

/** The requested people and calendars, in the order of the request and without duplicates. */
export interface FoundPeople {
  byAddress: Found[];
  byCalendar: Found[];
  /** Addresses without an account whose calendars may be read. */
  unknown: string[];
}

/** The busy times of a calendar. */
export interface CalendarTimes {
  busy: Span[];
  groups: GroupMeeting[];
}

/** Most joinable group meetings in one response; further ones count as busy times. */
const MOST_GROUPS = 1_000;

/**
 * Finds people's calendars and busy times. Accounts of one application see each other's times, but
 * no details of events.
 */
@Injectable()
export class BusyPeople {
  constructor(private readonly repository: BusyRepository) {}

  /**
   * Finds the requested people. An address stands for all calendars that its accounts may write to,
   * their primary calendars, and accepted invitations from mail. An account whose address is not
   * proven is found by that address only in its own requests.
   * @param outsiders addresses that count as known without an account
   * @throws {InvalidInputError} naming an unknown account or calendar of `calendars`
   */
  async find(
    { applicationId, accountId: own }: AccountPrincipal,
    { emails, calendars }: Wanted,
    outsiders: ReadonlySet<string> = new Set(),
  ): Promise<FoundPeople> {
    const accountIds = calendars.map(({ accountId }) => accountId).filter(isId);
    if (emails.length + accountIds.length + calendars.length === 0)
      return { byAddress: [], byCalendar: [], unknown: [] };
    const rows = await this.repository.listCalendars(applicationId, emails, accountIds);
    const readable = rows.filter(({ asked, agreed }) =>
      allows(restrict(asked, agreed), SCOPES_FOR.readFreeBusy),
    );
    const people = [...new Set(emails)].flatMap((email) => {
      const theirs = readable.filter(
        (row) => row.email === email && (row.answers || row.accountId === own),
      );
      return theirs.length > 0 ? byAddress(email, theirs) : [];
    });
    const unknown = [...new Set(emails)].filter(
      (email) => !outsiders.has(email) && !people.some((one) => one.email === email),
    );
    return {
      byAddress: people,
      byCalendar: calendars.flatMap((one, index) => byCalendar(one, index, readable)),
      unknown,
    };
  }

  /**
   * Busy times in a range, by calendar. A calendar without events has empty lists.
   * @param tentative true if tentative events count as busy
   * @throws {InvalidInputError} if there are too many events
   */
  async read(
    people: readonly Found[],
    range: Span,
    tentative: boolean,
  ): Promise<Map<string, CalendarTimes>> {
    const calendarIds = [...new Set(people.flatMap((one) => one.calendarIds))];
    const accountIds = [...new Set(people.flatMap((one) => one.accountIds))];
    const found = new Map<string, CalendarTimes>(
      calendarIds.map((id) => [id, { busy: [], groups: [] }]),
    );
    if (calendarIds.length === 0) return found;
    const query = { calendarIds, accountIds, range };
    const [{ times, groups }, series] = await Promise.all([
      this.repository.listSingles(query),
      this.repository.listSeries(query),
    ]);
    const calendarAt = (place: number): CalendarTimes | undefined => {
      const isSure = place % 2 === 0;
      return isSure || tentative ? found.get(calendarIds[Math.floor(place / 2)] ?? '') : undefined;
    };
    let joinable = 0;
    const addGroup = (calendar: CalendarTimes, group: GroupMeeting): void => {
      joinable += 1;
      if (joinable <= MOST_GROUPS) calendar.groups.push(group);
      else calendar.busy.push({ start: group.start, end: group.end });
    };
    for (const [index, place] of times.places.entries())
      calendarAt(place)?.busy.push({
        start: times.starts[index] ?? 0,
        end: times.ends[index] ?? 0,
      });
    for (const { place, ...group } of groups) {
      const calendar = calendarAt(place);
      if (calendar) addGroup(calendar, group);
    }
    const budget = new WorkBudget();
    for (const event of series) {
      const calendar = calendarAt(event.place);
      if (!calendar) continue;
      const { taken, capacity } = event;
      const spans = busyInstances(event, range);
      for (const span of spans)
        if (capacity !== null && taken < capacity)
          addGroup(calendar, { ...span, eventId: instanceNameOf(event, span), taken, capacity });
        else calendar.busy.push(span);
      const rest = budget.spend(spans.length);
      if (rest) await rest;
    }
    return found;
  }
}

function instanceNameOf({ eventId: id, when }: BusySeries, { startMs }: BusyInstance): string {
  return startMs === null ? id : instanceId({ id, when: JSON.parse(when) as When }, startMs);
}

function byAddress(email: string, rows: readonly KnownCalendar[]): Found {
  return {
    email,
    accountIds: [...new Set(rows.map(({ accountId }) => accountId))],
    calendarIds: rows.flatMap(({ isOwn, calendarId }) =>
      isOwn && calendarId !== null ? calendarId : [],
    ),
  };
}

/** @throws {InvalidInputError} if the account or a calendar is unknown */
function byCalendar(
  { accountId: wanted, calendarIds: ids }: Wanted['calendars'][number],
  index: number,
  rows: readonly KnownCalendar[],
): Found[] {
  const theirs = rows.filter(({ accountId }) => accountId === wanted.toLowerCase());
  const [first] = theirs;
  if (!first)
    throw new InvalidInputError(
      `calendars.${index}.account_id: ${wanted.slice(0, 100)}: no account of this application whose calendar may be read; give the times of other people in free_busy`,
    );
  if (ids.length === 0) return [byAddress(first.email, theirs)];
  return [...new Set(ids)].map((id) => {
    const calendar = theirs.find(({ calendarId }) => calendarId === id.toLowerCase());
    if (!calendar?.calendarId)
      throw new InvalidInputError(
        `calendars.${index}.calendar_ids: Couldn't find calendar ${id.slice(0, 100)}`,
      );
    const { email, accountId, calendarId } = calendar;
    return { email, calendarId, accountIds: [accountId], calendarIds: [calendarId] };
  });
}
