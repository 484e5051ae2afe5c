import pg from 'pg';
import { Clock } from '../../src/platform/base/time/clock.ts';
import type { TestDatabase } from './test-database.ts';

/** Stands before PostgreSQL's own functions, for every connection that is opened afterwards. */
const TIME = `
  create schema test_time;
  create table test_time.passed (by interval not null);
  insert into test_time.passed values ('0');
  create function test_time.now() returns timestamptz language sql stable parallel safe
    as 'select pg_catalog.now() + by from test_time.passed';
  create function test_time.clock_timestamp() returns timestamptz language sql volatile parallel safe
    as 'select pg_catalog.clock_timestamp() + by from test_time.passed'`;

/**
 * A clock that goes like the real one until time passes: for the program, and for the SQL of its database. Give it to `startTestApp`.
 */
export class PassingClock extends Clock {
  #aheadMs = 0;
  #url = '';

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** Puts the database on this clock. Called by `startTestApp` before anything else is connected to it. */
  async govern({ url }: TestDatabase): Promise<void> {
    this.#url = url;
    const name = new URL(url).pathname.slice(1);
    await this.#query(
      `${TIME}; alter database ${name} set search_path = test_time, pg_catalog, public`,
    );
  }

  /** Lets so many milliseconds pass in a moment. What is due by then is found at the engine's next tick, within a second. */
  async pass(milliseconds: number): Promise<void> {
    await this.#query(`update test_time.passed set by = by + interval '${milliseconds} ms'`);
    this.#aheadMs += milliseconds;
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
