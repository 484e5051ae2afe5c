import { z } from 'zod';
import { nearestDay } from '../../../formats/recurrence/recurrence-lines.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { ignoreGone, nullIfGone } from '../../rest/gone.ts';
import type { GraphApi, GraphRequest } from '../graph-api.ts';
import { EVENT_FIELDS, type GraphEvent, graphEvent, startOfSeries } from './graph-event.ts';
import {
  dayInZone,
  type ListedInstance,
  listedInstance,
  type OriginalStart,
  originalStarts,
} from './graph-instance-starts.ts';
import { unlessPassing } from '../graph-second-look.ts';
import { startsBefore } from './graph-recurrence.ts';
import { DAY_MS, IN_UTC, msOf } from './graph-time.ts';

const enc = encodeURIComponent;
const PREFER = [IN_UTC, 'outlook.body-content-type="text"'];
const PER_PAGE = 500;
/** Graph refuses longer windows. */
const MOST_WINDOW_MS = 1_825 * DAY_MS;
/** How far ahead the instances of a series are read. */
const HORIZON_MS = 3 * 366 * DAY_MS;
/** Instances that somebody has moved behind the last start of their series. */
const BEHIND_MS = 366 * DAY_MS;
/** Requests that ask again for the starts that a list of instances lacks. */
const MOST_WINDOWS = 10;

const created = z.object({ id: z.string(), transactionId: z.string().nullish() });

/** An instance of a series, without its content. */
export interface Occurrence extends OriginalStart {
  id: string;
  isException: boolean;
}

/** What happened to the instances of a series. */
export interface SeriesState {
  exceptions: Occurrence[];
  /** Deleted starts, in Unix milliseconds. */
  excluded: number[];
}

/** The requests about events. */
export class GraphEventsApi {
  constructor(
    private readonly api: GraphApi,
    private readonly clock: Clock,
  ) {}

  /** @throws {ProviderError} `not-found` if it is proven that the event does not exist */
  get(account: ProviderAccount, id: string): Promise<GraphEvent> {
    return this.unlessPassing(account, id, this.#get(account, id));
  }

  /** Like `get`; `null` if it is proven that the event does not exist. */
  findProven(account: ProviderAccount, id: string): Promise<GraphEvent | null> {
    return nullIfGone(this.get(account, id));
  }

  /** The event; `null` if Graph does not find it, which alone proves nothing. */
  find(account: ProviderAccount, id: string): Promise<GraphEvent | null> {
    return nullIfGone(this.#get(account, id));
  }

  /** Waits for a request about an event. See `provenGone`. */
  unlessPassing<T>(account: ProviderAccount, id: string, work: Promise<T>): Promise<T> {
    return unlessPassing(this.api, account, { path: pathOf(id), part: 'calendar' }, work);
  }

  #get(account: ProviderAccount, id: string): Promise<GraphEvent> {
    return this.read(account, {
      method: 'GET',
      path: pathOf(id),
      query: { $select: EVENT_FIELDS },
    });
  }

  /**
   * The event of a calendar that a request with this `transactionId` has created; `null` if there
   * is none. Graph has no filter for it, so the latest changes are read first.
   */
  async createdWith(
    account: ProviderAccount,
    calendarId: string,
    transactionId: string,
  ): Promise<GraphEvent | null> {
    const since = new Date(this.clock.now().getTime() - 2 * DAY_MS).toISOString();
    for (const $filter of [`lastModifiedDateTime ge ${since}`, undefined]) {
      const query = { $select: 'id,transactionId', $top: PER_PAGE, $filter };
      const path = `/calendars/${enc(calendarId)}/events`;
      const request = { method: 'GET', path, query, priority: 'interactive' } as const;
      const all = await this.api.all(account, request, created);
      const found = all.find((one) => one.transactionId === transactionId);
      if (found) return this.get(account, found.id);
    }
    return null;
  }

  /** The body of an event as HTML. */
  async html(account: ProviderAccount, id: string): Promise<string> {
    const query = { $select: 'id,body' };
    const request = { method: 'GET', path: pathOf(id), query, priority: 'interactive' } as const;
    const prefer = ['outlook.body-content-type="html"'];
    const { body } = await this.api.read(account, { ...request, prefer }, graphEvent);
    return body?.content ?? '';
  }

  read(
    account: ProviderAccount,
    request: Omit<GraphRequest, 'priority' | 'prefer'>,
  ): Promise<GraphEvent> {
    return this.api.read(
      account,
      { ...request, priority: 'interactive', prefer: PREFER },
      graphEvent,
    );
  }

  /** Deletes an event or an instance. One that does not exist is not an error. */
  async remove(account: ProviderAccount, id: string): Promise<void> {
    const request = { method: 'DELETE', path: pathOf(id), priority: 'interactive' } as const;
    await ignoreGone(this.unlessPassing(account, id, this.api.send(account, request)));
  }

  /**
   * The instance of a series with this start, changed or not; `null` if it was deleted.
   * @throws {ProviderError} `rejected` if Exchange has no such instance, and its other instances
   *   are not those that the rule gives. It is unknown then whether the instance was deleted.
   *   `temporary` if the series has no instance at all, because Exchange deletes a series with its
   *   last instance.
   */
  async occurrenceAt(
    account: ProviderAccount,
    series: GraphEvent,
    originalMs: number,
  ): Promise<Occurrence | null> {
    const isIt = (one: Occurrence) => one.originalMs === originalMs;
    const near = await this.#near(account, series, [originalMs]);
    const found = near.every(({ isCertain }) => isCertain) ? near.find(isIt) : undefined;
    if (found) return found;
    // Somebody may have moved it to another time.
    const endMs = originalMs + HORIZON_MS;
    const all = await this.#all(account, series, endMs);
    const moved = all.find(isIt);
    if (moved) return moved;
    if (all.length === 0) throw incompleteSeries();
    const start = startOfSeries(series);
    if (
      start &&
      series.recurrence &&
      !agree(all, startsBefore(series.recurrence, start, endMs), endMs)
    )
      throw new ProviderError(
        'rejected',
        `Microsoft: no instance of the series starts at ${new Date(originalMs).toISOString()}, and its other instances do not follow its rule. Read the series again and choose one of its instances`,
      );
    return null;
  }

  /** The start of an instance that was read alone, see `originalStarts`. */
  async originalMsOf(
    account: ProviderAccount,
    series: GraphEvent,
    { id, originalStart }: GraphEvent,
  ): Promise<number> {
    const ms = Date.parse(originalStart ?? '');
    if (!series.isAllDay) return ms;
    const day = dayInZone(series, ms);
    if (day !== null) return day;
    const all = await this.#all(account, series, ms + HORIZON_MS);
    return all.find((one) => one.id === id)?.originalMs ?? nearestDay(ms);
  }

  /**
   * The changed and deleted instances of a series. A start counts as deleted if two lists of all
   * instances and one of those at about this time lack it (ADR 0124).
   * @returns `null` if the first list is not complete
   */
  async stateOf(account: ProviderAccount, series: GraphEvent): Promise<SeriesState | null> {
    const start = startOfSeries(series);
    if (!start || !series.recurrence) return { exceptions: [], excluded: [] };
    const horizon = Math.max(this.clock.now().getTime(), start.wallMs) + HORIZON_MS;
    const expected = startsBefore(series.recurrence, start, horizon);
    const isEndless = series.recurrence.range.type === 'noEnd';
    const endMs = isEndless ? horizon : (expected.at(-1) ?? start.wallMs) + DAY_MS;
    const found = await this.#all(account, series, endMs);
    // Exchange deletes a series with its last instance.
    if (found.length === 0 && expected.length > 0) return null;
    const present = new Set(found.map(({ originalMs }) => originalMs));
    const missing = expected.filter((ms) => !present.has(ms));
    const excluded = agree(found, expected, endMs) ? missing : [];
    if (await this.#isThere(account, series, excluded, endMs)) return null;
    return { exceptions: found.filter(({ isException }) => isException), excluded };
  }

  /** Whether an instance of a series has one of these starts. They are asked for in other lists. */
  async #isThere(
    account: ProviderAccount,
    series: GraphEvent,
    starts: readonly number[],
    endMs: number,
  ): Promise<boolean> {
    const wanted = new Set(starts);
    const isWanted = ({ originalMs }: Occurrence) => wanted.has(originalMs);
    const size = Math.ceil(starts.length / MOST_WINDOWS);
    for (let at = 0; at < starts.length; at += size) {
      const near = await this.#near(account, series, starts.slice(at, at + size));
      if (near.some(isWanted)) return true;
    }
    // Somebody may have moved it to another time.
    return starts.length > 0 && (await this.#all(account, series, endMs)).some(isWanted);
  }

  /** The instances at about the time of these starts, which are in order. */
  #near(
    account: ProviderAccount,
    series: GraphEvent,
    starts: readonly number[],
  ): Promise<Occurrence[]> {
    // The midnights of an all-day series are those of a zone that Graph does not always name.
    const slack = series.isAllDay ? DAY_MS : 0;
    const [from, until] = [starts.at(0) ?? 0, starts.at(-1) ?? 0];
    return this.#between(account, series, from - slack, until + slack + 60_000);
  }

  async #all(account: ProviderAccount, series: GraphEvent, endMs: number): Promise<Occurrence[]> {
    const begin = (series.start ? msOf(series.start) : 0) - BEHIND_MS;
    return this.#between(account, series, begin, endMs + BEHIND_MS);
  }

