import { Injectable, Logger } from '@nestjs/common';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { admitPage, type Listing } from '../../../platform/database/listing.ts';
import type { EventQuery } from '../event-query.ts';
import type { EventRecord } from '../event-record.ts';
import { EventsRepository, type SeriesRecord } from '../events.repository.ts';
import {
  type InstanceName,
  instanceOf,
  instancesBetween,
  isWithin,
  readInstanceId,
  type TimeBounds,
} from '../recurrence/instances.ts';
import { TooManyOccurrencesError } from '../../../formats/recurrence/rules.ts';
import { openSeries, type Series } from '../../../formats/recurrence/series.ts';

/** Memory for one participant. The parsed object takes several times as much memory as its text. */
const PARTICIPANT_BYTES = 400;
/**
 * Approximate size of an event in a response. A series of up to half a megabyte is repeated for
 * each instance.
 */
const bytesOf = ({ title, description, location, participants }: EventRecord): number =>
  title.length + description.length + location.length + participants.length * PARTICIPANT_BYTES;

/**
 * How far a list without an upper bound reaches: from now, or from the lower bound if that is
 * later.
 */
const HORIZON_MS = 366 * 86_400_000;
/** Length of the first time span that is expanded; each later span is twice as long. */
const FIRST_SPAN_MS = 32 * 86_400_000;
const DAY_MS = 86_400_000;
/**
 * Limits of processor time for one response, in milliseconds: for the rules of one series, for all
 * unusual rules, and for all rules. An hourly rule over a year needs a quarter of the first limit.
 * Rules from other calendar programs can be arbitrarily expensive.
 */
const MOST_SERIES_MS = 600;
const MOST_UNUSUAL_MS = 1_500;
const MOST_WORK_MS = 5_000;
/** Longest time span for which an unusual rule is expanded at once. */
const MOST_UNUSUAL_SPAN_MS = 128 * 86_400_000;
/** After this time slice, the event loop gets a chance to serve other requests. */
const TIME_SLICE_MS = 25;
/**
 * A series that took too long is skipped for this time. At most `MOST_SLOW` such series are
 * remembered.
 */
const SLOW_FOR_MS = 600_000;
const MOST_SLOW = 10_000;
/** Most instances of one response, including those before its page. */
const MOST_INSTANCES = 20_000;

interface Expandable {
  master: SeriesRecord;
  series: Series;
  /** Processor time that the series has taken so far. */
  spentMs: number;
}

/** Processor time that one response has taken so far, and when its current time slice began. */
interface Spent {
  allMs: number;
  unusualMs: number;
  sliceBegan: number;
}

/** Lists recurring events as their instances (`expand_recurring`). */
@Injectable()
export class ExpandedEvents {
  readonly #log = new Logger(ExpandedEvents.name);
  /**
   * Series that took too long, by id and last change. The value is the time until which the series
   * is skipped, on the clock of `performance`.
   */
  readonly #slowUntil = new Map<string, number>();

