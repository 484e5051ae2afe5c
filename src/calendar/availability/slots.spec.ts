import { openSpans } from './open-hours.ts';
import { candidates, rotation } from './round-robin.ts';
import {
  anyoneSlots,
  collectiveSlots,
  consecutiveSlots,
  type Person,
  type Search,
} from './slots.ts';
import { clipSpans, gapsBetween, mergeSpans, type Span } from './spans.ts';

/** Random numbers between 0 and 1, the same for each run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Time zones, each with an instant shortly before its clocks change. */
const CHANGES: readonly [zone: string, before: string][] = [
  ['Europe/Berlin', '2026-03-28T12:00Z'],
  ['Europe/Berlin', '2026-10-24T12:00Z'],
  ['America/New_York', '2026-03-07T18:00Z'],
  ['America/New_York', '2026-10-31T18:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T00:00Z'],
  ['Pacific/Auckland', '2026-09-26T00:00Z'],
  ['America/Santiago', '2026-09-05T12:00Z'],
  ['Asia/Kolkata', '2026-05-01T00:00Z'],
  ['Pacific/Apia', '2011-12-29T12:00Z'],
];

/**
 * What local clocks show at a minute, computed with Intl: the weekday with Monday as 0, and the
 * minute of the day.
 */
class Clocks {
  readonly #shown = new Map<number, { day: number; minute: number }>();
  readonly #format: Intl.DateTimeFormat;

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      weekday: 'short',
      hour: 'numeric',
      minute: 'numeric',
      hourCycle: 'h23',
    });
  }

  at(minute: number): { day: number; minute: number } {
    let shown = this.#shown.get(minute);
    if (!shown) {
      const parts = Object.fromEntries(
        this.#format.formatToParts(minute * 60_000).map(({ type, value }) => [type, value]),
      );
      const day = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(parts['weekday'] ?? '');
      shown = { day, minute: Number(parts['hour']) * 60 + Number(parts['minute']) };
      this.#shown.set(minute, shown);
    }
    return shown;
  }
}
const clocks = new Map(CHANGES.map(([zone]) => [zone, new Clocks(zone)]));

interface Hours {
  days: number[];
  timezone: string;
  startMinute: number;
  endMinute: number;
}

/** A person in the reference model, which works minute by minute. */
interface Modelled {
  person: Person;
  hours: Hours[];
}

const isOpenAt = ({ days, timezone, startMinute, endMinute }: Hours, minute: number): boolean => {
  const shown = clocks.get(timezone)!.at(minute);
  const today = days.includes(shown.day);
  if (endMinute > startMinute)
    return today && shown.minute >= startMinute && shown.minute < endMinute;
  return (
    (today && shown.minute >= startMinute) ||
    (days.includes((shown.day + 6) % 7) && shown.minute < endMinute)
  );
};

const covers = ({ start, end }: Span, minute: number, buffer = 0): boolean =>
  start - buffer <= minute * 60 && minute * 60 < end + buffer;

/** True if the person is free for the whole span, ignoring the meeting `but`. */
function hasTime({ person, hours }: Modelled, time: Span, buffer: number, but?: Span): boolean {
  const all = [...person.busy, ...person.groups].filter((one) => one !== but);
  for (let minute = time.start / 60; minute < time.end / 60; minute += 1) {
    if (all.some((one) => covers(one, minute, buffer))) return false;
    if (hours.length > 0 && !hours.some((one) => isOpenAt(one, minute))) return false;
  }
  return true;
}

