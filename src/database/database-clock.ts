import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Clock, monotonicMs } from '../common/time/clock.ts';
import { Database } from './sql.ts';

const RESYNC_MS = 60_000;

/**
 * The database server's clock, read at start and once a minute and carried on by this machine's monotonic clock:
 * replicas agree on "now" even when their own clocks do not.
 */
@Injectable()
export class DatabaseClock extends Clock implements OnModuleInit {
  readonly #log = new Logger(DatabaseClock.name);
  #anchor = { instant: Date.now(), monotonic: monotonicMs() };
  #syncing = false;

  constructor(private readonly database: Database) {
    super();
  }

  async onModuleInit(): Promise<void> {
    await this.#sync();
  }

  now(): Date {
    const elapsed = monotonicMs() - this.#anchor.monotonic;
    // No timer of its own: a clock nobody reads needs no upkeep.
    if (elapsed > RESYNC_MS && !this.#syncing) {
      this.#sync().catch((error: unknown) =>
        this.#log.warn(`the database's clock could not be read: ${String(error)}`),
      );
    }
    return new Date(this.#anchor.instant + elapsed);
  }

  async #sync(): Promise<void> {
    this.#syncing = true;
    try {
      const before = monotonicMs();
      const [row] = await this.database.query<{ now: Date }>('select clock_timestamp() as now');
      const after = monotonicMs();
      if (row) this.#anchor = { instant: row.now.getTime() + (after - before) / 2, monotonic: after };
    } finally {
      this.#syncing = false;
    }
  }
}
