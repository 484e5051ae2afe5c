import { statfs } from 'node:fs/promises';
import type { AppConfig } from '../../platform/config/app-config.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import type { Capacity, DiskForecast } from './capacity.ts';
import { readDatabase, readHistory, readTables, takeSample } from './capacity.repository.ts';
import { retentionOf } from './retention.ts';

const DAY_MS = 86_400_000;
const GB = 1024 ** 3;
/** Later times say no more than "not soon". */
const LONGEST_DAYS = 36_500;

type Settings = Pick<AppConfig, 'auditLogDays' | 'sync' | 'uploads' | 'database' | 'dataDir'>;

/** How much the database stores, how fast it grows, and how long its disk lasts. */
export class OperatorCapacity {
  constructor(
    private readonly database: Database,
    private readonly config: Settings,
    private readonly clock: Clock,
  ) {}

  /** Reads sizes and statistics only, never a table itself. */
  async read(): Promise<Capacity> {
    const now = this.clock.now();
    const [{ bytes, bytesPerDay, disk }, tables, history] = await Promise.all([
      this.#forecast(this.database, now),
      readTables(this.database, now),
      readHistory(this.database),
    ]);
    return {
      at: now,
      databaseBytes: bytes,
      bytesPerDay,
      tables,
      retention: retentionOf(this.config),
      history,
      disk,
    };
  }

  /** How full the disk is, without the sizes of tables. */
  async disk(sql: Sql): Promise<DiskForecast> {
    return (await this.#forecast(sql, this.clock.now())).disk;
  }

  /** Stores the sizes of all tables, at most once a day (UTC) however often it is called. */
  async takeSample(): Promise<void> {
    await takeSample(this.database, this.clock.now());
  }

  async #forecast(sql: Sql, now: Date) {
    const { bytes, bytesPerDay } = await readDatabase(sql, now);
    const space = await this.#space(bytes);
    const disk = { ...space, fullAt: fullAt(now, space.freeBytes, bytesPerDay) };
    return { bytes, bytesPerDay, disk };
  }

  /**
   * A database server does not say how large its disk is. Known is what the operator has set, and
   * the disk of the embedded server, which is on this machine.
   */
  async #space(bytes: number): Promise<Omit<DiskForecast, 'fullAt'>> {
    const { diskGigabytes, embedded } = this.config.database;
    if (diskGigabytes !== null) {
      const limitBytes = diskGigabytes * GB;
      return { limitBytes, source: 'setting', freeBytes: Math.max(0, limitBytes - bytes) };
    }
    if (!embedded) return { limitBytes: null, source: null, freeBytes: null };
    const { bavail, bsize } = await statfs(this.config.dataDir);
    const freeBytes = bavail * bsize;
    return { limitBytes: bytes + freeBytes, source: 'disk', freeBytes };
  }
}

/**
 * When the free space is used up at this pace.
 * @returns `null` if the database does not grow, or something is unknown
 */
export function fullAt(
  now: Date,
  freeBytes: number | null,
  bytesPerDay: number | null,
): Date | null {
  if (freeBytes === null || bytesPerDay === null || bytesPerDay <= 0) return null;
  const days = freeBytes / bytesPerDay;
  return days > LONGEST_DAYS ? null : new Date(now.getTime() + days * DAY_MS);
}
