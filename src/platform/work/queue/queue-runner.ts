import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { monotonicMs } from '../../base/time/clock.ts';
import { type AnyDispatcher, type LateRow, type Lease, PostponedError } from './dispatcher.ts';
import { databaseTrouble } from '../../database/health/database-trouble.ts';
import type { SqlPool } from '../../database/sql.ts';
import { outsideSpans, traceparentOf } from '../../tracing/spans.ts';
import { Batcher } from '../../base/concurrency/batcher.ts';
import { ClaimComparison } from './claim-comparison.ts';
import { ClaimPace, PAUSE_MS } from './claim-pace.ts';
import {
  type ClaimResultRow,
  type ClaimSummary,
  FIRST_SUSPECTS,
  MOST_CRASHES,
  MOST_PER_CLAIM,
} from './claim-statement.ts';
import { HandOffs } from './hand-offs.ts';
import { queueStatements } from './queue-statements.ts';
import type { QueueName } from '../signals.ts';
import type { Run } from './run.ts';
import { beginRun, endRun, quarantined, withinRun } from './run-records.ts';
import { type Ending, SETTLE_BATCH, Settler } from './settler.ts';
import type { WorkerIdentity } from '../workers/worker-identity.ts';
import { queueErrors } from '../../metrics/queue-metrics.ts';
import { countRuns, noteStart } from './run-metrics.ts';

/** Ended runs whose results are not written yet take no slot, up to this number. */
const MOST_UNWRITTEN = 400;
/**
 * If a rate gate has at most this many claimed rows, more rows fit anyway (the default limit is 8).
 * Its ended runs then need no special treatment.
 */
const FEW_PER_GATE = 4;
/** A run that takes longer than this is aborted. Connectors have limits of their own, far below. */
const LONGEST_RUN_MS = 15 * 60_000;
/**
 * An aborted run that has not stopped after this time is given up, and its row goes back to the
 * queue.
 */
const STOP_WITHIN_MS = 60_000;

/** The connections of the engine. */
export interface EnginePools {
  /** For claims, loading and hand-offs. */
  work: SqlPool;
  /** For results. */
  results: SqlPool;
}

/**
 * Runs one queue in this process: one claim at a time, a limited number of rows at a time. It
 * writes hand-off markers and results in batches.
 *
 * The runs of this process match the rows that the database shows as claimed by this worker. They
 * differ only briefly, or after the response to a statement was lost. Then `reclaim` gives back the
 * rows that have no run here.
 */
export class QueueRunner {
  readonly #log: Logger;
  readonly #statements;
  readonly #settler: Settler;
  readonly #runs = new Set<Run>();
  readonly #handOffs: HandOffs<Run>;
  readonly #comparison: ClaimComparison;
  readonly #endings: Batcher<Ending & { run: Run }>;
  #active = false;
  #looping: Promise<void> = Promise.resolve();
  /** Whether a claim should follow. */
  #wanted = true;
  /** Whether the last look at the queue left due rows behind, because all slots were taken. */
  #left = false;
  #wake: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  readonly #pace: ClaimPace;
  /** How many runs have ended and wait for their results to be written. */
  #ended = 0;
  #reportingLate: Promise<void> = Promise.resolve();