  async #between(
    account: ProviderAccount,
    series: GraphEvent,
    fromMs: number,
    untilMs: number,
  ): Promise<Occurrence[]> {
    const found = new Map<string, ListedInstance>();
    for (let from = fromMs; from < untilMs; from += MOST_WINDOW_MS) {
      const until = Math.min(from + MOST_WINDOW_MS, untilMs);
      for (const one of await this.#listed(account, series, from, until)) found.set(one.id, one);
    }
    return occurrencesOf(series, [...found.values()]);
  }

  #listed(
    account: ProviderAccount,
    series: GraphEvent,
    fromMs: number,
    untilMs: number,
  ): Promise<ListedInstance[]> {
    const query = {
      startDateTime: new Date(fromMs).toISOString(),
      endDateTime: new Date(untilMs).toISOString(),
      $select: 'id,type,start,originalStart',
      $top: PER_PAGE,
    };
    const request = { method: 'GET', path: `${pathOf(series.id)}/instances`, query } as const;
    return this.api.all(
      account,
      { ...request, priority: 'interactive', prefer: PREFER },
      listedInstance,
    );
  }
}

function occurrencesOf(series: GraphEvent, listed: readonly ListedInstance[]): Occurrence[] {
  const starts = originalStarts(series, listed);
  return listed.map(({ id, type }, index) => ({
    id,
    isException: type === 'exception',
    ...starts[index]!,
  }));
}

/** A rule that is read differently here proves nothing about deleted instances. */
function agree(found: readonly Occurrence[], expected: readonly number[], endMs: number): boolean {
  const known = new Set(expected);
  return found.every(({ originalMs: ms }) => known.has(ms) || ms >= endMs);
}

export const pathOf = (id: string): string => `/events/${enc(id)}`;

/** For a list of the instances of a series that lacks some of them now. */
export const incompleteSeries = (): ProviderError =>
  new ProviderError('temporary', 'Microsoft: the list of instances is not complete');
