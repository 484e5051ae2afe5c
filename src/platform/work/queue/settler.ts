import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { AnyDispatcher, ClaimedRow, Next, Outcome, Settled } from './dispatcher.ts';
import { databaseTrouble } from '../../database/health/database-trouble.ts';
import type { SqlPool } from '../../database/sql.ts';
import { RateGateSignals } from '../gates/rate-gate-signals.ts';
import type { QueueStatements } from './queue-statements.ts';
import { backoff } from './backoff.ts';

type Waiting = Extract<Next, { kind: 'again' }>;

/** How the run of a claimed row ended. An `outcome` of `null` means that the run had no effect. */
export interface Ending {
  row: ClaimedRow;
  /** Id of the worker that claimed the row: an earlier id of this process, or its present one. */
  worker: number;
  outcome: Outcome<unknown> | null;
  /** Span of the run, as a `traceparent`; absent if nobody listens. */
  traceparent?: string | null;
  /** How long a row without an effect waits, in milliseconds. */
  waitMs: number;
  /** Whether the claim found the row's rate gate in trouble. */
  gateMarked: boolean;
}

/**
 * Batches for writing results. One is written at a time: while many workers share a database, a
 * second one would need one more connection of each, on which every statement is planned again.
 * While the database is unavailable, the batch is repeated.
 */
export const SETTLE_BATCH = { most: 400, parallel: 1, delayMs: 40 };
/**
 * How often a batch is tried before its rows are written one by one, and how often a row is tried
 * before it stays claimed.
 */
const MOST_TRIES = 4;
const PAUSE_MS = { first: 50, longest: 2_000 };

/**
 * Writes how runs ended. One transaction updates the queue rows and the records of many runs
 * (docs/adr/0004). Every statement checks the fencing token and the worker of each claim, so a late
 * or repeated batch does no harm.
 */
export class Settler {
  readonly #log: Logger;
  readonly #gates: RateGateSignals | null;
  readonly #unwritable = new Set<string>();
  #givesUp = false;

  constructor(
    private readonly sql: SqlPool,
    private readonly statements: QueueStatements,
    private readonly dispatcher: AnyDispatcher,
  ) {
    const { queue, breaker } = dispatcher.table;
    this.#log = new Logger(`Queue ${queue}`);
    this.#gates = breaker ? new RateGateSignals(breaker) : null;
  }

  /** From now on nothing is retried, because the process has no time left to stop. */
  giveUp(): void {
    this.#givesUp = true;
  }

  /**
   * Returns the ids of rows whose results could not be written although the database was available,
   * and clears the list.
   */
  takeUnwritable(): string[] {
    const ids = [...this.#unwritable];
    this.#unwritable.clear();
    return ids;
  }

  /**
   * Never throws. While the database is unavailable, retries until `giveUp` is called.
   * @returns whether all results are written. Rows that are not stay claimed until `reclaim` or a
   *   sweep gives them back.
   */
  async settle(endings: readonly Ending[]): Promise<boolean> {
    const released = await this.#release(endings.filter(({ outcome }) => outcome === null));
    // All batches use the same order, so that two of them cannot deadlock.
    const ended = endings
      .filter(({ outcome }) => outcome !== null)
      .toSorted((a, b) => compare(a.row, b.row));
    return (await this.#write(ended)) && released;
  }

  /** Gives rows back as if they had not been claimed. */
  async #release(endings: readonly Ending[]): Promise<boolean> {
    if (endings.length === 0) return true;
    return this.#repeat(() =>
      this.sql.query(this.statements.release, [
        endings.map(({ row }) => row.id),
        endings.map(({ row }) => row.fence),
        endings.map(({ worker }) => worker),
        Math.max(...endings.map(({ waitMs }) => waitMs)),
      ]),
    );
  }