  constructor(
    private readonly pools: EnginePools,
    private readonly identity: WorkerIdentity,
    private readonly dispatcher: AnyDispatcher,
    private readonly onOverflow: (queue: QueueName) => void,
  ) {
    const { work, results } = pools;
    this.#statements = queueStatements(dispatcher.table, Boolean(dispatcher.recordLate));
    this.#handOffs = new HandOffs(dispatcher.table.queue, work, identity, this.#statements, {
      isOurs: (run) => this.#isOurs(run),
      mayBegin: ({ abort }) => this.#active && !abort.signal.aborted,
    });
    this.#settler = new Settler(results, this.#statements, dispatcher);
    const { reclaim } = this.#statements;
    this.#comparison = new ClaimComparison(dispatcher.table.queue, work, identity, reclaim);
    this.#pace = new ClaimPace(dispatcher);
    const { resultsWaitMs: delayMs = SETTLE_BATCH.delayMs } = dispatcher;
    this.#endings = new Batcher((items) => outsideSpans(() => this.#settle(items)), {
      ...SETTLE_BATCH,
      delayMs,
    });
    this.#log = new Logger(`Queue ${dispatcher.table.queue}`);
  }

  /** Number of runs in flight, including those whose results are being written. */
  get inFlight(): number {
    return this.#runs.size;
  }

  start(): void {
    this.#active = true;
    this.#looping = this.#loop();
  }

  /** Starts a claim as soon as possible, because there may be work. */
  wake(): void {
    this.#wanted = true;
    this.#wake();
  }

  /** A slot is free again. Without due rows that were left behind, a claim would find nothing. */
  #freed(): void {
    if (this.#left) this.wake();
  }

  /** Starts a claim in `ms` milliseconds, because work becomes due then. */
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

  /**
   * Aborts runs whose claims are void: no run may have a further effect.
   * @param which all, or only those that were not handed off. The others send nothing more either,
   *   but wait for the answer to what they have sent.
   */
  abandon(which: 'all' | 'unbegun' = 'all'): void {
    for (const run of this.#runs) if (which === 'all' || !run.handedOff) run.abort.abort();
    this.#comparison.doubt();
  }

  /**
   * Housekeeping of each tick: aborts runs that take too long, and starts the comparison with the
   * database if that is due.
   */
  tend(): void {
    const now = monotonicMs();
    for (const run of this.#runs) {
      if (now - run.begunMs > LONGEST_RUN_MS) run.abort.abort();
      if (now - run.begunMs <= LONGEST_RUN_MS + STOP_WITHIN_MS) continue;
      this.#log.error(
        `row ${run.row.id} did not stop after it was aborted; it goes back to the queue`,
      );
      this.#forget(run);
      this.#comparison.noteEndless(run.row.id);
    }
    if (this.#comparison.isDue) this.#wake();
  }

  /**
   * Stops claiming and gives back rows that had no effect yet. The other runs may finish within
   * `limitMs`.
   */
  async stop(limitMs: number): Promise<void> {
    this.#active = false;
    clearTimeout(this.#timer);
    this.#wake();
    const begun = monotonicMs();
    const limit = delay(limitMs, undefined, { ref: false }).then(() => this.#settler.giveUp());
    await Promise.race([limit, this.#looping]);
    while (this.#runs.size > 0 && monotonicMs() - begun < limitMs) {
      // Runs that need no hand-off marker may finish too, but after half of the time they are
      // aborted.
      if (monotonicMs() - begun > limitMs / 2) {
        for (const run of this.#runs) if (!run.handedOff) run.abort.abort();
      }
      const drained = Promise.all([this.#handOffs.drain(), this.#endings.drain()]);
      await Promise.race([limit, drained]);
      if (this.#runs.size > 0) await delay(10);
    }
    this.#settler.giveUp();
    await Promise.race([limit, this.#reportingLate]);
    if (this.#runs.size > 0) await this.#forgive();
  }

  /**
   * Other workers will give back the rows that are still claimed. An orderly stop must not count as
   * a death of their worker.
   */
  async #forgive(): Promise<void> {
    try {
      await this.pools.work.query(this.#statements.forgive, [this.identity.id]);
    } catch (error) {
      this.#log.warn(
        `could not mark unfinished rows; they will be retried as if this worker had crashed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  async #loop(): Promise<void> {
    while (this.#active) {
      const wanted = this.#wanted;
      this.#wanted = false;
      try {
        if (this.identity.trusted()) {
          if (this.#comparison.isDue) await this.#compare();
          if (wanted) await this.#look();
        }
      } catch (error) {
        // The claim may have been committed although its response was lost.
        this.#comparison.doubt();
        this.#left = true;
        this.#log.warn(`claim failed: ${error instanceof Error ? error.message : String(error)}`);
        await delay(PAUSE_MS.longest);
      }
      if (!this.#wanted && this.#active) {
        // Only a wake ends the sleep: a commit, a due time, a freed slot, or a tick of the engine.
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = () => undefined;
      }
    }
  }

  /** Claims as many rows as there are free slots. Other workers learn of rows that are left. */
  async #look(): Promise<void> {
    const free = Math.min(this.#free(), MOST_PER_CLAIM);
    if (free > 0 && this.#tooSoon(free)) return;
    await this.dispatcher.beforeClaim?.(this.pools.work);
    this.#left = free <= 0 || (await this.#claim(free));
    if (!this.#left) return;
    if (free > 0) this.#wanted = true;
    this.onOverflow(this.dispatcher.table.queue);
  }

  #free(): number {
    const unwritten = Math.min(this.#ended, MOST_UNWRITTEN);
    const slots = this.dispatcher.slots - (this.#runs.size - unwritten);
    const { mostBeforeHandOff } = this.dispatcher;
    if (mostBeforeHandOff === undefined) return slots;
    const unbegun = [...this.#runs].filter(({ handedOff }) => !handedOff).length;
    return Math.min(slots, mostBeforeHandOff - unbegun);
  }

  /** Whether the last claim is too recent. If so, a timer for the next one is set. */
  #tooSoon(free: number): boolean {
    const leftMs = this.#pace.leftMs(free);
    if (leftMs <= 0) return false;
    this.wakeIn(Math.ceil(leftMs));
    return true;
  }

  /** @returns whether another claim should follow at once */
  async #claim(free: number): Promise<boolean> {
    const scope = this.#pace.begin(free);
    const { id: worker, epoch } = this.identity;
    this.#comparison.noteClaim();
    const rows = await this.pools.work.query<ClaimResultRow>(this.#statements.claim, [
      free,
      worker,
      scope.floor ?? '-infinity',
      scope.window,
      Math.max(0, FIRST_SUSPECTS - this.#suspects()),
      this.#unwritten(),
      scope.newest,
    ]);
    const { summary } = rows[0] as { summary: ClaimSummary };
    const { late } = summary;
    if (late) this.#reportingLate = this.#reportingLate.then(() => this.#reportLate(late));
    const taken = rows.flatMap((row) => (row.id === null ? [] : [{ ...row, id: row.id }]));
    const next = this.#pace.end(scope, summary, taken.length === free);
    for (const row of taken) void this.#run(row, { worker, epoch });
    if (next.inMs !== null) this.wakeIn(next.inMs);
    return next.atOnce;
  }

  #suspects(): number {
    let count = 0;
    for (const { crashes } of this.#runs) if (crashes > 0 && crashes < MOST_CRASHES) count += 1;
    return count;
  }

  /**
   * Ids of claimed rows whose runs have ended. Only rate gates with more than a few claimed rows
   * are included, because only there could an ended run keep another row from being claimed.
   */
  #unwritten(): string[] {
    const claimed = new Map<string, number>();
    for (const { row } of this.#runs) claimed.set(row.gateId, (claimed.get(row.gateId) ?? 0) + 1);
    return [...this.#runs].flatMap(({ row, ended }) =>
      ended && (claimed.get(row.gateId) ?? 0) > FEW_PER_GATE ? [row.id] : [],
    );
  }

  /** Reports late rows to the dispatcher. If that fails, the rows still run. */
  async #reportLate(late: readonly LateRow[]): Promise<void> {
    try {
      await this.pools.work.transaction(
        (sql) => this.dispatcher.recordLate?.(sql, late) ?? Promise.resolve(),
      );
    } catch (error) {
      this.#log.warn(`could not report late rows: ${String(error)}`);
    }
  }

  #compare(): Promise<void> {
    const rows = [...this.#runs].map(({ row }) => row);
    return this.#comparison.run(rows, this.#settler.takeUnwritable());
  }

  async #run(
    claimed: ClaimResultRow & { id: string },
    claim: Pick<Run, 'worker' | 'epoch'>,
  ): Promise<void> {
    const { summary: _summary, crashes, gateMarked, lateSeconds: _late, ...row } = claimed;
    noteStart(this.dispatcher.table, claimed);
    const run: Run = {
      row,
      crashes,
      ...claim,
      begunMs: monotonicMs(),
      abort: new AbortController(),
      marked: false,
      handedOff: false,
      refused: false,
      ended: false,
    };
    this.#runs.add(run);
    const span = beginRun(this.dispatcher.table.queue, row);
    try {
      const { outcome: ended, waitMs } = await withinRun(span, () => this.#outcomeOf(run));
      const outcome = run.refused ? null : ended;
      run.ended = true;
      this.#ended += 1;
      const traceparent = span && traceparentOf(span);
      const { worker } = claim;
      this.#endings.add({ run, row, worker, waitMs, gateMarked, outcome, traceparent });
      endRun(span, this.dispatcher, row, outcome);
      this.#freed();
    } catch (error) {
      // Not even the dispatcher could name an outcome. The next comparison gives the row back.
      this.#log.error(error);
      this.#forget(run);
      this.#comparison.doubt();
      endRun(span, this.dispatcher, row, null, error);
    }
  }

  async #outcomeOf(run: Run): Promise<Pick<Ending, 'outcome' | 'waitMs'>> {
    const { row, crashes } = run;
    if (crashes >= MOST_CRASHES) return { outcome: quarantined(this.dispatcher, row), waitMs: 0 };
    try {
      const loaded = this.#statements.load === null ? undefined : await this.#handOffs.load(run);
      return { outcome: await this.dispatcher.run(row, this.#lease(run), loaded), waitMs: 0 };
    } catch (error) {
      if (!run.handedOff) {
        // Our own database failed before the run had any effect, so this is no attempt.
        if (databaseTrouble(error)) return { outcome: null, waitMs: PAUSE_MS.longest };
        if (run.abort.signal.aborted) return { outcome: null, waitMs: 0 };
        if (error instanceof PostponedError) return { outcome: null, waitMs: error.waitMs };
      }
      this.#log.error(error);
      queueErrors.inc({ queue: this.dispatcher.table.queue });
      return { outcome: this.dispatcher.onError(row, error), waitMs: 0 };
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
    // One row less waits for its hand-off, so another one may be claimed.
    if (this.dispatcher.mostBeforeHandOff !== undefined) this.#freed();
    return granted;
  }

  #forget(run: Run): void {
    this.#runs.delete(run);
    this.dispatcher.afterWriting?.(run.row);
  }

  async #settle(endings: (Ending & { run: Run })[]): Promise<void> {
    const written = await this.#settler.settle(endings);
    this.#ended -= endings.length;
    if (written) countRuns(this.dispatcher.table, endings);
    for (const { run } of endings) this.#forget(run);
    if (!written) this.#comparison.doubt();
    // A row that did not end may be due again at once.
    if (endings.every(({ outcome }) => outcome?.next.kind === 'done')) this.#freed();
    else this.wake();
  }
}
