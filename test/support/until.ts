import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import request from 'supertest';

/** Longest pause between two probes. Shorter ones would take much of a run's processor time. */
const LONGEST_PAUSE_MS = 100;
/** After this time a wait says on the standard error what it has seen so far. */
const PATIENCE_MS = 10_000;
/** Longest text about what a probe has seen. */
const MOST_CHARACTERS = 1_000;

/** What the probe of a wait has read last: the rows of a query, or a response. */
interface Seen {
  last?: unknown;
}
const waiting = new AsyncLocalStorage<Seen>();

/**
 * Calls `probe` repeatedly until it returns a value, and returns that value. Use it to wait for
 * another process or a worker: tests never sleep for a guessed time. After 10 seconds it prints
 * what the probe has read last: the rows of a query or the response to a request.
 * @throws Error that says what was read last, if there is no value within `limitMs`
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false>,
  limitMs = 60_000,
): Promise<T> {
  const start = performance.now();
  const seen: Seen = {};
  let patience = PATIENCE_MS;
  for (let pause = 10; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 1.3)) {
    const value = await waiting.run(seen, probe);
    if (value) return value;
    const waited = performance.now() - start;
    if (waited > limitMs) throw new Error(`waited in vain for: ${what}${described(seen)}`);
    if (waited > patience) {
      process.stderr.write(`has waited for 10 s for: ${what}${described(seen)}\n`);
      patience = Infinity;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function described({ last }: Seen): string {
  if (last === undefined) return '';
  const text = typeof last === 'string' ? last : JSON.stringify(last);
  return `; last seen: ${text.slice(0, MOST_CHARACTERS)}`;
}

/*
 * Every query and every request of a probe is noted, so that no test has to do it.
 */

const { prototype: client } = pg.Client as unknown as {
  prototype: { query(...values: unknown[]): unknown };
};
const { query } = client;
client.query = function (this: pg.Client, ...values) {
  const answer = query.apply(this, values);
  const seen = waiting.getStore();
  if (!seen || !(answer instanceof Promise)) return answer;
  return answer.then((result: pg.QueryResult) => {
    seen.last = result.rows;
    return result;
  });
};

type Callback = (error: unknown, response: request.Response | undefined) => void;
const { prototype: sent } = request.Test as unknown as {
  prototype: { end(callback: Callback): unknown };
};
const { end } = sent;
sent.end = function (this: typeof sent, callback) {
  const seen = waiting.getStore();
  return end.call(this, (error, response) => {
    if (seen && response) seen.last = `${response.status} ${response.text}`;
    callback(error, response);
  });
};
