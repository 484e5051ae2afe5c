import { Injectable, Logger } from '@nestjs/common';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { admitPage, type Listing } from '../../platform/database/listing.ts';
import type { EventQuery } from './event-query.ts';
import type { EventRecord } from './event-record.ts';
import { EventsRepository, type SeriesRecord } from './events.repository.ts';
import {
  type InstanceName,
  instanceOf,
  instancesBetween,
  isWithin,
  readInstanceId,
  type TimeBounds,
} from './recurrence/instances.ts';
import { openSeries, type Series, TooManyOccurrencesError } from './recurrence/series.ts';

/** A participant is an object of its own, which takes several times as much memory as its text. */
const PARTICIPANT_BYTES = 400;
/** About what an event takes in an answer: each time of a series repeats what may be half a megabyte. */
const bytesOf = ({ title, description, location, participants }: EventRecord): number =>
  title.length + description.length + location.length + participants.length * PARTICIPANT_BYTES;

/** Without an upper bound instances are told for so long from now, or from the lower bound. */
const HORIZON_MS = 366 * 86_400_000;
/** The first piece of time that is looked at; each next one is twice as long. */
const FIRST_PIECE_MS = 32 * 86_400_000;
const DAY_MS = 86_400_000;
/**
 * Processor time for the rules of one series, of all unusual rules, and of all rules, for one answer. A quarter of the first one is
 * enough for an hourly rule over a year. Rules from elsewhere may be as wild as they like.
 */
const MOST_SERIES_MS = 600;
const MOST_UNUSUAL_MS = 1_500;
const MOST_WORK_MS = 5_000;
/** Unusual rules are worked out for so long at a time. */
const MOST_PIECE_MS = 128 * 86_400_000;
/** Other requests are answered in between after this. */
const TURN_MS = 25;
/** Series that took too long are not tried again for a while; so many are remembered. */
const WILD_FOR_MS = 600_000;
const MOST_WILD = 10_000;
/** Instances of one answer, those before its page included. */
const MOST_INSTANCES = 20_000;

interface Expandable {
  master: SeriesRecord;
  series: Series;
  /** Processor time that it took so far. */
  spentMs: number;
}

/** What one answer has taken so far: milliseconds of processor time, and when it last let others go on. */
interface Spent {
  allMs: number;
  unusualMs: number;
  turnBegan: number;
}

/** Recurring events as their instances (`expand_recurring`, api facts 7.3). */
@Injectable()
export class ExpandedEvents {
  readonly #log = new Logger(ExpandedEvents.name);
  /** Until when a series that took too long is passed, on the clock of `performance`; by its id and last change. */
  readonly #wild = new Map<string, number>();

  constructor(
    private readonly repository: EventsRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Single events, and instances of series in the place of the series, by start; paged after that.
   * @throws {InvalidInputError} when there are too many of them @throws {PageTooLargeError}
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

  /** An instance by its id: as it was changed by itself, or as the rules say; undefined: there is none. */
  async find(accountId: string, id: string): Promise<EventRecord | undefined> {
    const name = readInstanceId(id);
    if (!name) return undefined;
    const { masterId, startMs } = name;
    const changed = await this.repository.findInstance(accountId, masterId, new Date(startMs));
    if (changed && !changed.released) return changed;
    const master = await this.repository.findSeries(accountId, masterId);
    const occurrence = master && openSeries(master)?.at(startMs);
    return (master && occurrence && instanceOf(master, occurrence)) ?? changed;
  }

  /** The one instance that an id means, where it is what its series says and within the bounds. */
  #named(
    masters: readonly SeriesRecord[],
    bounds: TimeBounds,
    { startMs }: InstanceName,
  ): EventRecord[] {
    const instances = masters.flatMap((master) => {
      const occurrence = master.replaced.includes(startMs)
        ? undefined
        : openSeries(master)?.at(startMs);
      return occurrence ? [instanceOf(master, occurrence)] : [];
    });
    return instances.filter((instance) => isWithin(instance, bounds));
  }

