import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { monotonicMs } from '../base/time/clock.ts';
import type { AnyDispatcher, LateRow, Lease } from './dispatcher.ts';
import { databaseTrouble } from '../database/database-trouble.ts';
import type { SqlPool } from '../database/sql.ts';
import { Batcher } from './batcher.ts';
import {
  type ClaimRow, type ClaimSummary, FIRST_SUSPECTS, MOST_CRASHES, MOST_PER_CLAIM,
} from './claim-statement.ts'; // prettier-ignore
import { type HandedRun, HandOffs } from './hand-offs.ts';
import { queueStatements } from './queue-statements.ts';
import { type Ending, SETTLE_BATCH, Settler } from './settler.ts';
import type { WorkerIdentity } from './worker-identity.ts';
import { backoff } from './backoff.ts';

/** Candidates looked at for the rows wanted, at most: gates may be full. Each is locked, which costs a write. */
const WIDEST_WINDOW = 400;
const FULL_SCAN_EVERY_MS = 10_000;
const FLOOR_SLACK_MS = 30_000;
/** Due rows nearer than this get a timer of their own; later ones are seen by a later tick. */
export const LOOK_AHEAD_MS = 1_500;
/** Claims of one queue are at least so far apart: what comes one by one is taken together. */
const CLAIM_EVERY_MS = 5;
/** While a claim could take only few: it costs nearly the same for one row as for many. */
const REFILL_EVERY_MS = 30;
/** Pause after an error, and until a due row that somebody has locked is asked for again, at most. */
const PAUSE_MS = { first: 10, longest: 1_000 };
/** Ended runs whose results are not written yet take nobody's place, up to so many. */
const MOST_UNWRITTEN = 400;
/** With so many rows of a gate in hand it takes more, whatever has become of them. */
const FEW_OF_ONE = 4;
/** Every so often hand and database are compared, also when nothing seems wrong. */
const COMPARE_EVERY_MS = 10_000;
/** Nothing takes so long: the run is told to stop. Connectors have limits of their own, far below. */
const LONGEST_RUN_MS = 15 * 60_000;
/** A run that has not stopped by then is given up: its row goes to somebody else. */
const STOP_WITHIN_MS = 60_000;

interface Run extends HandedRun {
  /** Deaths of workers that had it in hand. */
  crashes: number;
  epoch: number;
  begunMs: number;
  abort: AbortController;
  /** Whether it is over, and only its result has to be written. */
  ended: boolean;
}

/**
 * Runs one queue in this process: one claimer, a bounded number of rows at a time, hand-off markers and results
 * written in batches. What is in hand here and what the database says this worker holds are the same, but for moments:
 * where an answer was lost, `reclaim` brings them together again.
 */
