import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, restrict, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { When } from '../event-store/event-values.ts';
import { instanceId } from '../event-store/recurrence/instances.ts';
import { type BusyInstance, busyInstances } from './busy-series.ts';
import { BusyRepository, type BusySeries, type KnownCalendar } from './busy.repository.ts';
import type { GroupMeeting } from './slots.ts';
import type { Span } from './spans.ts';
import { WorkBudget } from './work-budget.ts';

/** Whose times are asked for. */
export interface Wanted {
  emails: readonly string[];
  calendars: readonly { accountId: string; calendarIds: readonly string[] }[];
}

/** Somebody whose times are looked up: by address, or in one calendar. */
export interface Found {
  email: string;
  /** Only where that one was asked for. */
  calendarId?: string;
  accountIds: readonly string[];
  calendarIds: readonly string[];
}

/** What takes the time of a calendar. */
export interface CalendarTimes {
  busy: Span[];
  groups: GroupMeeting[];
}

/** Group meetings of one answer; those behind them only take time. */
const MOST_GROUPS = 1_000;
const SHOWN = 10;

/**
 * Finds the calendars of people, and what takes their time. Accounts see each other within their application, and only
 * when, never what.
 */
@Injectable()
export class BusyPeople {
  constructor(private readonly repository: BusyRepository) {}

  /**
   * In the order of the request, each once. An address means every calendar that its accounts may write to, their
   * primary ones, and what they have accepted of invitations in mail. An account whose address is not proven is found by its
   * address only by itself.
   * @param outsiders addresses that need not be known
   * @throws {InvalidInputError} naming who or what is not known
   */
  async find(
    { applicationId, accountId: own }: AccountPrincipal,
    { emails, calendars }: Wanted,
    outsiders: ReadonlySet<string> = new Set(),
  ): Promise<Found[]> {
    const accountIds = calendars.map(({ accountId }) => accountId).filter(isId);
    if (emails.length + accountIds.length + calendars.length === 0) return [];
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
    const strangers = emails.filter(
      (email) => !outsiders.has(email) && !people.some((one) => one.email === email),
    );
    if (strangers.length > 0) throw new InvalidInputError(`emails: ${nobody(strangers)}`);
    return [...people, ...calendars.flatMap((one, index) => byCalendar(one, index, readable))];
  }

  /**
   * What takes time in a range, by calendar; of calendars without anything there is nothing.
   * @param tentative whether what is not sure takes time
   * @throws {InvalidInputError} when it is too much
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

/** @throws {InvalidInputError} */
function byCalendar(
  { accountId: wanted, calendarIds: ids }: Wanted['calendars'][number],
  index: number,
  rows: readonly KnownCalendar[],
): Found[] {
  const theirs = rows.filter(({ accountId }) => accountId === wanted.toLowerCase());
  const [first] = theirs;
  if (!first) throw new InvalidInputError(`calendars.${index}.account_id: ${nobody([wanted])}`);
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

function nobody(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map((name) => name.slice(0, 100));
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return (
    `${shown.join(', ')}${more}: no account of this application whose calendar may be read; ` +
    `times of other people can be given in free_busy`
  );
}