  /** The earliest of them, as many as are wanted: piece of time by piece of time, until there are enough. */
  async #instances(
    masters: readonly SeriesRecord[],
    bounds: TimeBounds,
    end: Date,
    wanted: number,
  ): Promise<EventRecord[]> {
    const spent: Spent = { allMs: 0, unusualMs: 0, turnBegan: performance.now() };
    let expandables: Expandable[] = [];
    for (const master of masters) {
      expandables.push(...this.#open(master));
      await breathe(spent);
    }
    const first = expandables.reduce(
      (least, { master }) => Math.min(least, master.startsAt.getTime()),
      Infinity,
    );
    const found: EventRecord[] = [];
    let from = Math.max(first, this.#lowestStart(bounds, expandables));
    for (let piece = FIRST_PIECE_MS; from < end.getTime() && found.length < wanted; piece *= 2) {
      const before = Math.min(from + piece, end.getTime());
      const left = new Set<Expandable>();
      for (const one of expandables) {
        const instances = await this.#expandOne(one, from, before, spent);
        if (!instances) left.add(one);
        for (const instance of instances ?? [])
          if (isWithin(instance, bounds)) found.push(instance);
        if (found.length > MOST_INSTANCES) throw tooMany();
        await breathe(spent);
      }
      if (left.size > 0) expandables = this.#without(left, expandables);
      from = before;
    }
    return found;
  }

  /** @returns null for a series that is left out from now on */
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
      if (this.#wild.size >= MOST_WILD) this.#wild.clear();
      this.#wild.set(nameOf(one.master), performance.now() + WILD_FOR_MS);
    }
    return instances;
  }

  /** What ends after an instant may begin before it. */
  #lowestStart({ startsAfter, endsAfter }: TimeBounds, expandables: readonly Expandable[]): number {
    const longest = expandables.reduce(
      (most, { master: { startsAt, endsAt } }) =>
        Math.max(most, endsAt.getTime() - startsAt.getTime()),
      0,
    );
    return Math.max(
      startsAfter?.getTime() ?? -Infinity,
      endsAfter ? endsAfter.getTime() - longest : -Infinity,
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

  /** A series that came from elsewhere with rules that take too long must not take all lists of the account with it. */
  #without(left: ReadonlySet<Expandable>, expandables: readonly Expandable[]): Expandable[] {
    for (const { master } of left)
      this.#log.warn(
        `event ${master.id}: its recurrence has too many times, or takes too long to be worked out`,
      );
    return expandables.filter((one) => !left.has(one));
  }

  /** A series that came from elsewhere with rules nobody understands has no instances: it is passed. */
  #open(master: SeriesRecord): Expandable[] {
    const wildUntil = this.#wild.get(nameOf(master)) ?? 0;
    if (wildUntil > performance.now()) return [];
    const series = openSeries(master);
    if (series) return [{ master, series, spentMs: 0 }];
    this.#log.debug(`event ${master.id}: its recurrence cannot be read`);
    return [];
  }
}

const nameOf = ({ id, updatedAt }: SeriesRecord): string => `${id} ${updatedAt.getTime()}`;

/** Lets other requests be answered after a turn. */
async function breathe(spent: Spent): Promise<void> {
  if (performance.now() - spent.turnBegan < TURN_MS) return;
  await new Promise((resolve) => setImmediate(resolve));
  spent.turnBegan = performance.now();
}

/** Of this thread alone: how busy the machine is must not decide which events are listed. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Instances in a piece of time; null: there are too many on a single day, or they take too long. */
async function expand(
  one: Expandable,
  fromMs: number,
  beforeMs: number,
  spent: Spent,
): Promise<EventRecord[] | null> {
  if (one.spentMs > MOST_SERIES_MS) return null;
  await breathe(spent);
  const span = beforeMs - fromMs;
  try {
    // The library cannot be stopped: unusual rules are worked out in pieces that it does in a few milliseconds.
    if (one.series.isUsual || span <= MOST_PIECE_MS) return workOut(one, fromMs, beforeMs, spent);
  } catch (error) {
    if (!(error instanceof TooManyOccurrencesError)) throw error;
    if (span <= DAY_MS) return null;
    // Whatever has too many times on its first day need not be halved down to it.
    if (!(await expand(one, fromMs, fromMs + DAY_MS, spent))) return null;
  }
  const middle = Math.floor((fromMs + beforeMs) / 2);
  const first = await expand(one, fromMs, middle, spent);
  if (!first || first.length > MOST_INSTANCES) return first;
  const second = await expand(one, middle, beforeMs, spent);
  return second && [...first, ...second];
}

/** Instances in a piece of time, counted for what they cost. @throws {TooManyOccurrencesError} */
function workOut(one: Expandable, fromMs: number, beforeMs: number, spent: Spent): EventRecord[] {
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
    'expand_recurring: it takes too long to be worked out; narrow it by starts_after, starts_before or another filter',
  );

const tooMany = () =>
  new InvalidInputError(
    `expand_recurring: more than ${MOST_INSTANCES} events; narrow it by starts_after, starts_before or another filter`,
  );

const byStart = (a: EventRecord, b: EventRecord): number =>
  a.startsAt.getTime() - b.startsAt.getTime() || (a.id < b.id ? -1 : 1);