export class QueueRunner {
  readonly #log: Logger;
  readonly #statements;
  readonly #settler: Settler;
  readonly #runs = new Set<Run>();
  readonly #handOffs: HandOffs<Run>;
  readonly #endings = new Batcher<Ending & { run: Run }>(
    (items) => this.#settle(items),
    SETTLE_BATCH,
  );
  #active = false;
  #looping: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  /** Share of the last candidates that found a place at their gates: it tells how many to look at for the next rows. */
  #fitting = 1;
  #claimedAt = -Infinity;
  /** Runs that have ended and are being written down. */
  #ended = 0;
  #floor: Date | null = null;
  #fullScanAt = -Infinity;
  /** Claims in a row that saw nothing of what is due. */
  #blindClaims = 0;
  #woken = false;
  /** An answer was lost or a result could not be written: rows may be ours without our knowing. */
  #doubtful = false;
  #comparedAt = monotonicMs();
  /** Rows of runs that never ended. */
  readonly #endless = new Set<string>();
  #telling: Promise<void> = Promise.resolve();

  constructor(
    private readonly sql: SqlPool,
    private readonly identity: WorkerIdentity,
    private readonly dispatcher: AnyDispatcher,
  ) {
    this.#statements = queueStatements(dispatcher.table, Boolean(dispatcher.recordLate));
    this.#handOffs = new HandOffs(dispatcher.table.queue, sql, identity, this.#statements, {
      isOurs: (run) => this.#isOurs(run),
      mayBegin: ({ abort }) => this.#active && !abort.signal.aborted,
    });
    this.#settler = new Settler(sql, this.#statements, dispatcher);
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
    this.#doubtful = true;
  }

  /** Housekeeping of each tick: ends what takes too long, has hand and database compared when that is due. */
  tend(): void {
    const now = monotonicMs();
    for (const run of this.#runs) {
      if (now - run.begunMs > LONGEST_RUN_MS) run.abort.abort();
      if (now - run.begunMs <= LONGEST_RUN_MS + STOP_WITHIN_MS) continue;
      this.#log.error(`row ${run.job.id} did not end: it is given up`);
      this.#runs.delete(run);
      this.#endless.add(run.job.id);
      this.#doubtful = true;
    }
    if (this.#mustCompare()) this.wake();
  }

  /** Stops claiming, gives back what has had no effect yet, finishes the rest within the time. */
  async stop(limitMs: number): Promise<void> {
    this.#active = false;
    clearTimeout(this.#timer);
    this.#wake();
    const begun = monotonicMs();
    const limit = delay(limitMs, undefined, { ref: false }).then(() => this.#settler.giveUp());
    await Promise.race([limit, this.#looping]);
    while (this.#runs.size > 0 && monotonicMs() - begun < limitMs) {
      // Runs that need no marker may finish too, but not take all the time there is.
      if (monotonicMs() - begun > limitMs / 2) {
        for (const run of this.#runs) if (!run.handedOff) run.abort.abort();
      }
      const drained = Promise.all([this.#handOffs.drain(), this.#endings.drain()]);
      await Promise.race([limit, drained]);
      if (this.#runs.size > 0) await delay(10);
    }
    this.#settler.giveUp();
    await Promise.race([limit, this.#telling]);
    if (this.#runs.size > 0) await this.#forgive();
  }

  /** What is still in hand others will give back: an orderly stop is no death. */
  async #forgive(): Promise<void> {
    try {
      await this.sql.query(this.#statements.forgive, [this.identity.id]);
    } catch (error) {
      this.#log.warn(
        `rows in hand may be blamed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  async #loop(): Promise<void> {
    while (this.#active) {
      this.#woken = false;
      let more = false;
      try {
        if (this.identity.trusted()) {
          if (this.#mustCompare()) await this.#compare();
          const free = Math.min(this.#free(), MOST_PER_CLAIM);
          if (free > 0 && !this.#tooSoon(free)) more = await this.#claim(free);
        }
      } catch (error) {
        // It may have been carried out all the same.
        this.#doubtful = true;
        this.#log.warn(`claim failed: ${error instanceof Error ? error.message : String(error)}`);
        await delay(PAUSE_MS.longest);
      }
      if (!more && !this.#woken && this.#active) {
        // Only a wake ends the sleep: a commit, a due time, a freed slot, or the tick of the engine.
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = () => undefined;
      }
    }
  }

  #free(): number {
    const unwritten = Math.min(this.#ended, MOST_UNWRITTEN);
    const slots = this.dispatcher.slots - (this.#runs.size - unwritten);
    const { mostUnbegun } = this.dispatcher;
    if (mostUnbegun === undefined) return slots;
    const unbegun = [...this.#runs].filter(({ handedOff }) => !handedOff).length;
    return Math.min(slots, mostUnbegun - unbegun);
  }

  /** Whether the last claim was a moment ago: then the next one comes by itself. */
  #tooSoon(free: number): boolean {
    const { slots, mostUnbegun = slots, claimEveryMs = CLAIM_EVERY_MS } = this.dispatcher;
    const few = free < Math.min(slots / 2, mostUnbegun / 2, MOST_PER_CLAIM);
    const leftMs =
      this.#claimedAt + Math.max(claimEveryMs, few ? REFILL_EVERY_MS : 0) - monotonicMs();
    if (leftMs <= 0) return false;
    this.wakeIn(Math.ceil(leftMs));
    return true;
  }

  /** @returns whether another claim is worth while at once */
  async #claim(free: number): Promise<boolean> {
    const now = (this.#claimedAt = monotonicMs());
    const window = Math.min(Math.ceil(free / this.#fitting), WIDEST_WINDOW);
    const full = now - this.#fullScanAt > FULL_SCAN_EVERY_MS;
    const floor = full ? null : this.#floor;
    if (full) this.#fullScanAt = now;
    const epoch = this.identity.epoch;
    const rows = await this.sql.query<ClaimRow>(this.#statements.claim, [
      free,
      this.identity.id,
      floor ?? '-infinity',
      window,
      Math.max(0, FIRST_SUSPECTS - this.#suspects()),
      this.#unwritten(),
    ]);
    const { seen, parked, lowestMs, late, nextMs, passedOver } = (
      rows[0] as { summary: ClaimSummary }
    ).summary;
    if (late) this.#telling = this.#telling.then(() => this.#tellLate(late));
    const taken = rows.flatMap((row) => (row.id === null ? [] : [{ ...row, id: row.id }]));
    if (lowestMs !== null) this.#floor = new Date(lowestMs - FLOOR_SLACK_MS);
    if (seen > 0) this.#blindClaims = 0;
    const windowFull = seen >= window;
    this.#fitting = seen > 0 ? (seen - parked) / seen : 1;
    // Somebody has very much due, and others wait behind it.
    if (windowFull && parked > 0) this.#claimedAt = -Infinity;
    for (const row of taken) void this.#run(row, epoch);
    if (taken.length === free || windowFull) return true;
    this.#lookAhead(nextMs, passedOver);
    return false;
  }

  #suspects(): number {
    let count = 0;
    for (const { crashes } of this.#runs) if (crashes > 0 && crashes < MOST_CRASHES) count += 1;
    return count;
  }

  /** Rows whose runs have ended, where there are so many of one gate that they could keep others out. */
  #unwritten(): string[] {
    const held = new Map<string, number>();
    for (const { job } of this.#runs) held.set(job.gateId, (held.get(job.gateId) ?? 0) + 1);
    return [...this.#runs].flatMap(({ job, ended }) =>
      ended && (held.get(job.gateId) ?? 0) > FEW_OF_ONE ? [job.id] : [],
    );
  }

  /** Not more than a courtesy: when it fails, the rows run all the same. */
  async #tellLate(late: readonly LateRow[]): Promise<void> {
    try {
      await this.sql.transaction(
        (sql) => this.dispatcher.recordLate?.(sql, late) ?? Promise.resolve(),
      );
    } catch (error) {
      this.#log.warn(
        `late rows were not told: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  /** Rows that are due before the next tick (parked ones above all) get a timer of their own. */
  #lookAhead(nextMs: number | null, passedOver: boolean): void {
    if (passedOver) {
      // Due, and yet not seen: somebody has it locked, or it lies below the floor.
      this.#fullScanAt = -Infinity;
      this.#blindClaims += 1;
      this.wakeIn(backoff(PAUSE_MS, this.#blindClaims));
    } else if (nextMs !== null && nextMs < LOOK_AHEAD_MS) this.wakeIn(Math.max(nextMs, 1));
  }

  #mustCompare(): boolean {
    return this.#doubtful || monotonicMs() - this.#comparedAt > COMPARE_EVERY_MS;
  }

  /** Between two claims, so that no claim of ours is on its way. */
  async #compare(): Promise<void> {
    this.#doubtful = false;
    this.#comparedAt = monotonicMs();
    const jobs = [...this.#runs].map(({ job }) => job);
    const blamed = [...this.#endless, ...this.#settler.takeUnwritable()];
    this.#endless.clear();
    const rows = await this.sql.query(this.#statements.reclaim, [
      this.identity.id,
      jobs.map(({ id }) => id),
      jobs.map(({ fence }) => fence),
      blamed,
    ]);
    if (rows.length > 0)
      this.#log.warn(`${rows.length} rows were held without being in hand: given back`);
  }

  async #run(row: ClaimRow & { id: string }, epoch: number): Promise<void> {
    const { summary: _summary, crashes, gateMarked, ...job } = row;
    const run: Run = {
      job,
      crashes,
      epoch,
      begunMs: monotonicMs(),
      abort: new AbortController(),
      marked: false,
      handedOff: false,
      refused: false,
      ended: false,
    };
    this.#runs.add(run);
    try {
      const { outcome, waitMs } = await this.#outcomeOf(run);
      run.ended = true;
      this.#ended += 1;
      this.#endings.add({ run, job, waitMs, gateMarked, outcome: run.refused ? null : outcome });
      this.wake();
    } catch (error) {
      // Not even its dispatcher can say how it ended.
      this.#log.error(error);
      this.#runs.delete(run);
      this.#doubtful = true;
    }
  }

  async #outcomeOf(run: Run): Promise<Pick<Ending, 'outcome' | 'waitMs'>> {
    const { job, crashes } = run;
    if (crashes >= MOST_CRASHES) return { outcome: this.dispatcher.onPoison(job), waitMs: 0 };
    try {
      const loaded = this.#statements.load === null ? undefined : await this.#handOffs.load(run);
      return { outcome: await this.dispatcher.run(job, this.#lease(run), loaded), waitMs: 0 };
    } catch (error) {
      if (!run.handedOff) {
        // Our own database was away before anything was done: that is nobody's attempt.
        if (databaseTrouble(error)) return { outcome: null, waitMs: PAUSE_MS.longest };
        if (run.abort.signal.aborted) return { outcome: null, waitMs: 0 };
      }
      this.#log.error(error);
      return { outcome: this.dispatcher.onError(job, error), waitMs: 0 };
    }
  }

  #lease(run: Run): Lease {
    return {
      signal: run.abort.signal,
      trusted: () => this.#isOurs(run),
      handOff: () => this.#askHandOff(run),
      stopping: () => !this.#active,
    };
  }

  #isOurs({ epoch, abort }: Run): boolean {
    return epoch === this.identity.epoch && this.identity.trusted() && !abort.signal.aborted;
  }

  async #askHandOff(run: Run): Promise<boolean> {
    const granted = await this.#handOffs.ask(run);
    // There may be room for rows that have not begun.
    if (this.dispatcher.mostUnbegun !== undefined) this.wake();
    return granted;
  }

  async #settle(endings: (Ending & { run: Run })[]): Promise<void> {
    const written = await this.#settler.settle(endings);
    this.#ended -= endings.length;
    for (const { run } of endings) this.#runs.delete(run);
    this.#doubtful ||= !written;
    this.wake();
  }
}
