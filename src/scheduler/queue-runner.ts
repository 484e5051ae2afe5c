import { Logger } from '@nestjs/common';
import { monotonicMs } from '../common/time/clock.ts';
import type { AnyDispatcher, ClaimedJob, Outcome, Settled } from '../common/work/dispatcher.ts';
import type { SqlPool } from '../database/sql.ts';
import { Batcher } from './batcher.ts';
import { type ClaimRow, queueStatements } from './queue-statements.ts';
import type { WorkerIdentity } from './worker-identity.ts';

/** Above this many rows the planner turns from the index to sorting everything that is due. */
const MOST_PER_CLAIM = 50;
const WINDOW = 64;
const WIDE_WINDOW = 400;
const FULL_SCAN_EVERY_MS = 10_000;
const FLOOR_SLACK_MS = 30_000;
/** A row that was in hand at this many deaths of its worker is set aside. */
const MOST_CRASHES = 5;
/** Due rows nearer than this get a timer of their own; later ones are seen by a later tick. */
export const LOOK_AHEAD_MS = 1_500;
const ERROR_PAUSE_MS = 1_000;
const HANDOFF_BATCH_MS = 5;
const SETTLE_BATCH_MS = 5;

interface HandOffRequest {
  job: ClaimedJob;
  answer(granted: boolean): void;
}

interface Run {
  job: ClaimedJob;
  epoch: number;
  abort: AbortController;
  /** Whether the marker has been committed. */
  handedOff: boolean;
  /** Set when the marker was refused: the outcome then means nothing. */
  refused: boolean;
}

interface Ending {
  run: Run;
  outcome: Outcome<unknown>;
}

/**
 * Runs one queue in this process: one claimer, a bounded number of rows at a time, hand-off markers and results
 * written in batches. Every write names the fence of its claim, so a row that was given back meanwhile is not
 * touched.
 */
export class QueueRunner {
  readonly #log: Logger;
  readonly #statements;
  readonly #runs = new Set<Run>();
  readonly #handOffs = new Batcher<HandOffRequest>((items) => this.#handOff(items), HANDOFF_BATCH_MS, 100);
  readonly #endings = new Batcher<Ending>((items) => this.#settle(items), SETTLE_BATCH_MS, 100);
  #active = false;
  #looping: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #window = WINDOW;
  #floor: Date | null = null;
  #fullScanAt = -Infinity;
  #woken = false;

  constructor(
    private readonly sql: SqlPool,
    private readonly identity: WorkerIdentity,
    private readonly dispatcher: AnyDispatcher,
  ) {
    this.#statements = queueStatements(dispatcher.table);
    this.#log = new Logger(`Queue ${dispatcher.table.queue}`);
  }

  /** Rows in hand. */
  get inFlight(): number {
    return this.#runs.size;
  }

  start(): void {
    this.#active = true;
    this.#looping = this.#loop();
  }