describe('possible times', () => {
  const random = randomFrom(46);
  const number = (low: number, high: number): number =>
    low + Math.floor(random() * (high - low + 1));
  const many = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: number(0, most) }, make);

  function world(): { people: Modelled[]; search: Search } {
    const [zone, before] = CHANGES[number(0, CHANGES.length - 1)]!;
    const from = Date.parse(before) / 60_000 + number(0, 12) * 30;
    const minutes = number(60, 3 * 1_440);
    const span = (): Span => {
      const start = (from + number(-300, minutes)) * 60;
      return { start, end: start + number(0, 400) * 60 };
    };
    const range = { start: from * 60, end: (from + minutes) * 60 };
    const duration = number(1, 8) * 15 * 60;
    const people = Array.from({ length: number(1, 4) }, (_, index): Modelled => {
      const hours = many(2, () => ({
        days: many(6, () => number(0, 6)),
        timezone: random() < 0.8 ? zone : CHANGES[number(0, CHANGES.length - 1)]![0],
        startMinute: number(0, 47) * 30,
        endMinute: number(0, 48) * 30,
      }));
      const groups = many(2, () => {
        const { start } = span();
        const end = start + (random() < 0.8 ? duration : duration + 60);
        return { start, end, eventId: `${index}`, taken: number(0, 2), capacity: 2 };
      });
      const open = hours.length > 0 ? openSpans(hours, range) : null;
      return {
        hours,
        person: { email: `${index}@example.test`, busy: many(5, span), groups, open },
      };
    });
    const buffer = random() < 0.5 ? 0 : number(1, 60) * 60;
    return { people, search: { range, duration, interval: number(1, 12) * 10 * 60, buffer } };
  }

  const startsOf = ({ range, interval }: Search, length: number): number[] => {
    const starts: number[] = [];
    for (let start = range.start; start + length <= range.end; start += interval)
      starts.push(start);
    return starts;
  };
  /** Group meetings that can be joined, with their host and whether everybody could attend. */
  const joinable = (people: Modelled[], { range, duration, buffer }: Search) =>
    people.flatMap((host) =>
      host.person.groups
        .filter((one) => one.taken < one.capacity && one.end - one.start === duration)
        .filter(({ start, end }) => start >= range.start && end <= range.end)
        .filter((one) => hasTime(host, one, buffer, one))
        .map((one) => ({
          start: one.start,
          host: host.person.email,
          everybody: people.every((other) => hasTime(other, one, buffer, one)),
        })),
    );

  it('match a minute-by-minute model, also while clocks change', () => {
    let found = 0;
    for (let run = 0; run < 600; run += 1) {
      const { people, search } = world();
      const { duration, buffer } = search;
      const persons = people.map(({ person }) => person);
      const piece = (start: number) => ({ start, end: start + duration });
      const free = (one: Modelled, start: number): boolean => hasTime(one, piece(start), buffer);
      const starts = startsOf(search, duration);
      const groups = joinable(people, search);

      const all = starts.filter((start) => people.every((one) => free(one, start)));
      const joined = groups.filter(({ everybody }) => everybody).map(({ start }) => start);
      const collective = collectiveSlots(persons, search).map(({ start }) => start);
      expect(collective).toEqual([...all, ...joined].toSorted((a, b) => a - b));

      const some = starts.flatMap((start) => {
        const names = people.flatMap((one) => (free(one, start) ? one.person.email : []));
        return names.length > 0 ? `${start} ${names.join()}` : [];
      });
      const hosted = groups.map(({ start, host }) => `${start} ${host}`);
      const anyone = anyoneSlots(persons, search).map(
        ({ start, emails }) => `${start} ${emails.join()}`,
      );
      expect(anyone.toSorted()).toEqual([...some, ...hosted].toSorted());

      const meetings = Array.from({ length: number(1, 3) }, () =>
        people.filter(() => random() < 0.6),
      );
      const chains = startsOf(search, duration * meetings.length).filter((start) =>
        meetings.every((group, index) => group.every((one) => free(one, start + index * duration))),
      );
      const wanted = meetings.map((group) => group.map(({ person }) => person));
      const consecutive = consecutiveSlots(wanted, search);
      expect(consecutive.map(([first]) => first?.start)).toEqual(chains);
      expect(
        consecutive.every((chain) =>
          chain.every(({ start }, at) => start === chain[0]!.start + at * duration),
        ),
      ).toBe(true);
      found += collective.length + anyone.length + consecutive.length;
    }
    expect(found).toBeGreaterThan(5_000);
  });

  it('include joinable group meetings and the people who could attend', () => {
    const range = { start: 0, end: 7_200 };
    const group = { start: 900, end: 2_700, eventId: 'class', taken: 1, capacity: 3 };
    const host = { email: 'ada@example.test', busy: [], groups: [group], open: null };
    const guest = {
      email: 'bo@example.test',
      busy: [{ start: 0, end: 900 }],
      groups: [],
      open: null,
    };
    const search = { range, duration: 1_800, interval: 1_800, buffer: 0 };
    expect(collectiveSlots([guest, host], search)).toEqual([
      { start: 900, end: 2_700, emails: ['ada@example.test', 'bo@example.test'], group },
      { start: 3_600, end: 5_400, emails: ['bo@example.test', 'ada@example.test'] },
      { start: 5_400, end: 7_200, emails: ['bo@example.test', 'ada@example.test'] },
    ]);
    expect(
      collectiveSlots([{ ...guest, busy: [{ start: 2_600, end: 7_200 }] }, host], search),
    ).toEqual([]);
    expect(
      collectiveSlots([host], { ...search, duration: 3_600 }).map(({ start }) => start),
    ).toEqual([3_600]);
  });
});

describe('spans', () => {
  it('are merged if they overlap or touch', () => {
    const spans = [
      { start: 5, end: 7 },
      { start: 1, end: 3 },
      { start: 3, end: 4 },
      { start: 6, end: 9 },
      { start: 8, end: 8 },
    ];
    expect(mergeSpans(spans)).toEqual([
      { start: 1, end: 4 },
      { start: 5, end: 9 },
    ]);
    expect(gapsBetween(mergeSpans(spans), { start: 2, end: 12 })).toEqual([
      { start: 4, end: 5 },
      { start: 9, end: 12 },
    ]);
    expect(clipSpans(spans, { start: 2, end: 6 })).toEqual([
      { start: 5, end: 6 },
      { start: 2, end: 3 },
      { start: 3, end: 4 },
    ]);
  });
});

describe('a rotation', () => {
  const last = new Map([
    ['a', 30],
    ['b', 10],
    ['c', 20],
  ]);

  it('begins with people without a meeting, then those whose latest meeting is longest ago', () => {
    expect(rotation(['a', 'b', 'c', 'd', 'e'], last)).toEqual(['d', 'e', 'b', 'c', 'a']);
    expect(rotation(['b', 'a'], new Map())).toEqual(['b', 'a']);
  });

  it('offers all people, or for fairness the first half of the order', () => {
    const order = ['d', 'b', 'c'];
    expect(candidates(order, 'max-availability')).toEqual(order);
    expect(candidates(order, 'max-fairness')).toEqual(['d', 'b']);
  });
});