  constructor(
    private readonly repository: EventsRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Lists single events and instances of series, ordered by start. The page is cut from the ordered
   * list.
   * @throws {InvalidInputError} if there are too many events, or the rules take too long to
   *   expand
   * @throws {PageTooLargeError}
   */
  async list(accountId: string, query: EventQuery): Promise<Listing<EventRecord>> {
    const { limit, offset, view } = query;
    const wanted = view === 'count' ? MOST_INSTANCES : limit + offset;
    if (wanted > MOST_INSTANCES) throw tooMany();
    const name = query.eventId === undefined ? undefined : readInstanceId(query.eventId);
    const end = name ? new Date(name.startMs + 2 * DAY_MS) : this.#endOf(query);
    const [single, masters] = await Promise.all([
      this.repository.listSingle(accountId, query, wanted),
      this.repository.listSeries(
        accountId,
        name ? { ...query, eventId: name.masterId } : query,
        end,
      ),
    ]);
    const instances = name
      ? this.#named(masters, query, name)
      : await this.#instances(masters, query, end, wanted);
    const events = [...single, ...instances].sort(byStart);
    if (view === 'count') {
      if (events.length >= MOST_INSTANCES) throw tooMany();
      return { view, count: events.length };
    }
    const items = events.slice(offset, offset + limit);
    if (view === 'ids') return { view, ids: items.map(({ id }) => id) };
    const bytes = items.reduce((sum, event) => sum + bytesOf(event), 0);
    return admitPage(items.length, bytes, async () => ({ view: 'items', items }));
  }

  /**
   * Finds an instance by its id: the changed instance if there is one, else the instance that the
   * rules give. `undefined` if no such instance exists.
   */
  async find(accountId: string, id: string): Promise<EventRecord | undefined> {
    const name = readInstanceId(id);
    if (!name) return undefined;
    const { masterId, startMs } = name;
    const changed = await this.repository.findInstance(accountId, masterId, new Date(startMs));
    if (changed && !changed.released) return changed;
    const master = await this.repository.findSeries(accountId, masterId);
    const occurrence = master && openSeries(master).at(startMs);
    return (master && occurrence && instanceOf(master, occurrence)) ?? changed;
  }

  /** The instance that an id names, if it was not changed on its own and lies within the bounds. */
  #named(
    masters: readonly SeriesRecord[],
    bounds: TimeBounds,
    { startMs }: InstanceName,
  ): EventRecord[] {
    const instances = masters.flatMap((master) => {
      const occurrence = master.replaced.includes(startMs)
        ? undefined
        : openSeries(master).at(startMs);
      return occurrence ? [instanceOf(master, occurrence)] : [];
    });
    return instances.filter((instance) => isWithin(instance, bounds));
  }

  /**
   * The earliest instances, at least `wanted` of them if there are so many. Expands one time span
   * after the other until there are enough.
   */
  async #instances(
    masters: readonly SeriesRecord[],
    bounds: TimeBounds,
    end: Date,
    wanted: number,
  ): Promise<EventRecord[]> {
    const spent: Spent = { allMs: 0, unusualMs: 0, sliceBegan: performance.now() };
    let expandables: Expandable[] = [];
    for (const master of masters) {
      expandables.push(...this.#open(master));
      await yieldAfterSlice(spent);
    }
    const first = expandables.reduce(
      (least, { master }) => Math.min(least, master.startsAt.getTime()),
      Infinity,
    );
    const found: EventRecord[] = [];
    let from = Math.max(first, this.#lowestStart(bounds, expandables));
    for (let span = FIRST_SPAN_MS; from < end.getTime() && found.length < wanted; span *= 2) {
      const before = Math.min(from + span, end.getTime());
      const tooSlow = new Set<Expandable>();
      for (const one of expandables) {
        const instances = await this.#expandOne(one, from, before, spent);
        if (!instances) tooSlow.add(one);
        for (const instance of instances ?? [])
          if (isWithin(instance, bounds)) found.push(instance);
        if (found.length > MOST_INSTANCES) throw tooMany();
        await yieldAfterSlice(spent);
      }
      if (tooSlow.size > 0) expandables = this.#without(tooSlow, expandables);
      from = before;
    }
    return found;
  }

  /** @returns `null` if the series must be left out from now on */
  async #expandOne(
    one: Expandable,
    from: number,
    before: number,
    spent: Spent,
  ): Promise<EventRecord[] | null> {
    if (one.master.startsAt.getTime() >= before) return [];
    if (spent.allMs > MOST_WORK_MS) throw tooMuch();
    if (!one.series.isUsual && spent.unusualMs > MOST_UNUSUAL_MS) return null;
    const instances = await expand(one, from, before, spent);
    if (!instances && one.spentMs > MOST_SERIES_MS) {
      if (this.#slowUntil.size >= MOST_SLOW) this.#slowUntil.clear();
      this.#slowUntil.set(nameOf(one.master), performance.now() + SLOW_FOR_MS);
    }
    return instances;
  }

  /**
   * The earliest start that can match. An event that ends after `endsAfter` may begin before it.
   * Instances that last days can be an hour longer than the first one.
   */
  #lowestStart({ startsAfter, endsAfter }: TimeBounds, expandables: readonly Expandable[]): number {
    const longest = expandables.reduce(
      (most, { master: { startsAt, endsAt } }) =>
        Math.max(most, endsAt.getTime() - startsAt.getTime()),
      0,
    );
    return Math.max(
      startsAfter?.getTime() ?? -Infinity,
      endsAfter ? endsAfter.getTime() - longest - DAY_MS : -Infinity,
    );
  }

  #endOf({ startsBefore, endsBefore, startsAfter, endsAfter }: TimeBounds): Date {
    const given = [startsBefore, endsBefore].flatMap((bound) => (bound ? [bound.getTime()] : []));
    if (given.length > 0) return new Date(Math.min(...given));
    const lower = Math.max(
      startsAfter?.getTime() ?? 0,
      endsAfter?.getTime() ?? 0,
      this.clock.now().getTime(),
    );
    return new Date(lower + HORIZON_MS);
  }

  /**
   * Drops series that are too expensive, so that one series from another calendar program cannot
   * make every list of the account fail.
   */
  #without(tooSlow: ReadonlySet<Expandable>, expandables: readonly Expandable[]): Expandable[] {
    for (const { master } of tooSlow)
      this.#log.warn(
        `event ${master.id}: left out of the expanded list, because its recurrence has too many instances or takes too long to expand`,
      );
    return expandables.filter((one) => !tooSlow.has(one));
  }

  /** Opens a series, unless it took too long before. */
  #open(master: SeriesRecord): Expandable[] {
    const skippedUntil = this.#slowUntil.get(nameOf(master)) ?? 0;
    if (skippedUntil > performance.now()) return [];
    return [{ master, series: openSeries(master), spentMs: 0 }];
  }
}

