import type { Sql } from '../../platform/database/sql.ts';
import {
  type CountedRequests,
  type Failure,
  keyOf,
  requestCounts,
} from '../../platform/request-counts/request-counts.ts';
import type { FailedRequests, RequestMinute, RequestState } from './overview.ts';
import type { RequestCount } from '../../platform/request-counts/request-count.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const MINUTE_MS = 60_000;
/** Rows that are read, the newest first. */
const MOST_READ = 5_000;
/** Kinds of failures that are shown. */
const MOST_SHOWN = 100;

const COUNTS = `
  select minute, method, route, status, error, requests, request_id as "requestId" from request_count
  where minute >= $1 order by minute desc, key limit ${MOST_READ}`;

interface Row extends Failure, RowOf<RequestCount, 'minute' | 'requests' | 'requestId'> {}
type CountedInMinute = CountedRequests & { minute: Date };

/**
 * Requests of the last `minutes`, over all processes. A database that accepts no writes lacks the
 * counts of other processes since then; those of this process are added.
 */
export async function requestStates(sql: Sql, now: Date, minutes: number): Promise<RequestState> {
  const current = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS;
  const since = new Date(current - (minutes - 1) * MINUTE_MS);
  const rows = await sql.query<Row>(COUNTS, [since]);
  const stored = rows.map(({ minute, requests, requestId, ...failure }): CountedInMinute => {
    // Rows of requests that did not fail have none of these.
    const isFailure = (failure as { method: string | null }).method !== null;
    return { minute, requests, requestId, failure: isFailure ? failure : null };
  });
  const own = requestCounts.peek().map((counted) => ({ ...counted, minute: new Date(current) }));
  return summed([...own, ...stored]);
}

/** @param counted newest first */
function summed(counted: readonly CountedInMinute[]): RequestState {
  const minutes = new Map<number, RequestMinute>();
  const failures = new Map<string, FailedRequests>();
  for (const { minute, failure, requests, requestId } of counted) {
    const at = minutes.get(minute.getTime()) ?? { at: minute, requests: 0, failed: 0 };
    minutes.set(minute.getTime(), at);
    at.requests += requests;
    if (failure === null) continue;
    at.failed += requests;
    const same = failures.get(keyOf(failure));
    if (same) same.requests += requests;
    else failures.set(keyOf(failure), { ...failure, requests, requestId, lastAt: minute });
  }
  return {
    minutes: [...minutes.values()].toSorted((one, other) => one.at.getTime() - other.at.getTime()),
    failures: [...failures.values()]
      .toSorted((one, other) => other.requests - one.requests)
      .slice(0, MOST_SHOWN),
  };
}
