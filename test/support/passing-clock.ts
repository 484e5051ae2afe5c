import pg from 'pg';
import { Clock } from '../../src/platform/base/time/clock.ts';
import type { TestDatabase } from './test-database.ts';

/** Replaces PostgreSQL's time functions for every connection that is opened later. */
const TIME = `
  create schema test_time;
  create table test_time.passed (by interval not null);
  insert into test_time.passed values ('0');
  create function test_time.now() returns timestamptz language sql stable parallel safe
    as 'select pg_catalog.now() + by from test_time.passed';
  create function test_time.clock_timestamp() returns timestamptz language sql volatile parallel safe
    as 'select pg_catalog.clock_timestamp() + by from test_time.passed'`;

/**
 * A clock that runs like the real one, and that tests can move forward. It applies to the program
 * and to the SQL of its database. Give it to `startTestApp`.
 */
export class PassingClock extends Clock {
  #aheadMs = 0;
  #url = '';

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /**
   * Makes the database use this clock. `startTestApp` calls it before anything else connects to the
   * database.
   */
  async govern({ url }: TestDatabase): Promise<void> {
    this.#url = url;
    const name = new URL(url).pathname.slice(1);
    await this.#query(
      `${TIME}; alter database ${name} set search_path = test_time, pg_catalog, public`,
    );
  }

  /**
   * Moves the clock forward by `milliseconds`. The engine finds rows that are due by then at its
   * next tick, within a second.
   */
  async pass(milliseconds: number): Promise<void> {
    // First, so that the program has the new time when the database lets it claim due rows.
    this.#aheadMs += milliseconds;
    await this.#query(`update test_time.passed set by = by + interval '${milliseconds} ms'`);
  }

  async #query(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }
}
