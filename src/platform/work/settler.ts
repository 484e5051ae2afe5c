import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { AnyDispatcher, ClaimedJob, Outcome, Settled } from './dispatcher.ts';
import { databaseTrouble } from '../database/database-trouble.ts';
import type { SqlPool } from '../database/sql.ts';
import type { BatcherOptions } from './batcher.ts';
import { GateSignals } from './gate-signals.ts';
import type { QueueStatements } from './queue-statements.ts';
import { backoff } from './backoff.ts';

/** How the run of a claimed row ended; null: it had no effect. */
export interface Ending {
  job: ClaimedJob;
  outcome: Outcome<unknown> | null;
  /** How long a row without an effect waits, in milliseconds. */
  waitMs: number;
  /** Whether the claim saw the gate in trouble. */
  gateMarked: boolean;
}

/** A batch that cannot be written is repeated while the database is away: others need not wait behind it. */
export const SETTLE_BATCH: BatcherOptions = { most: 400, parallel: 3, delayMs: 40 };
/** Attempts to write a batch before it is written row by row, and a row before it is left. */
const MOST_TRIES = 4;
const PAUSE_MS = { first: 50, longest: 2_000 };

/**
 * Writes how runs ended: queue row and record of a row in one transaction, many rows at a time (docs/adr/0004). Every
 * write names the fence of its claim, so it may be late or repeated without harm.
 */
export class Settler {
  readonly #log: Logger;
  readonly #gates = new GateSignals();
  readonly #unwritable = new Set<string>();
  #givesUp = false;

  constructor(
    private readonly sql: SqlPool,
    private readonly statements: QueueStatements,
    private readonly dispatcher: AnyDispatcher,
  ) {
    this.#log = new Logger(`Queue ${dispatcher.table.queue}`);
  }

  /** From now on nothing is repeated: the process has no time left. */
  giveUp(): void {
    this.#givesUp = true;
  }

  /** Ids of rows whose own results could not be written, the database being there, since this was last asked. */
  takeUnwritable(): string[] {
    const ids = [...this.#unwritable];
    this.#unwritable.clear();
    return ids;
  }

  /**
   * Does not throw. While the database is away it is tried again and again.
   * @returns whether all of it is written; rows that are not stay claimed, for `reclaim` or a sweep
   */
  async settle(endings: readonly Ending[]): Promise<boolean> {
    const released = await this.#release(endings.filter(({ outcome }) => outcome === null));
    // In one order for everybody, so that two batches do not wait for each other in a circle.
    const ended = endings
      .filter(({ outcome }) => outcome !== null)
      .toSorted((a, b) => compare(a.job, b.job));
    return (await this.#write(ended)) && released;
  }

  /** They go back as if they had not been claimed. */
  async #release(endings: readonly Ending[]): Promise<boolean> {
    if (endings.length === 0) return true;
    return this.#repeat(() =>
      this.sql.query(this.statements.release, [
        endings.map(({ job }) => job.id),
        endings.map(({ job }) => job.fence),
        Math.max(...endings.map(({ waitMs }) => waitMs)),
      ]),
    );
  }

  async #write(endings: readonly Ending[]): Promise<boolean> {
    if (endings.length === 0) return true;
    if (await this.#repeat(() => this.#writeTogether(endings))) return true;
    if (this.#givesUp) return false;
    if (endings.length === 1) {
      for (const { job } of endings) this.#unwritable.add(job.id);
      return false;
    }
    // One bad record must not hold up its neighbours.
    let all = true;
    for (const ending of endings) all = (await this.#write([ending])) && all;
    return all;
  }

  /**
   * Repeats for ever while the database is away, else a few times: a lock, or a row that was removed at the same
   * moment, is no reason to doubt what has happened.
   */
  async #repeat(write: () => Promise<unknown>): Promise<boolean> {
    let refusals = 0;
    for (let failures = 1; ; failures += 1) {
      try {
        await write();
        return true;
      } catch (error) {
        const away = databaseTrouble(error) === 'away';
        if (away) this.#log.warn(`results have to wait: ${String(error)}`);
        else this.#log.error(error);
        if (this.#givesUp || (!away && ++refusals >= MOST_TRIES)) return false;
      }
      await delay(backoff(PAUSE_MS, failures));
    }
  }

  async #writeTogether(endings: readonly Ending[]): Promise<void> {
    const marked = new Set(endings.flatMap(({ job, gateMarked }) => (gateMarked ? [job] : [])));
    let committed: () => void = () => undefined;
    await this.sql.transaction(async (sql) => {
      const settled = endings.flatMap(({ job, outcome }): Settled<ClaimedJob, unknown>[] =>
        outcome ? [{ job, ...outcome }] : [],
      );
      const done = settled.filter(({ next }) => next.kind === 'done');
      const again = settled.flatMap(({ job, next }) =>
        next.kind === 'again' ? [{ job, next }] : [],
      );
      const ours = new Set<string>();
      if (done.length > 0) {
        const rows = await sql.query<{ id: string }>(this.statements.finish, [
          done.map(({ job }) => job.id),
          done.map(({ job }) => job.fence),
        ]);
        for (const { id } of rows) ours.add(id);
      }
      if (again.length > 0) {
        const rows = await sql.query<{ id: string }>(this.statements.again, [
          again.map(({ job }) => job.id),
          again.map(({ job }) => job.fence),
          again.map(({ next }) => next.at),
          again.map(({ next }) => next.ambiguous),
        ]);
        for (const { id } of rows) ours.add(id);
      }
      const kept = settled.filter(({ job }) => ours.has(job.id));
      if (kept.length === 0) return;
      await this.dispatcher.record(sql, kept);
      if (this.dispatcher.table.breaker)
        committed = await this.#gates.write(sql, kept, (job) => marked.has(job));
    });
    committed();
  }
}

const compare = (a: ClaimedJob, b: ClaimedJob) => (a.id < b.id ? -1 : 1);
