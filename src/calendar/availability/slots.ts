import { clipSpans, containment, gapsBetween, mergeSpans, type Span } from './spans.ts';

/** A meeting that takes more participants than it has. */
export interface GroupMeeting extends Span {
  eventId: string;
  /** Participants it has, and how many it may have. */
  taken: number;
  capacity: number;
}

/** Somebody whose time is asked for. */
export interface Person {
  email: string;
  busy: readonly Span[];
  /** They keep the person busy, but for who joins them. */
  groups: readonly GroupMeeting[];
  /** As `mergeSpans` gives them; null: at any time. */
  open: readonly Span[] | null;
}

/** Which times are looked at. Seconds. */
export interface Search {
  /** Meetings are within it. */
  range: Span;
  duration: number;
  /** From one possible start to the next; the first is that of the range. */
  interval: number;
  /** To be kept free before and after what people have. */
  buffer: number;
}

/** A time that is possible. */
export interface Slot extends Span {
  /** Who of them has time. */
  emails: string[];
  /** Of a group meeting that can be joined. */
  group?: GroupMeeting;
}

const blockedBy = (spans: readonly Span[], buffer: number): Span[] =>
  spans.map(({ start, end }) => ({ start: start - buffer, end: end + buffer }));

/** When all of them have time for a meeting of their own; as `mergeSpans` gives it. */
export function freeSpans(people: readonly Person[], { range, buffer }: Search): Span[] {
  const blocked = people.flatMap(({ busy, groups, open }) => [
    ...blockedBy(busy, buffer),
    ...blockedBy(groups, buffer),
    ...(open ? gapsBetween(open, range) : []),
  ]);
  return gapsBetween(mergeSpans(clipSpans(blocked, range)), range);
}

/** Possible starts of something that lasts `length`. */
function* startsIn({ range, interval }: Search, length: number): Generator<number> {
  for (let start = range.start; start + length <= range.end; start += interval) yield start;
}

/** Times at which everybody has time, and group meetings that all of the others could join; by start. */
export function collectiveSlots(people: readonly Person[], search: Search): Slot[] {
  const emails = people.map(({ email }) => email);
  const slots: Slot[] = [];
  for (const free of freeSpans(people, search)) {
    const steps = Math.ceil((free.start - search.range.start) / search.interval);
    let start = search.range.start + steps * search.interval;
    for (; start + search.duration <= free.end; start += search.interval)
      slots.push({ start, end: start + search.duration, emails });
  }
  const joinable = groupSlots(people, search).filter(
    ({ emails: free }) => free.length === people.length,
  );
  return joinable.length === 0
    ? slots
    : [...slots, ...joinable].toSorted((a, b) => a.start - b.start);
}

/** Times at which at least one of them has time, with who has, in the order of `people`; by start. */
export function anyoneSlots(people: readonly Person[], search: Search): Slot[] {
  const asked = people.map((person) => ({
    email: person.email,
    isFree: containment(freeSpans([person], search)),
  }));
  const slots: Slot[] = [];
  for (const start of startsIn(search, search.duration)) {
    const piece = { start, end: start + search.duration };
    const emails = asked.flatMap(({ email, isFree }) => (isFree(piece) ? email : []));
    if (emails.length > 0) slots.push({ ...piece, emails });
  }
  const joinable = groupSlots(people, search).map((slot) => ({
    ...slot,
    emails: slot.emails.slice(0, 1),
  }));
  return joinable.length === 0
    ? slots
    : [...slots, ...joinable].toSorted((a, b) => a.start - b.start);
}

/** Group meetings that fit the search, with who could be there: first whose meeting it is. */
function groupSlots(people: readonly Person[], search: Search): Slot[] {
  const { range, duration } = search;
  return people.flatMap((host) =>
    host.groups
      .filter(
        ({ start, end, taken, capacity }) =>
          taken < capacity && end - start === duration && start >= range.start && end <= range.end,
      )
      .flatMap((group): Slot[] => {
        const canBe = (person: Person): boolean => isFreeFor(person, group, search);
        if (!canBe(host)) return [];
        const others = people.filter((person) => person !== host && canBe(person));
        const emails = [host, ...others].map(({ email }) => email);
        return [{ start: group.start, end: group.end, emails, group }];
      }),
  );
}

/** Whether somebody has nothing but that meeting at its time. */
function isFreeFor(
  { busy, groups, open }: Person,
  group: GroupMeeting,
  { buffer }: Search,
): boolean {
  const isInTheWay = (one: Span): boolean =>
    one.start - buffer < group.end && one.end + buffer > group.start;
  return (
    !busy.some(isInTheWay) &&
    !groups.some((one) => one !== group && isInTheWay(one)) &&
    (open === null || containment(open)(group))
  );
}

/**
 * Chains of meetings that follow each other without a break, one with each group of people, in the order of the groups;
 * by start.
 */
export function consecutiveSlots(
  meetings: readonly (readonly Person[])[],
  search: Search,
): Slot[][] {
  const { duration } = search;
  const asked = meetings.map((people) => ({
    emails: people.map(({ email }) => email),
    isFree: containment(freeSpans(people, search)),
  }));
  const chains: Slot[][] = [];
  for (const begin of startsIn(search, duration * meetings.length)) {
    const chain = asked.map(({ emails }, index) => {
      const start = begin + index * duration;
      return { start, end: start + duration, emails };
    });
    if (asked.every(({ isFree }, index) => isFree(chain[index]!))) chains.push(chain);
  }
  return chains;
}