  /** There may be work now. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** There will be work in `ms` milliseconds. */
  wakeIn(ms: number): void {
    const at = monotonicMs() + ms;
    if (!this.#active || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Infinity;
        this.wake();
      },
      Math.max(0, ms),
    );
  }

  /** Everything in hand has become void: nothing of it may leave any more. */
  abandon(): void {
    for (const run of this.#runs) run.abort.abort();
  }

  /** Stops claiming, gives back what has had no effect yet, finishes the rest within the time. */
  async stop(limitMs: number): Promise<void> {
    this.#active = false;
    clearTimeout(this.#timer);
    this.#wake();
    await this.#looping;
    const begun = monotonicMs();
    while (this.#runs.size > 0 && monotonicMs() - begun < limitMs) {
      // Runs that need no marker may finish too, but not take all the time there is.
      if (monotonicMs() - begun > limitMs / 2) {
        for (const run of this.#runs) if (!run.handedOff) run.abort.abort();
      }
      await Promise.all([this.#handOffs.drain(), this.#endings.drain()]);
      if (this.#runs.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await this.#endings.drain();
  }

  async #loop(): Promise<void> {
    while (this.#active) {
      this.#woken = false;
      let more = false;
      try {
        const free = Math.min(this.dispatcher.slots - this.#runs.size, MOST_PER_CLAIM);
        if (free > 0 && this.identity.trusted()) {
          more = await this.#claim(free);
          if (!more) await this.#lookAhead();
        }
      } catch (error) {
        this.#log.warn(`claim failed: ${error instanceof Error ? error.message : String(error)}`);
        await new Promise((resolve) => setTimeout(resolve, ERROR_PAUSE_MS));
      }
      if (!more && !this.#woken && this.#active) {
        // Only a wake ends the sleep: a commit, a due time, a freed slot, or the tick of the engine.
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = () => undefined;
      }
    }
  }

  /** @returns whether another claim is worth while at once */
  async #claim(free: number): Promise<boolean> {
    const now = monotonicMs();
    const full = now - this.#fullScanAt > FULL_SCAN_EVERY_MS;
    const floor = full ? null : this.#floor;
    if (full) this.#fullScanAt = now;
    const epoch = this.identity.epoch;
    const rows = await this.sql.query<ClaimRow>(this.#statements.claim, [
      free,
      this.identity.id,
      floor ?? '-infinity',
      this.#window,
    ]);
    const [first] = rows;
    if (!first) {
      this.#window = WINDOW;
      return false;
    }
    this.#floor = new Date(first.lowest.getTime() - FLOOR_SLACK_MS);
    const windowFull = first.seen >= this.#window;
    this.#window = first.parked > 0 || (windowFull && rows.length < free) ? WIDE_WINDOW : WINDOW;
    for (const row of rows) void this.#run(row, epoch);
    return rows.length === free || windowFull;
  }

  /** Rows that are due before the next tick (parked ones above all) get a timer of their own. */
  async #lookAhead(): Promise<void> {
    const [next] = await this.sql.query<{ ms: number | null }>(this.#statements.next);
    if (next && next.ms !== null && next.ms < LOOK_AHEAD_MS) this.wakeIn(Math.max(next.ms, 1));
  }

  async #run(row: ClaimRow, epoch: number): Promise<void> {
    const { seen: _seen, parked: _parked, lowest: _lowest, crashes, ...job } = row;
    const run: Run = { job, epoch, abort: new AbortController(), handedOff: false, refused: false };
    this.#runs.add(run);
    let outcome: Outcome<unknown>;
    try {
      outcome =
        crashes >= MOST_CRASHES
          ? this.dispatcher.onPoison(job)
          : await this.dispatcher.run(job, {
              signal: run.abort.signal,
              trusted: () => run.epoch === this.identity.epoch && this.identity.trusted(),
              handOff: () => this.#askHandOff(run),
            });
    } catch (error) {
      if (!run.refused) this.#log.error(error);
      outcome = this.dispatcher.onError(job, error);
    }
    // Told to stop before anything had an effect: as if it had never been claimed.
    if (run.abort.signal.aborted && !run.handedOff) run.refused = true;
    this.#endings.add({ run, outcome });
  }

  #askHandOff(run: Run): Promise<boolean> {
    if (!this.#active || run.abort.signal.aborted) {
      run.refused = true;
      return Promise.resolve(false);
    }
    return new Promise((resolve) => {
      this.#handOffs.add({
        job: run.job,
        answer: (granted) => {
          const sure = granted && run.epoch === this.identity.epoch && this.identity.trusted();
          run.handedOff = granted;
          run.refused = !sure;
          resolve(sure);
        },
      });
    });
  }

  async #handOff(requests: HandOffRequest[]): Promise<void> {
    let granted = new Set<string>();
    try {
      const rows = await this.sql.query<{ id: string }>(this.#statements.handOff, [
        requests.map(({ job }) => job.id),
        requests.map(({ job }) => job.fence),
        this.identity.id,
      ]);
      granted = new Set(rows.map(({ id }) => id));
    } catch (error) {
      this.#log.warn(`hand-off failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    for (const { job, answer } of requests) answer(granted.has(job.id));
  }

  async #settle(endings: Ending[]): Promise<void> {
    const real = endings.filter(({ run }) => !run.refused);
    const refused = endings.filter(({ run }) => run.refused);
    try {
      if (refused.length > 0) await this.#release(refused);
      if (real.length > 0) await this.#settleTogether(real);
    } finally {
      for (const { run } of endings) this.#runs.delete(run);
      this.wake();
    }
  }

  /** Their dispatchers were told "no" and did nothing: the rows go back as if they had not been claimed. */
  async #release(endings: Ending[]): Promise<void> {
    try {
      await this.sql.query(this.#statements.release, [
        endings.map(({ run }) => run.job.id),
        endings.map(({ run }) => run.job.fence),
      ]);
    } catch (error) {
      this.#log.warn(`rows are left to the sweep: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #settleTogether(endings: Ending[]): Promise<void> {
    // A result is worth repeating for as long as nobody else can have taken the row.
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      try {
        await this.#write(endings);
        return;
      } catch (error) {
        const stale = endings.every(({ run }) => run.epoch !== this.identity.epoch);
        this.#log.error(error);
        if (stale || !isTransient(error)) break;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    if (endings.length === 1) return; // stays claimed until the sweep: looked at again, never lost
    // One bad record must not hold up its neighbours.
    for (const ending of endings) await this.#settleTogether([ending]);
  }

  async #write(endings: Ending[]): Promise<void> {
    const settled = await this.sql.transaction(async (sql) => {
      const done = endings.filter(({ outcome }) => outcome.next.kind === 'done');
      const again = endings.filter(({ outcome }) => outcome.next.kind === 'again');
      const ours = new Set<string>();
      if (done.length > 0) {
        const rows = await sql.query<{ id: string }>(this.#statements.finish, [
          done.map(({ run }) => run.job.id),
          done.map(({ run }) => run.job.fence),
        ]);
        for (const { id } of rows) ours.add(id);
      }
      if (again.length > 0) {
        const rows = await sql.query<{ id: string }>(this.#statements.again, [
          again.map(({ run }) => run.job.id),
          again.map(({ run }) => run.job.fence),
          again.map(({ outcome }) => (outcome.next.kind === 'again' ? outcome.next.at : null)),
          again.map(({ outcome }) => outcome.next.kind === 'again' && outcome.next.ambiguous),
        ]);
        for (const { id } of rows) ours.add(id);
      }
      const kept: Settled<ClaimedJob, unknown>[] = endings
        .filter(({ run }) => ours.has(run.job.id))
        .map(({ run, outcome }) => ({ job: run.job, ...outcome }));
      if (kept.length > 0) await this.dispatcher.record(sql, kept);
      return kept;
    });
    this.dispatcher.afterCommit?.(settled);
  }
}

/** Errors that may go away: connection trouble, deadlock, time-outs, a server that is starting or stopping. */
function isTransient(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string') return /terminated|timeout|ECONN/i.test(String(error));
  return /^(08|40|53|55P03|57)/.test(code) || /^E[A-Z]+$/.test(code);
}
