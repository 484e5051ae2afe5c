/*
 * What a storm of reminders (reminder-storm.ts) must cause. Judges by the responses its caller
 * received, and by what has arrived outside the program. The functions are pure. All times are in
 * milliseconds since 1970, by the machine's one clock.
 */

/** An event as one answered request left it. */
export interface EventState {
  /** When the request was sent, and when its response arrived. */
  from: number;
  until: number;
  /** Due time of the reminders, or `null` if the event was cancelled. */
  due: number | null;
  /** Whether the last participant still takes part and has not declined. */
  lastStays: boolean;
  /** Version of the event's texts. */
  version: number;
}

/** A reminder that has arrived. */
export interface ArrivedReminder {
  event: number;
  /** For example `email 0`, `sms 3` or `webhook 1`. */
  slot: string;
  due: number;
  version: number;
  at: number;
  /** Message-ID, idempotency key, or `webhook-id`. */
  key: string;
}

/** The result of a storm. */
export interface StormCount {
  /** Reminders that were certainly wanted when they were due. */
  wanted: number;
  /** Reminders that arrived, repetitions not counted. */
  fired: number;
  /** Reminders that were wanted and never arrived. */
  missing: string[];
  /** Reminders that arrived under two keys, and emails that arrived twice. */
  doubled: string[];
  /**
   * Reminders that arrived too early, or for a time, event or participant that had been removed
   * before.
   */
  forbidden: string[];
  /** Reminders that arrived with texts that had been replaced before. */
  stale: string[];
  /**
   * Reminders that were sent before a change was answered and arrived after it: how many, and the
   * longest delay.
   */
  onTheirWay: number;
  onTheirWayMs: number;
  /**
   * Text messages and webhook deliveries that arrived again under the same key, because a worker
   * died between sending and storing the result.
   */
  repeated: number;
  /**
   * Delay of each reminder that arrived, counted from its due time or from its planning if that was
   * later; sorted.
   */
  latenessMs: number[];
}

/**
 * Number of participants of every event. Together with the webhooks it gives the reminder slots of
 * an event.
 */
export const PEOPLE = 4;
export const HOOKS = 2;
const SLOTS = [
  ...Array.from({ length: PEOPLE }, (_, index) => [`email ${index}`, `sms ${index}`]).flat(),
  ...Array.from({ length: HOOKS }, (_, index) => `webhook ${index}`),
];
const LAST = [`email ${PEOPLE - 1}`, `sms ${PEOPLE - 1}`];

/** Rows claimed by a dead worker may take this much longer. */
const RECOVERY_MS = 90_000;
/**
 * A reminder that is being sent while a change is made may arrive this long after the response: the
 * time of one sending on a busy machine.
 */
const ON_ITS_WAY_MS = 3_000;

/** A period in which one slot of an event had one due time. */
interface Run {
  due: number;
  /** When the request that began the period was answered. */
  since: number;
  /**
   * When the request that ended the period was sent and answered, or `null` if no request ended it.
   */
  end: { from: number; until: number } | null;
}

function runsOf(history: readonly EventState[], slot: string): Run[] {
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

/** The value below which `share` of the sorted numbers lie. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Compares the reminders that should have arrived with those that did. */
export function countStorm(
  histories: readonly (readonly EventState[])[],
  fires: readonly ArrivedReminder[],
): StormCount {
  const count: StormCount = {
    wanted: 0,
    fired: 0,
    missing: [],
    doubled: [],
    forbidden: [],
    stale: [],
    onTheirWay: 0,
    onTheirWayMs: 0,
    repeated: 0,
    latenessMs: [],
  };
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
  for (const name of arrived.keys()) count.forbidden.push(`${name}: no request asked for it`);
  count.latenessMs.sort((a, b) => a - b);
  return count;
}

function countRun(
  count: StormCount,
  name: string,
  { due, since, end }: Run,
  history: readonly EventState[],
  fires: readonly ArrivedReminder[],
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
    count.forbidden.push(`${name}: its due time was removed ${due - end.until} ms before it came`);
  for (const { at, version } of fires) {
    const after = end ? at - end.until : 0;
    if (after > 0) {
      count.onTheirWay += 1;
      count.onTheirWayMs = Math.max(count.onTheirWayMs, after);
    }
    if (after > ON_ITS_WAY_MS)
      count.forbidden.push(`${name}: arrived ${after} ms after it had been cancelled`);
    const newer = history.find(
      (state) => state.version > version && state.until < at - ON_ITS_WAY_MS,
    );
    if (newer) count.stale.push(`${name}: version ${version} instead of ${newer.version}`);
  }
}
