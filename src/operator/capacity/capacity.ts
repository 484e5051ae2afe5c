/** A table, with its indexes and its long values. */
export interface TableSize {
  table: string;
  /** PostgreSQL's estimate; `null` before the table was first analyzed. */
  rows: number | null;
  bytes: number;
  /** Part of `bytes` that indexes take. */
  indexBytes: number;
  /** Rows that were deleted and whose space is not free yet. Estimate. */
  deadRows: number;
  /** Average growth in a day over the last week; `null` with samples of less than a day. */
  bytesPerDay: number | null;
  rowsPerDay: number | null;
}

/** Something that is deleted after some time. */
export interface Retention {
  /** What is deleted. */
  what: string;
  tables: string[];
  /** How long it is kept, in words. */
  kept: string;
  /** The environment variable that changes it; `null` if it is fixed. */
  setting: string | null;
}

/** The size of the database on one day. */
export interface SizeSample {
  /** Day in UTC, such as `2026-11-22`. */
  day: string;
  bytes: number;
}

/** How much space there is, and how long it lasts. */
export interface DiskForecast {
  /** Space for the database in bytes; `null` if nothing is known about it. */
  limitBytes: number | null;
  /**
   * Where `limitBytes` comes from: `setting` (`DATABASE_DISK_GB`), `disk` (the file system of the
   * embedded database), or `null`. PostgreSQL cannot know how large its disk is.
   */
  source: 'setting' | 'disk' | null;
  /** Bytes that are still free; `null` if unknown. */
  freeBytes: number | null;
  /** When the disk is full at the pace of the last week; `null` if it shrinks or is unknown. */
  fullAt: Date | null;
}

/** Capacity of the installation. */
export interface Capacity {
  at: Date;
  databaseBytes: number;
  /** Average growth in a day over the last week; `null` with samples of less than a day. */
  bytesPerDay: number | null;
  /** Largest first. */
  tables: TableSize[];
  retention: Retention[];
  /** Daily sizes, oldest first, at most 90. */
  history: SizeSample[];
  disk: DiskForecast;
}
