import { Logger } from '@nestjs/common';
import { monotonicMs } from '../../base/time/clock.ts';
import type { SqlPool } from '../../database/sql.ts';
import type { ClaimedRow } from './dispatcher.ts';
import type { WorkerIdentity } from '../workers/worker-identity.ts';

/**
 * How often the runs of this process are compared with the claims in the database, even if nothing
 * seems wrong.
 */
const COMPARE_EVERY_MS = 10_000;
/**
 * The same for a queue that has no runs and did not look for rows since the last comparison. A lost
 * claim may have been committed after that comparison, and rows that were locked were skipped.
 */
const COMPARE_IDLE_EVERY_MS = 60_000;

/**
 * Compares the runs of a queue in this process with the claims that the database shows for this
 * worker. Rows without a run here go back to the queue.
 */
export class ClaimComparison {
  readonly #log: Logger;
  /**
   * True if the response to a statement was lost or a result could not be written. The database may
   * then show claims that have no run here.
   */
  #uncertain = false;
  /** Whether the queue is at work: there were runs at the last comparison, or claims since. */
  #busy = false;
  // The queues of a process start together. Each compares at its own time, so that the statements
  // do not need a connection each.
  #comparedAt = monotonicMs() - Math.random() * COMPARE_EVERY_MS;
  /** Ids of the rows of runs that never ended. */
  readonly #endless = new Set<string>();

  /** @param reclaim see `QueueStatements` */
  constructor(
    queue: string,
    private readonly sql: SqlPool,
    private readonly identity: WorkerIdentity,
    private readonly reclaim: string,
  ) {
    this.#log = new Logger(`Queue ${queue}`);
  }

  /** Whether a comparison should be made now. */
  get isDue(): boolean {
    const everyMs = this.#busy ? COMPARE_EVERY_MS : COMPARE_IDLE_EVERY_MS;
    return this.#uncertain || monotonicMs() - this.#comparedAt > everyMs;
  }

  /** Call it before each claim. */
  noteClaim(): void {
    this.#busy = true;
  }

  /** The database may show claims that have no run here. */
  doubt(): void {
    this.#uncertain = true;
  }

  /** The run of this row never ended, so a death is counted for the row. */
  noteEndless(id: string): void {
    this.#endless.add(id);
    this.#uncertain = true;
  }

  /**
   * Gives rows without a run back. Call it between two claims, so that no claim is under way.
   * @param rows rows of the runs of this process
   * @param unwritable ids of rows whose results could not be written
   */
  async run(
    rows: readonly Pick<ClaimedRow, 'id' | 'fence'>[],
    unwritable: readonly string[],
  ): Promise<void> {
    this.#uncertain = false;
    this.#comparedAt = monotonicMs();
    const blamed = [...this.#endless, ...unwritable];
    this.#endless.clear();
    this.#busy = rows.length > 0;
    const lost = await this.sql.query(this.reclaim, [
      this.identity.id,
      rows.map(({ id }) => id),
      rows.map(({ fence }) => fence),
      blamed,
    ]);
    if (lost.length > 0)
      this.#log.warn(
        `${lost.length} rows were claimed by this worker but had no run here; they go back to the queue`,
      );
  }
}
