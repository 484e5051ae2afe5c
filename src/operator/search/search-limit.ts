import { DomainError } from '../../platform/base/errors/domain-error.ts';
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

/**
 * Runs searches of an operator in one read-only transaction, each statement for a limited time.
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
      await sql.query(`select set_config('statement_timeout', $1, true)`, [String(seconds * 1000)]);
      return work(sql);
    });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === QUERY_CANCELED) throw new SearchTooBroadError(seconds, advice, error);
    throw error;
  }
}