  async #write(endings: readonly Ending[]): Promise<boolean> {
    if (endings.length === 0) return true;
    let fenced: Settled<ClaimedRow, unknown>[] = [];
    const write = async () => (fenced = await this.#writeTogether(endings));
    if (await this.#repeat(write)) {
      await this.#writeFenced(fenced);
      return true;
    }
    if (this.#givesUp) return false;
    if (endings.length === 1) {
      for (const { row } of endings) this.#unwritable.add(row.id);
      return false;
    }
    // A record that cannot be written must not block the other rows of its batch.
    let all = true;
    for (const ending of endings) all = (await this.#write([ending])) && all;
    return all;
  }

  /**
   * Repeats a write. While the database is unavailable it repeats without limit, until `giveUp` is
   * called. After other errors it tries up to four times, because the results stay correct: the
   * cause may be a lock or a row that was deleted in the meantime.
   */
  async #repeat(write: () => Promise<unknown>): Promise<boolean> {
    let refusals = 0;
    for (let failures = 1; ; failures += 1) {
      try {
        await write();
        return true;
      } catch (error) {
        const away = databaseTrouble(error) === 'away';
        if (away)
          this.#log.warn(
            `cannot write results, the database is unavailable; trying again: ${String(error)}`,
          );
        else this.#log.error(error);
        if (this.#givesUp || (!away && ++refusals >= MOST_TRIES)) return false;
      }
      await delay(backoff(PAUSE_MS, failures));
    }
  }

  /** The results stay correct without this: the next attempt of each row begins with a look-up. */
  async #writeFenced(fenced: readonly Settled<ClaimedRow, unknown>[]): Promise<void> {
    if (fenced.length === 0 || !this.dispatcher.recordFenced) return;
    await this.#repeat(() =>
      this.sql.transaction(async (sql) => this.dispatcher.recordFenced?.(sql, fenced)),
    );
  }

  /** @returns results whose rows no longer belonged to this worker; they are not written */
  async #writeTogether(endings: readonly Ending[]): Promise<Settled<ClaimedRow, unknown>[]> {
    const settled = resultsOf(endings);
    const marked = new Set(endings.flatMap(({ row, gateMarked }) => (gateMarked ? [row] : [])));
    const workers = new Map(endings.map(({ row, worker }) => [row, worker]));
    let committed: () => void = () => undefined;
    let kept: typeof settled = [];
    await this.sql.transaction(async (sql) => {
      await this.dispatcher.beforeWriting?.(sql, settled);
      const done = settled.filter(({ next }) => next.kind === 'done');
      const again = settled.flatMap(({ row, next }) =>
        next.kind === 'again' ? [{ row, next }] : [],
      );
      const { endsIf } = this.dispatcher.table;
      if (done.length > 0 && (endsIf || again.length > 0))
        await sql.query(this.statements.lock, [settled.map(({ row }) => row.id)]);
      const ours = new Set<string>();
      if (done.length > 0) {
        const rows = await sql.query<{ id: string }>(this.statements.finish, [
          done.map(({ row }) => row.id),
          done.map(({ row }) => row.fence),
          done.map(({ row }) => workers.get(row)),
        ]);
        for (const { id } of rows) ours.add(id);
        if (endsIf) again.push(...extended(done, ours));
      }
      if (again.length > 0) {
        const rows = await sql.query<{ id: string }>(this.statements.again, [
          again.map(({ row }) => row.id),
          again.map(({ row }) => row.fence),
          again.map(({ row }) => workers.get(row)),
          again.map(({ next }) => next.at),
          again.map(({ next }) => next.ambiguous),
        ]);
        for (const { id } of rows) ours.add(id);
      }
      const waits = new Map(again.map(({ row, next }) => [row, next]));
      kept = settled.flatMap((one) =>
        ours.has(one.row.id) ? [{ ...one, next: waits.get(one.row) ?? one.next }] : [],
      );
      if (kept.length === 0) return;
      await this.dispatcher.record(sql, kept);
      if (this.#gates) committed = await this.#gates.write(sql, kept, (row) => marked.has(row));
    });
    committed();
    const written = new Set(kept.map(({ row }) => row));
    return settled.filter(({ row }) => !written.has(row));
  }
}

/** Rows that were extended during their runs, or that belong to another worker by now. */
function extended(done: readonly Settled<ClaimedRow, unknown>[], ended: ReadonlySet<string>) {
  const next: Waiting = { kind: 'again', at: new Date(0), ambiguous: false };
  return done.flatMap(({ row }) => (ended.has(row.id) ? [] : [{ row, next }]));
}

const compare = (a: ClaimedRow, b: ClaimedRow) => (a.id < b.id ? -1 : 1);

function resultsOf(endings: readonly Ending[]): Settled<ClaimedRow, unknown>[] {
  return endings.flatMap(({ row, outcome, traceparent }) =>
    outcome ? [{ row, ...(traceparent ? { traceparent } : {}), ...outcome }] : [],
  );
}
