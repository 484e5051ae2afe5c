import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Clock, type Moment, moment, mostMsBetween } from '../base/time/clock.ts';
import { Database } from './sql.ts';

const RESYNC_MS = 60_000;
/** The wall clock says so much more only when the machine was suspended, or its clock was far off and has been set. */
const SUSPENDED_MS = 5_000;

/**
 * The database server's clock, read at start and once a minute and carried on by this machine's monotonic clock:
 * replicas agree on "now" even when their own clocks do not. The time of a suspended machine, which that clock does not count, is
 * taken from the wall clock until the database is read again, at once.
 */
@Injectable()
export class DatabaseClock extends Clock implements OnModuleInit {
  readonly #log = new Logger(DatabaseClock.name);
  #anchor: { instant: number; at: Moment } = { instant: Date.now(), at: moment() };
  #syncing = false;

  constructor(private readonly database: Database) {
    super();
  }

  async onModuleInit(): Promise<void> {
    await this.#sync();
  }

  now(): Date {
    const { instant, at } = this.#anchor;
    const here = moment();
    const counted = here.monotonicMs - at.monotonicMs;
    const most = mostMsBetween(at, here);
    const suspended = most - counted > SUSPENDED_MS;
    const elapsed = suspended ? most : counted;
    // No timer of its own: a clock nobody reads needs no upkeep.
    if ((suspended || elapsed > RESYNC_MS) && !this.#syncing) {
      this.#sync().catch((error: unknown) =>
        this.#log.warn(`the database's clock could not be read: ${String(error)}`),
      );
    }
    return new Date(instant + elapsed);
  }

  async #sync(): Promise<void> {
    this.#syncing = true;
    try {
      const before = moment();
      const [row] = await this.database.query<{ now: Date }>('select clock_timestamp() as now');
      const at = moment();
      if (row)
        this.#anchor = {
          instant: row.now.getTime() + (at.monotonicMs - before.monotonicMs) / 2,
          at,
        };
    } finally {
      this.#syncing = false;
    }
  }
}