const nameOf = ({ id, updatedAt }: SeriesRecord): string => `${id} ${updatedAt.getTime()}`;

/** Lets the event loop serve other requests if the time slice is over. */
async function yieldAfterSlice(spent: Spent): Promise<void> {
  if (performance.now() - spent.sliceBegan < TIME_SLICE_MS) return;
  await new Promise((resolve) => setImmediate(resolve));
  spent.sliceBegan = performance.now();
}

/**
 * Processor time of this thread, in milliseconds. Wall-clock time would let the machine's load
 * decide which events are listed.
 */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Instances in a time span; `null` if a single day has too many of them, or they take too long. */
async function expand(
  one: Expandable,
  fromMs: number,
  beforeMs: number,
  spent: Spent,
): Promise<EventRecord[] | null> {
  if (one.spentMs > MOST_SERIES_MS) return null;
  await yieldAfterSlice(spent);
  const span = beforeMs - fromMs;
  try {
    // The library cannot be interrupted, so unusual rules are expanded in spans that take a few
    // milliseconds each.
    if (one.series.isUsual || span <= MOST_UNUSUAL_SPAN_MS)
      return expandTimed(one, fromMs, beforeMs, spent);
  } catch (error) {
    if (!(error instanceof TooManyOccurrencesError)) throw error;
    if (span <= DAY_MS) return null;
    // Try the first day alone. If it already has too many instances, halving the span further is
    // useless.
    if (!(await expand(one, fromMs, fromMs + DAY_MS, spent))) return null;
  }
  const middle = Math.floor((fromMs + beforeMs) / 2);
  const first = await expand(one, fromMs, middle, spent);
  if (!first || first.length > MOST_INSTANCES) return first;
  const second = await expand(one, middle, beforeMs, spent);
  return second && [...first, ...second];
}

/**
 * Expands a series over a time span and records the processor time.
 * @throws {TooManyOccurrencesError}
 */
function expandTimed(
  one: Expandable,
  fromMs: number,
  beforeMs: number,
  spent: Spent,
): EventRecord[] {
  const began = processorMs();
  try {
    return instancesBetween(one.master, one.series, fromMs, beforeMs);
  } finally {
    const ms = processorMs() - began;
    one.spentMs += ms;
    spent.allMs += ms;
    if (!one.series.isUsual) spent.unusualMs += ms;
  }
}

const tooMuch = () =>
  new InvalidInputError(
    'expand_recurring: expanding the recurring events takes too long; narrow the list with starts_after, starts_before or another filter',
  );

const tooMany = () =>
  new InvalidInputError(
    `expand_recurring: more than ${MOST_INSTANCES} events match; narrow the list with starts_after, starts_before or another filter`,
  );

const byStart = (a: EventRecord, b: EventRecord): number =>
  a.startsAt.getTime() - b.startsAt.getTime() || (a.id < b.id ? -1 : 1);
