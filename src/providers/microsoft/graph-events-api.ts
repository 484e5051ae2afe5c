import { z } from 'zod';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { ProviderAccount } from '../port/connector.ts';
import { ignoreGone, nullIfGone } from '../rest/gone.ts';
import type { GraphApi, GraphRequest } from './graph-api.ts';
import { EVENT_FIELDS, type GraphEvent, graphEvent, startOfSeries } from './graph-event.ts';
import { startsBefore } from './graph-recurrence.ts';
import { DAY_MS, dayOf, graphTime, IN_UTC, msOf } from './graph-time.ts';

const enc = encodeURIComponent;
const PREFER = [IN_UTC, 'outlook.body-content-type="text"'];
const PER_PAGE = 500;
/** Graph refuses longer windows. */
const MOST_WINDOW_MS = 1_825 * DAY_MS;
/** How far ahead the instances of a series are read. */
const HORIZON_MS = 3 * 366 * DAY_MS;
/** Instances that somebody has moved behind the last start of their series. */
const BEHIND_MS = 366 * DAY_MS;

const occurrence = z.object({
  id: z.string(),
  type: z.string(),
  start: graphTime,
  originalStart: z.string().nullish(),
});

/** An instance of a series, without its content. */
export interface Occurrence {
  id: string;
  isException: boolean;
  /** Start that the rule of the series gives it, in Unix milliseconds. */
  originalMs: number;
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

  /** @throws {ProviderError} `not-found` */
  get(account: ProviderAccount, id: string): Promise<GraphEvent> {
    return this.read(account, {
      method: 'GET',
      path: pathOf(id),
      query: { $select: EVENT_FIELDS },
    });
  }

  /** Like `get`; `null` if the event does not exist. */
  find(account: ProviderAccount, id: string): Promise<GraphEvent | null> {
    return nullIfGone(this.get(account, id));
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
    await ignoreGone(this.api.send(account, request));
  }

  /** The instance of a series with this start, changed or not; `null` if it was deleted. */
  async occurrenceAt(
    account: ProviderAccount,
    series: GraphEvent,
    originalMs: number,
  ): Promise<Occurrence | null> {
    // The midnights of an all-day series are those of a zone that Graph does not always name.
    const slack = series.isAllDay ? DAY_MS : 0;
    const near = await this.#instances(account, series, originalMs - slack, originalMs + slack + 60_000); // prettier-ignore
    const found = near.find((one) => one.originalMs === originalMs);
    if (found) return found;
    // Somebody may have moved it to another time.
    const all = await this.#all(account, series, originalMs + HORIZON_MS);
    return all.find((one) => one.originalMs === originalMs) ?? null;
  }

  /** The changed and deleted instances of a series. */
  async stateOf(account: ProviderAccount, series: GraphEvent): Promise<SeriesState> {
    const start = startOfSeries(series);
    if (!start || !series.recurrence) return { exceptions: [], excluded: [] };
    const horizon = Math.max(this.clock.now().getTime(), start.wallMs) + HORIZON_MS;
    const expected = startsBefore(series.recurrence, start, horizon);
    const isEndless = series.recurrence.range.type === 'noEnd';
    const endMs = isEndless ? horizon : (expected.at(-1) ?? start.wallMs) + DAY_MS;
    const found = await this.#all(account, series, endMs);
    const present = new Set(found.map(({ originalMs }) => originalMs));
    const known = new Set(expected);
    // A rule that is read differently here proves nothing about deleted instances.
    const agrees = [...present].every((ms) => known.has(ms) || ms >= endMs);
    return {
      exceptions: found.filter(({ isException }) => isException),
      excluded: agrees ? expected.filter((ms) => !present.has(ms)) : [],
    };
  }

  async #all(account: ProviderAccount, series: GraphEvent, endMs: number): Promise<Occurrence[]> {
    const begin = (series.start ? msOf(series.start) : 0) - BEHIND_MS;
    const found = new Map<string, Occurrence>();
    for (let from = begin; from < endMs + BEHIND_MS; from += MOST_WINDOW_MS) {
      const until = Math.min(from + MOST_WINDOW_MS, endMs + BEHIND_MS);
      for (const one of await this.#instances(account, series, from, until)) found.set(one.id, one);
    }
    return [...found.values()];
  }

  async #instances(
    account: ProviderAccount,
    series: GraphEvent,
    fromMs: number,
    untilMs: number,
  ): Promise<Occurrence[]> {
    const query = {
      startDateTime: new Date(fromMs).toISOString(),
      endDateTime: new Date(untilMs).toISOString(),
      $select: 'id,type,start,originalStart',
      $top: PER_PAGE,
    };
    const request = { method: 'GET', path: `${pathOf(series.id)}/instances`, query } as const;
    const found = await this.api.all(
      account,
      { ...request, priority: 'interactive', prefer: PREFER },
      occurrence,
    );
    return found.map((one) => ({
      id: one.id,
      isException: one.type === 'exception',
      originalMs: originalOf(series, one),
    }));
  }
}

/**
 * Start that the rule of a series gives an instance. Of all-day series it is the day: Graph reports
 * the midnight of the zone in which the series was made.
 */
function originalOf(series: GraphEvent, { originalStart, start }: z.infer<typeof occurrence>) {
  const ms = originalStart ? Date.parse(originalStart) : msOf(start);
  return series.isAllDay ? dayOf(ms, series.originalStartTimeZone) : ms;
}

export const pathOf = (id: string): string => `/events/${enc(id)}`;
