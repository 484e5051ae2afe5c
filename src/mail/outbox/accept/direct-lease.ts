import { monotonicMs } from '../../../platform/base/time/clock.ts';
import type { Lease } from '../../../platform/work/queue/dispatcher.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

/**
 * How long a send within a request keeps its queue row after the last extension. Then a worker may
 * claim the row and look the message up.
 */
export const LEASE_SECONDS = 60;
const EXTEND_EVERY_MS = 15_000;
/**
 * The process trusts its lease for this long after the last extension. A worker can claim the row
 * only later, with a margin far above clock drift.
 */
const TRUSTED_MS = 45_000;

const EXTEND = `
  update send_job set run_at = now() + interval '${LEASE_SECONDS} s'
  where id = $1 and account_id = $2 and fence = 0 and state = ${ROW_WAITING} returning 1`;

/**
 * Lease of a send within a request. While this process lives, it keeps postponing the queue row, so
 * that no worker claims it. The row starts with an unknown outcome, so there is no hand-off marker
 * to commit.
 */
export class DirectLease implements Lease {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #extendedMs: number;

  /** @param storedMs when the transaction that stored the row began, in monotonic milliseconds */
  constructor(
    private readonly sql: Sql,
    private readonly row: { id: string; accountId: string },
    storedMs: number,
    readonly stopping: () => boolean,
  ) {
    this.#extendedMs = storedMs;
    this.#timer = setInterval(() => void this.#extend(), EXTEND_EVERY_MS);
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  handOff(): Promise<boolean> {
    return Promise.resolve(this.trusted());
  }

  trusted(): boolean {
    return !this.#abort.signal.aborted && monotonicMs() - this.#extendedMs < TRUSTED_MS;
  }

  /** Aborts the send: nothing more may leave. */
  giveUp(): void {
    this.#abort.abort();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #extend(): Promise<void> {
    const begun = monotonicMs();
    try {
      const rows = await this.sql.query(EXTEND, [this.row.id, this.row.accountId]);
      if (rows.length > 0) this.#extendedMs = begun;
      else this.#abort.abort();
    } catch {
      // The database is unreachable. If it stays so, `trusted` returns false and nothing more
      // leaves.
    }
  }
}
