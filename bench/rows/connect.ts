import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { BenchProcess } from '../child.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { SAMPLE_BODY } from '../sample.ts';
import { untilSettled } from '../seed.ts';
import { spread } from '../statistics.ts';
import type { World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'connect';
const WARM = 20;
/**
 * Longest pause between two messages, in milliseconds. The worker goes back to sleep in between, so
 * messages arrive at any point of its cycle.
 */
const PAUSE_MS = 40;

interface FirstSender {
  from: string;
  acceptedNs: string;
}

/**
 * Posts one message of an account.
 * @returns when, by the clock that all processes of the machine share
 */
async function post(port: number, token: string): Promise<bigint> {
  const begun = process.hrtime.bigint();
  const response = await fetch(`http://127.0.0.1:${port}/v2/outbox`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(SAMPLE_BODY),
  });
  if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
  return begun;
}

/** When each account's first connection was accepted. */
async function acceptedAt(sink: BenchProcess): Promise<Map<string, bigint>> {
  const { firstSenders } = await sink.ask<{ firstSenders: FirstSender[] }>('take');
  return new Map(firstSenders.map(({ from, acceptedNs }) => [from, BigInt(acceptedNs)]));
}

/**
 * Posts messages one by one, each for an account without a connection.
 * @returns milliseconds until each connection was accepted
 */
async function singles(
  world: World,
  sql: pg.Client,
  port: number,
  sink: BenchProcess,
): Promise<number[]> {
  const accounts = world.accounts.slice(0, WARM + world.scale.connectPosts);
  const posted: { email: string; at: bigint }[] = [];
  for (const { email, token } of accounts) {
    posted.push({ email, at: await post(port, token) });
    await delay(Math.random() * PAUSE_MS);
  }
  await untilSettled(sql, 60_000);
  const accepted = await acceptedAt(sink);
  return posted.slice(WARM).map(({ email, at }) => {
    const then = accepted.get(email);
    if (then === undefined) throw new Error(`the mail server got no connection from ${email}`);
    return Number(then - at) / 1e6;
  });
}

/**
 * Time from the call of POST until the mail server accepts the connection, in one process with both
 * roles.
 */
export const connectRow: BenchRow = {
  key: KEY,
  title: 'POST now to SMTP connect: single messages of accounts without a connection',
  async run(world, report) {
    const database = await world.database(KEY);
    const sink = world.spawn('bench/processes/smtp-sink.ts');
    const sinkPort = await sink.ready<number>();
    const { child, port } = await startWorker(
      world,
      database,
      { kind: 'smtp', port: sinkPort },
      { ROLES: 'api,worker' },
    );
    const times = spread(await singles(world, database.sql, port, sink));
    report.round(
      KEY,
      `${times.count} messages`,
      `p50 ${times.p50} ms, p99 ${times.p99} ms, max ${times.max} ms`,
    );
    await world.stop(child, sink);
    await database.drop();
    return [
      {
        what: `p99 of ${times.count} messages`,
        measured: times.p99,
        needed: 50,
        aim: 15,
        better: 'less',
        unit: ' ms',
        figures: times,
      },
    ] satisfies Finding[];
  },
};
