import { Logger } from '@nestjs/common';
import type { ClaimedRow } from './dispatcher.ts';
import type { SqlPool } from '../../database/sql.ts';
import { Batcher } from '../../base/concurrency/batcher.ts';
import { outsideSpans } from '../../tracing/spans.ts';
import { MOST_PER_CLAIM } from './claim-statement.ts';
import type { QueueStatements } from './queue-statements.ts';
import type { WorkerIdentity } from '../workers/worker-identity.ts';

/** The effect of a run waits for its marker, so a marker waits only briefly for others. */
const HANDOFF_BATCH = { most: 400, parallel: 2, delayMs: 5 };
/**
 * All rows of a claim ask to be loaded at the same time, so a short wait is enough. Loading takes
 * as long as a claim, so one statement at a time keeps up with the claims.
 */
const LOAD_BATCH = { most: MOST_PER_CLAIM, parallel: 1, delayMs: 1 };

/** The part of a run that concerns its hand-off. */
export interface HandedRun {
  row: ClaimedRow;
  /**
   * Whether the marker was committed together with the loading, before the dispatcher asked for it.
   */
  marked: boolean;
  /** Whether the dispatcher knows that the marker is committed. */
  handedOff: boolean;
  /** True if the hand-off was refused. The outcome of the run is then ignored. */
  refused: boolean;
}

/** What the runner knows about whether a run may be handed off. */
export interface HandOffRules<R> {
  /** Whether the claim certainly still belongs to this worker. */
  isOurs(run: R): boolean;
  /** Whether a hand-off may be requested. False in a process that is stopping. */
  mayBegin(run: R): boolean;
}

interface HandOffRequest<R> {
  run: R;
  resolve(granted: boolean): void;
}

interface LoadRequest<R> {
  run: R;
  resolve(loaded: object | undefined): void;
  reject(error: unknown): void;
}

/** What `load` returns for each row, besides the columns that the dispatcher asks for. */
interface LoadedRow {
  id: string;
  handedOff: boolean;
}

/**
 * Loads what claimed rows need and commits their hand-off markers, many rows at a time
 * (docs/adr/0004).
 */
export class HandOffs<R extends HandedRun> {
  readonly #log: Logger;
  readonly #loads = new Batcher<LoadRequest<R>>(
    (items) => outsideSpans(() => this.#load(items)),
    LOAD_BATCH,
  );
  readonly #marks = new Batcher<HandOffRequest<R>>(
    (items) => outsideSpans(() => this.#mark(items)),
    HANDOFF_BATCH,
  );

  /** @param queue name of the queue, for log lines */
  constructor(
    queue: string,
    private readonly sql: SqlPool,
    private readonly identity: WorkerIdentity,
    private readonly statements: Pick<QueueStatements, 'load' | 'handOff'>,
    private readonly rules: HandOffRules<R>,
  ) {
    this.#log = new Logger(`Queue ${queue}`);
  }

  /**
   * Loads what a row needs to run, together with the other rows of its claim; see `RowLoading`.
   * @returns undefined if nothing was found, for example because the row's object was deleted
   * @throws if the database cannot be reached
   */
  load(run: R): Promise<object | undefined> {
    return new Promise((resolve, reject) => {
      this.#loads.add({ run, resolve, reject });
    });
  }

  /** Commits the marker of a run; see `Lease.handOff`. */
  ask(run: R): Promise<boolean> {
    if (!this.rules.mayBegin(run)) {
      run.refused = true;
      return Promise.resolve(false);
    }
    if (run.marked) return Promise.resolve(this.#answer(run, true));
    return new Promise((resolve) => {
      this.#marks.add({ run, resolve });
    });
  }

  /** Resolves when no request is waiting or running. */
  async drain(): Promise<void> {
    await Promise.all([this.#loads.drain(), this.#marks.drain()]);
  }

  /** @returns whether the run may have its effect now */
  #answer(run: R, marked: boolean): boolean {
    run.handedOff = marked;
    run.refused = !marked || !this.rules.isOurs(run);
    return !run.refused;
  }

  async #load(requests: LoadRequest<R>[]): Promise<void> {
    const rows = new Map<string, LoadedRow>();
    try {
      if (!this.statements.load) throw new Error('the queue has no loading');
      const loaded = await this.sql.query<LoadedRow>(this.statements.load, [
        requests.map(({ run }) => run.row.id),
        requests.map(({ run }) => run.row.fence),
        this.identity.id,
        requests.map(({ run }) => this.rules.mayBegin(run) && this.rules.isOurs(run)),
      ]);
      for (const row of loaded) rows.set(row.id, row);
    } catch (error) {
      for (const { reject } of requests) reject(error);
      return;
    }
    for (const { run, resolve } of requests) {
      const row = rows.get(run.row.id);
      run.marked = row?.handedOff === true;
      resolve(row);
    }
  }

  async #mark(requests: HandOffRequest<R>[]): Promise<void> {
    let marked = new Set<string>();
    try {
      const rows = await this.sql.query<{ id: string }>(this.statements.handOff, [
        requests.map(({ run }) => run.row.id),
        requests.map(({ run }) => run.row.fence),
        this.identity.id,
      ]);
      marked = new Set(rows.map(({ id }) => id));
    } catch (error) {
      this.#log.warn(
        `hand-off failed, the rows go back to the queue: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    for (const { run, resolve } of requests) resolve(this.#answer(run, marked.has(run.row.id)));
  }
}
