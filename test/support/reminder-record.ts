/*
 * What a storm of reminders (reminder-storm.ts) must bring about, by what its caller was answered and what has arrived outside.
 * Pure: everything is in milliseconds since 1970, by the one clock of the machine.
 */

/** An event as one answered request has left it. */
export interface Told {
  /** When the request was sent, and when its answer came. */
  from: number;
  until: number;
  /** Null: the event was cancelled. */
  due: number | null;
  /** Whether the last participant is still one, and has not declined. */
  lastStays: boolean;
  /** Of its texts. */
  version: number;
}

/** Something that has arrived. */
export interface Fire {
  event: number;
  /** `email 0`, `sms 3`, `webhook 1`. */
  slot: string;
  due: number;
  version: number;
  at: number;
  /** Message-ID, idempotency key, or `webhook-id`. */
  key: string;
}

/** What a storm came to. */
export interface StormCount {
  /** Reminders whose event surely wanted them when they were due. */
  wanted: number;
  /** Reminders that arrived, repetitions not counted. */
  fired: number;
  /** Wanted, and never arrived. */
  missing: string[];
  /** Arrived under two keys, or an email twice. */
  doubled: string[];
  /** Arrived for a time, an event or a participant that had gone before, or before its time. */
  forbidden: string[];
  /** Arrived with words that had been replaced before. */
  stale: string[];
  /** Left before a change was answered and arrived after that: how many, and how long after at most. */
  onTheirWay: number;
  onTheirWayMs: number;
  /** Texts and webhooks that came again under the same key: a worker died between sending and noting it. */
  repeated: number;
  /** Of each reminder that arrived, from its time, or from its planning if that was later; sorted. */
  latenessMs: number[];
}

/** The slots of every event. */
export const PEOPLE = 4;
export const HOOKS = 2;
const SLOTS = [
  ...Array.from({ length: PEOPLE }, (_, index) => [`email ${index}`, `sms ${index}`]).flat(),
  ...Array.from({ length: HOOKS }, (_, index) => `webhook ${index}`),
];
const LAST = [`email ${PEOPLE - 1}`, `sms ${PEOPLE - 1}`];

/** What a dead worker held may take so long. */
const RECOVERY_MS = 90_000;
/** What leaves at the moment of a change may arrive so long after its answer: the time of one sending on a busy machine. */
const ON_ITS_WAY_MS = 3_000;

/** A time during which one slot of an event had one due time. */
interface Run {
  due: number;
  /** Answered. */
  since: number;
  /** When the request that ended it was sent and answered; null: nothing did. */
  end: { from: number; until: number } | null;
}

function runsOf(history: readonly Told[], slot: string): Run[] {
  const runs: Run[] = [];
  let open: Run | null = null;
  for (const { from, until, due, lastStays } of history) {
    const now = LAST.includes(slot) && !lastStays ? null : due;
    if (open && open.due === now) continue;
    if (open) open.end = { from, until };
    open = now === null ? null : { due: now, since: until, end: null };
    if (open) runs.push(open);
  }
  return runs;
}

/** The place of a value in sorted numbers. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Compares what should have come with what has. */
export function countStorm(
  histories: readonly (readonly Told[])[],
  fires: readonly Fire[],
): StormCount {
  const count: StormCount = {
    wanted: 0, fired: 0, missing: [], doubled: [], forbidden: [], stale: [], onTheirWay: 0, onTheirWayMs: 0,
    repeated: 0, latenessMs: [],
  }; // prettier-ignore
  const arrived = Map.groupBy(fires, ({ event, slot, due }) => `${event} ${slot} ${due}`);
  for (const [event, history] of histories.entries()) {
    for (const slot of SLOTS) {
      for (const run of runsOf(history, slot)) {
        const name = `${event} ${slot} ${run.due}`;
        countRun(count, name, run, history, arrived.get(name) ?? []);
        arrived.delete(name);
      }
    }
  }
  for (const name of arrived.keys()) count.forbidden.push(`${name}: nobody had asked for it`);
  count.latenessMs.sort((a, b) => a - b);
  return count;
}

function countRun(
  count: StormCount,
  name: string,
  { due, since, end }: Run,
  history: readonly Told[],
  fires: readonly Fire[],
): void {
  const ready = Math.max(due, since);
  if (!end || end.from >= ready + RECOVERY_MS) {
    count.wanted += 1;
    if (fires.length === 0) count.missing.push(name);
  }
  if (fires.length === 0) return;
  const first = Math.min(...fires.map(({ at }) => at));
  count.fired += 1;
  count.latenessMs.push(first - ready);
  const again = fires.length - 1;
  if (again > 0 && (name.includes('email') || new Set(fires.map(({ key }) => key)).size > 1)) {
    count.doubled.push(name);
  } else count.repeated += again;
  if (first < due) count.forbidden.push(`${name}: ${due - first} ms early`);
  if (end && end.until <= due)
    count.forbidden.push(`${name}: gone ${due - end.until} ms before its time`);
  for (const { at, version } of fires) {
    const after = end ? at - end.until : 0;
    if (after > 0) {
      count.onTheirWay += 1;
      count.onTheirWayMs = Math.max(count.onTheirWayMs, after);
    }
    if (after > ON_ITS_WAY_MS)
      count.forbidden.push(`${name}: ${after} ms after it had been taken back`);
    const newer = history.find((told) => told.version > version && told.until < at - ON_ITS_WAY_MS);
    if (newer) count.stale.push(`${name}: version ${version} instead of ${newer.version}`);
  }
}
