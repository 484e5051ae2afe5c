import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Clock, type Moment, moment, mostMsBetween } from '../../base/time/clock.ts';
import { Database, type Sql } from '../sql.ts';

/** A difference of more than this between the clocks of a process and the database is reported. */
export const CLOCK_TOLERANCE_SECONDS = 2;

/** The machine's clock, even where tests give the database another one. */
const SERVER_CLOCK = 'select pg_catalog.clock_timestamp() as now';

/**
 * Compares the clock of this machine with the database's.
 * @returns seconds by which this machine is ahead, negative if it is behind; exact to half of the
 * time that the database needs to answer
 */
export async function clockAhead(sql: Sql): Promise<number> {
  const before = moment();
  const [row] = await sql.query<{ now: Date }>(SERVER_CLOCK);
  if (!row) throw new Error('the database did not return its time');
  const after = moment();
  const here = after.wallMs - (after.monotonicMs - before.monotonicMs) / 2;
  return (here - row.now.getTime()) / 1000;
}

const RESYNC_MS = 60_000;
/**
 * The wall clock advances by this much more than the monotonic clock only if the machine was
 * suspended, or if its clock was far off and has been set.
 */
const SUSPENDED_MS = 5_000;

/**
 * The database server's clock. It is read at start and about once a minute, and in between this
 * machine's monotonic clock counts on. So all processes agree on "now" even if their own clocks
 * differ.
 *
 * The monotonic clock does not count the time in which a machine is suspended. After such a pause
 * the database is read again at once. Until it answers, the wall clock supplies the missing time.
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
    // No timer is needed: a clock that is not used need not be read again.
    if ((suspended || elapsed > RESYNC_MS) && !this.#syncing) {
      this.#sync().catch((error: unknown) =>
        this.#log.warn(
          `could not read the database's clock; counting on from the last reading: ${String(error)}`,
        ),
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
