import type { QueryOptions, Sql, SqlConnection } from '../sql.ts';

/** Where reads of the API go. */
export interface ReadRoute {
  /** Whether the next read goes to the standby. */
  from: 'standby' | 'primary';
  /** Why it does not, as the rest of a sentence about the standby; `null` if it does. */
  problem: string | null;
}

/** Counts of reads since the process started. */
export interface ReadCounts {
  /** Answered by the standby. */
  standby: number;
  /** Sent to the primary, because the standby cannot be used. */
  primary: number;
  /** Failed on the standby, and repeated on the primary. */
  repeated: number;
}

/**
 * For reads of the API that nothing is written after: lists, search, threads, contacts and files.
 * A read sees everything that was committed before it began, by whichever process. Statements must
 * not write or lock, and `work` of a transaction may run twice.
 *
 * With `DATABASE_READ_URL`, a standby answers where that is safe (docs/adr/0169). Otherwise this is
 * the request pool itself.
 */
export abstract class ReadDatabase implements SqlConnection {
  abstract query<R extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]>;

  abstract transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}
