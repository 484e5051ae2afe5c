import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';

/** A search would read too much. Nothing was changed. */
export class SearchTooBroadError extends DomainError {
  constructor(seconds: number, advice: string, cause: unknown) {
    super(
      'search.too-broad',
      'invalid',
      `The search was stopped after ${seconds} seconds, because no index fits this filter: ${advice}`,
      { cause },
    );
  }
}

/** PostgreSQL's code for a statement that reached its time limit. */
const QUERY_CANCELED = '57014';

/** No time is left for a further statement. */
class OutOfTimeError extends Error {}

/**
 * Runs searches of an operator in one read-only transaction, all statements together for a limited
 * time. The wait for a connection does not count.
 * @param advice what to add to the filter if it takes too long
 * @throws {SearchTooBroadError}
 */
export async function withinSeconds<T>(
  database: Database,
  seconds: number,
  advice: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  try {
    return await database.transaction(async (sql) => {
      await sql.query('set transaction read only');
      return work(limited(sql, monotonicMs() + seconds * 1000));
    });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === QUERY_CANCELED || error instanceof OutOfTimeError)
      throw new SearchTooBroadError(seconds, advice, error);
    throw error;
  }
}

/** Gives each statement the time that is left. */
const limited = (sql: Sql, endMs: number): Sql => ({
  query: async (text, values, options) => {
    const leftMs = Math.ceil(endMs - monotonicMs());
    if (leftMs <= 0) throw new OutOfTimeError();
    await sql.query(`select set_config('statement_timeout', $1, true)`, [String(leftMs)]);
    return sql.query(text, values, options);
  },
});

/**
 * Lists, and the numbers of the overview, are counted up to this number. So many rows are counted
 * in about 10 ms. Counting all of a large table would slow the database down when it is busiest.
 */
export const MOST_COUNTED = 10_000;
const COUNT_SECONDS = 1;

/**
 * Counts the rows of a list for its head, for at most a second in all.
 * @param count counts up to the given number of rows, so that it reads no more than that
 * @returns more than `MOST_COUNTED` if there are more; `null` if counting takes too long
 */
export async function countBriefly(
  database: Database,
  count: (sql: Sql, most: number) => Promise<number>,
): Promise<number | null> {
  try {
    return await withinSeconds(database, COUNT_SECONDS, '', (sql) => count(sql, MOST_COUNTED + 1));
  } catch (error) {
    if (error instanceof SearchTooBroadError) return null;
    throw error;
  }
}

/** The number that a statement with the column `n` returns. */
export async function countOf(sql: Sql, text: string, values: readonly unknown[]): Promise<number> {
  const [row] = await sql.query<{ n: number }>(text, values, { prepared: false });
  return row?.n ?? 0;
}
