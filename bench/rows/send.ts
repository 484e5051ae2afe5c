import type { BenchProcess } from '../child.ts';
import { compare, type Round } from '../comparison.ts';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { countJobs, databaseNowMs, seedMessages, seedWebhook, untilSettled } from '../seed.ts';
import { round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'send';
const LIMIT_MS = 120_000;
/** Each account sends over its own connection. The product keeps up to 128. */
const ACCOUNTS = 100;
/** The reference stores nothing, so sending costs a multiple of it. */
const NEEDS = { share: 0.7, aim: 0.8, cpu: 3, cpuMs: 0.4 };

type Side = 'carillon' | 'raw';

interface Taken {
  messages: number;
  connections: number;
}

/** The database and servers of a round. */
interface Stage {
  database: BenchDatabase;
  sink: BenchProcess;
  receiver: BenchProcess;
  raw: BenchProcess;
  worker: BenchProcess;
}

/**
 * Checks the sink.
 * @returns number of connections opened for the messages
 * @throws {Error} unless the sink received exactly `count` messages
 */
async function requireTaken(sink: BenchProcess, count: number): Promise<number> {
  const { messages, connections } = await sink.ask<Taken>('take');
  if (messages !== count) throw new Error(`${messages} of ${count} messages arrived`);
  return connections;
}

/**
 * Sends messages that are due at once. Measured from their commit until the last result is written.
 */
async function sendOurs(
  world: World,
  { database: { sql }, sink, worker }: Stage,
  count: number,
): Promise<Round> {
  const before = await countJobs(sql, 'successful');
  const nowMs = Math.round(await databaseNowMs(sql));
  const dueMs = Array.from({ length: count }, () => nowMs);
  await seedMessages(sql, { tag: KEY, accounts: world.accounts.slice(0, ACCOUNTS), dueMs });
  const used = startCpuCount(worker.pid, world.postgresPid);
  const begun = performance.now();
  const ended = await untilSettled(sql, LIMIT_MS);
  const cpu = used(count);
  const sent = (await countJobs(sql, 'successful')) - before;
  if (sent !== count) throw new Error(`${sent} of ${count} messages were sent`);
  await requireTaken(sink, count);
  return { perSecond: count / ((ended - begun) / 1000), cpu };
}

async function sendRaw(world: World, { raw, sink }: Stage, count: number): Promise<Round> {
  const used = startCpuCount(raw.pid, world.postgresPid);
  const ms = await raw.ask<number>('send', count);
  const cpu = used(count);
  await requireTaken(sink, count);
  return { perSecond: count / (ms / 1000), cpu };
}

/** @throws {Error} unless every sent message has an event for the webhook */
async function requireEvents({ sql }: BenchDatabase): Promise<void> {
  const sent = await countJobs(sql, 'successful');
  const { rows } = await sql.query<{ n: number }>('select count(*)::int as n from webhook_event');
  if (rows[0]?.n !== sent)
    throw new Error(`${sent} messages were sent, but ${rows[0]?.n} events were written`);
}

async function measure(world: World, report: Report, stage: Stage): Promise<Finding[]> {
  const made: Record<Side, Round[]> = { carillon: [], raw: [] };
  const run = (side: Side, count: number) =>
    side === 'raw' ? sendRaw(world, stage, count) : sendOurs(world, stage, count);
  const { rounds, sendMessages, sendWarmMessages } = world.scale;
  for (const side of ['raw', 'carillon'] as const) await run(side, sendWarmMessages);
  for (let number = 1; number <= rounds; number += 1) {
    for (const side of ['raw', 'carillon'] as const) {
      // Deliveries of earlier rounds still wait because of the webhook's pace. They are not part of
      // this round.
      await stage.database.sql.query(`set carillon.hook_job = 'lanes'`);
      await stage.database.sql.query('delete from hook_job where state = 0');
      await world.settle(stage.database);
      const result = await run(side, sendMessages);
      made[side].push(result);
      const { perSecond, cpu } = result;
      report.round(KEY, `${number} ${side}`, `${round(perSecond, 0)} a second${cpuWords(cpu)}`);
    }
  }
  await requireEvents(stage.database);
  report.note(
    `${await stage.receiver.ask<number>('received')} webhook deliveries arrived during the round`,
  );
  return compare('sent messages', "nodemailer's pool", made, NEEDS);
}

/**
 * Sending by one worker, including everything that it writes, compared with nodemailer's pool into
 * the same sink.
 */
export const sendRow: BenchRow = {
  key: KEY,
  title: `send: one worker, ${ACCOUNTS} accounts, webhook rows included, against nodemailer's pool of 20`,
  async run(world, report) {
    const database = await world.database(KEY);
    const sink = world.spawn('bench/processes/smtp-sink.ts');
    const receiver = world.spawn('bench/processes/receiver.ts');
    const port = await sink.ready<number>();
    await seedWebhook(
      database.sql,
      world.accounts[0]?.applicationId ?? '',
      await receiver.ready<number>(),
    );
    const raw = world.spawn('bench/processes/raw-pool.ts', { BENCH_SINK: String(port) });
    await raw.ready();
    const { child: worker } = await startWorker(world, database, { kind: 'smtp', port });
    const findings = await measure(world, report, { database, sink, receiver, raw, worker });
    await world.stop(worker, raw, receiver, sink);
    await database.drop();
    return findings;
  },
};
