import { monotonicMs } from '../../platform/base/time/clock.ts';
import type { Lease } from '../../platform/work/dispatcher.ts';
import type { Sql } from '../../platform/database/sql.ts';

/** How long a send that its process does not care for any more stays its own; then a worker looks what became of it. */
export const LEASE_SECONDS = 60;
const EXTEND_EVERY_MS = 15_000;
/** Earlier than the worker, by far more than clocks drift apart in a minute. */
const TRUSTED_MS = 45_000;

const EXTEND = `
  update send_job set run_at = now() + interval '${LEASE_SECONDS} s'
  where id = $1 and account_id = $2 and fence = 0 and state = 0 returning 1`;

/**
 * Holds a send together that a request makes by itself: its queue row waits, and waits on, as long as this process lives. The
 * row is marked as one that may have taken effect from the beginning, so there is no hand-off to commit.
 */
export class DirectLease implements Lease {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #surely: number;

  /** @param storedMs when the row's transaction was begun, in monotonic milliseconds */
  constructor(
    private readonly sql: Sql,
    private readonly row: { id: string; accountId: string },
    storedMs: number,
    readonly stopping: () => boolean,
  ) {
    this.#surely = storedMs;
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
    return !this.#abort.signal.aborted && monotonicMs() - this.#surely < TRUSTED_MS;
  }

  /** Nothing more is to leave. */
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
      if (rows.length > 0) this.#surely = begun;
      else this.#abort.abort();
    } catch {
      // The database is away: until it is back in time, nothing more leaves (`trusted`).
    }
  }
}
