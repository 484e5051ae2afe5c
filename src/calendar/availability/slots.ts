import { clipSpans, containment, gapsBetween, mergeSpans, type Span } from './spans.ts';

/** An event that more participants can join. */
export interface GroupMeeting extends Span {
  eventId: string;
  /** Current number of participants, and the largest number allowed. */
  taken: number;
  capacity: number;
}

/** A person whose availability is requested. */
export interface Person {
  email: string;
  busy: readonly Span[];
  /** Group meetings keep the person busy, except for people who join them. */
  groups: readonly GroupMeeting[];
  /** When the person can be met, as returned by `mergeSpans`; `null` means at any time. */
  open: readonly Span[] | null;
}

/** The times to search. All durations are in seconds. */
export interface Search {
  /** Meetings must lie within the range. */
  range: Span;
  duration: number;
  /** Time from one possible start to the next. The first start is the start of the range. */
  interval: number;
  /** Time to keep free before and after busy times. */
  buffer: number;
}

/** A possible time for a meeting. */
export interface Slot extends Span {
  /** Addresses of the people who are available. */
  emails: string[];
  /** Set if the slot is a group meeting that can be joined. */
  group?: GroupMeeting;
}

const blockedBy = (spans: readonly Span[], buffer: number): Span[] =>
  spans.map(({ start, end }) => ({ start: start - buffer, end: end + buffer }));

/** When all of the people are free for a new meeting, as returned by `mergeSpans`. */
export function freeSpans(people: readonly Person[], { range, buffer }: Search): Span[] {
  const blocked = people.flatMap(({ busy, groups, open }) => [
    ...blockedBy(busy, buffer),
    ...blockedBy(groups, buffer),
    ...(open ? gapsBetween(open, range) : []),
  ]);
  return gapsBetween(mergeSpans(clipSpans(blocked, range)), range);
}

/** Possible starts of a meeting that lasts `length`. */
function* startsIn({ range, interval }: Search, length: number): Generator<number> {
  for (let start = range.start; start + length <= range.end; start += interval) yield start;
}

/**
 * Times at which all people are free, and group meetings that all of them could attend; ordered by
 * start.
 */
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

/**
 * Times at which at least one person is free, with the free people in the order of `people`;
 * ordered by start.
 */
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

/** Group meetings that fit the search, with the people who could attend; the host comes first. */
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

/** True if the person has no other meeting at the time of the group meeting. */
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
 * Chains of meetings without a break, one meeting for each group of people, in the order of the
 * groups. Ordered by start.
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
