import type { SqlPool } from '../../src/platform/database/sql.ts';
import type { ClaimResultRow } from '../../src/platform/work/queue/claim-statement.ts';
import type {
  ClaimedRow,
  Dispatcher,
  Lease,
  Outcome,
} from '../../src/platform/work/queue/dispatcher.ts';
import {
  type QueueStatements,
  queueStatements,
  sweepStatement,
} from '../../src/platform/work/queue/queue-statements.ts';

/** Id of a worker without a row in the `worker` table: the next sweep releases its rows. */
const WORKER = 1;

/** A lease that stays valid unless `overrides` says otherwise, and writes nothing. */
export function fakeLease(overrides: Partial<Lease> = {}): Lease {
  return {
    handOff: () => Promise.resolve(true),
    trusted: () => true,
    stopping: () => false,
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** Processes single queue rows step by step, with the engine's own statements. */
export class EngineSteps<J extends ClaimedRow, R> {
  constructor(
    private readonly sql: Pick<SqlPool, 'query' | 'transaction'>,
    private readonly dispatcher: () => Dispatcher<J, R>,
  ) {}

  get #statements(): QueueStatements {
    return queueStatements(this.dispatcher().table);
  }

  /** Claims a waiting row, whether or not it is due. @throws {Error} if the row is not waiting */
  async claim(id: string, changes: Partial<J> = {}): Promise<J> {
    const job = await this.tryClaim(id);
    if (!job) throw new Error(`row ${id} is not waiting`);
    return { ...job, ...changes };
  }

  /**
   * @param withinSeconds claims the row only if it is due by then
   * @returns `undefined` if the row is not waiting, or is due later
   */
  async tryClaim(id: string, withinSeconds = 1e9): Promise<J | undefined> {
    const { table, gateColumn } = this.dispatcher().table;
    // In one transaction, so that concurrent claims do not take each other's rows.
    const [row] = await this.sql.transaction(async (sql) => {
      const due = await sql.query<{ gate: string }>(
        `update ${table} set run_at = 'epoch' where id = $1 and state = 0 and run_at <= now() + $2 * interval '1 s'
         returning ${gateColumn} as gate`,
        [id, withinSeconds],
      );
      if (!due[0]) return [];
      const { gate } = due[0];
      await sql.query(
        'update account_gate set failures = 0, closed_until = null where account_id = $1',
        [gate],
      );
      // Rows that are already claimed do not count against the limits of this claim.
      const claimed = await sql.query<{ id: string }>(`select id from ${table} where state = 1`);
      const ended = claimed.map((other) => other.id);
      const values = [1, WORKER, 'epoch', 1, 1, ended, 0];
      return sql.query<ClaimResultRow>(this.#statements.claim, values);
    });
    if (row?.id !== id) return undefined;
    const { summary: _summary, crashes: _crashes, gateMarked: _marked, ...job } = row;
    return job as unknown as J;
  }

  /** Runs a claimed row. @throws what its dispatcher throws */
  async run(job: J, lease: Partial<Lease> = {}): Promise<Outcome<R> | null> {
    const loaded = await this.load(job);
    try {
      return await this.dispatcher().run(job, { ...this.lease(job), ...lease }, loaded);
    } finally {
      this.dispatcher().afterWriting?.(job);
    }
  }

  /** Like `run`, but an error of the dispatcher becomes an outcome, as in the engine. */
  outcomeOf(job: J, lease: Partial<Lease> = {}): Promise<Outcome<R> | null> {
    return this.run(job, lease).catch((error: unknown) => this.dispatcher().onError(job, error));
  }

  /** Loads what the dispatcher needs, without setting the hand-off marker. The lease sets it. */
  async load<T extends object>({ id, fence }: Pick<J, 'id' | 'fence'>): Promise<T | undefined> {
    const { load } = this.#statements;
    const [row] =
      load === null ? [] : await this.sql.query<T>(load, [[id], [fence], WORKER, [false]]);
    return row;
  }

  lease(job: J): Lease {
    return fakeLease({ handOff: () => this.handOff(job) });
  }

  /** @returns false if another worker owns the row */
  async handOff({ id, fence }: Pick<J, 'id' | 'fence'>): Promise<boolean> {
    return (await this.sql.query(this.#statements.handOff, [[id], [fence], WORKER])).length === 1;
  }

  /**
   * Stores the outcome of the row; `null` releases it. Does nothing if another worker owns the row.
   */
  async settle(row: J, outcome: Outcome<R> | null): Promise<void> {
    const claim = [[row.id], [row.fence], [WORKER]];
    const { finish, again, release } = this.#statements;
    if (!outcome) return void (await this.sql.query(release, [...claim, 0]));
    await this.sql.transaction(async (sql) => {
      await this.dispatcher().beforeWriting?.(sql, [{ row, ...outcome }]);
      let { next } = outcome;
      let rows = next.kind === 'done' ? await sql.query(finish, claim) : [];
      // The row was extended during the run.
      if (next.kind === 'done' && rows.length === 0 && this.dispatcher().table.endsIf)
        next = { kind: 'again', at: new Date(0), ambiguous: false };
      if (next.kind === 'again')
        rows = await sql.query(again, [...claim, [next.at], [next.ambiguous]]);
      if (rows.length === 1) await this.dispatcher().record(sql, [{ row, ...outcome, next }]);
    });
  }

  /** Claims, runs and settles a row. @returns `null` if the run released the row */
  async attempt(
    id: string,
    changes: Partial<J> = {},
    lease: Partial<Lease> = {},
  ): Promise<Outcome<R> | null> {
    const job = await this.claim(id, changes);
    const outcome = await this.outcomeOf(job, lease);
    await this.settle(job, outcome);
    return outcome;
  }

  /**
   * Leaves the row as if its worker had died after the hand-off and a sweep had released the row.
   * @param job a claimed row; default: the row is claimed first
   */
  async crash(id: string, job?: J): Promise<void> {
    await this.handOff(job ?? (await this.claim(id)));
    await this.sweep();
  }

  /** Releases every claimed row, as if its worker had died. */
  async sweep(): Promise<void> {
    await this.sql.query(sweepStatement([this.dispatcher().table]), [true]);
  }
}
