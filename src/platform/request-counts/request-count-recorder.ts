import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '../database/sql.ts';
import { type CountedRequests, keyOf, requestCounts } from './request-counts.ts';

/** $1 keys, $2 methods, $3 routes, $4 statuses, $5 errors, $6 counts, $7 ids of requests. */
const STORE = `
  insert into request_count as c (minute, key, method, route, status, error, requests, request_id)
  select date_trunc('minute', now()), u.* from unnest(
    $1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::bigint[], $7::text[]) u(key) order by key
  on conflict (minute, key) do update set
    requests = c.requests + excluded.requests, request_id = coalesce(excluded.request_id, c.request_id)`;

/** Adds how the requests to this process ended to the counts of all processes. */
@Injectable()
export class RequestCountRecorder {
  constructor(private readonly database: Database) {}

  /**
   * Runs every fifteen seconds, and runs no statement if there was no request.
   * @throws the driver's error; then the requests are counted again at the next call
   */
  async store(): Promise<void> {
    const counted = requestCounts.take();
    if (counted.length === 0) return;
    try {
      await this.database.query(STORE, columnsOf(counted));
    } catch (error) {
      requestCounts.putBack(counted);
      throw error;
    }
  }
}

const columnsOf = (counted: readonly CountedRequests[]): unknown[][] => [
  counted.map(({ failure }) => (failure === null ? 'ok' : keyOf(failure))),
  counted.map(({ failure }) => failure?.method ?? null),
  counted.map(({ failure }) => failure?.route ?? null),
  counted.map(({ failure }) => failure?.status ?? null),
  counted.map(({ failure }) => failure?.error ?? null),
  counted.map(({ requests }) => requests),
  counted.map(({ requestId }) => requestId),
];

const PRUNE = `
  delete from request_count
  where (minute, key) in (
    select minute, key from request_count where minute < $1 order by minute, key limit 1000 for update skip locked)
  returning 1`;
const KEPT_MS = 3_600_000;

/**
 * Removes counts that are older than an hour.
 * @returns the number of removed rows, at most 1000
 */
export async function pruneRequestCounts(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [new Date(now.getTime() - KEPT_MS)])).length;
}
