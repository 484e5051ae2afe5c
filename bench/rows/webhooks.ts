import { EVENTS_UNPUBLISHED } from '../../src/platform/webhooks/events/publish-events.ts';
import type { BenchProcess } from '../child.ts';
import { compare, type Round } from '../comparison.ts';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { seedWebhook } from '../seed.ts';
import { round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import { queueEvents } from '../webhooks-sample.ts';
import type { BenchDatabase, World } from '../world.ts';
import { untilTrue } from './program.ts';
import { startWorker } from './worker.ts';

const KEY = 'webhooks';
const LIMIT_MS = 180_000;
const WEBHOOKS = 20;
/** The reference claims and stores nothing, so a delivery costs a multiple of it. */
const NEEDS = { share: 0.4, aim: null, cpu: 3, cpuMs: 0.09 };

type Side = 'carillon' | 'raw';

/** The database and processes of a round. */
interface Stage {
  database: BenchDatabase;
  receiver: BenchProcess;
  raw: BenchProcess;
  worker: BenchProcess;
}

/** Delivers events to all webhooks. Measured from their commit until the last result is written. */
async function deliverOurs(
  world: World,
  { database: { sql }, worker }: Stage,
  events: number,
): Promise<Round> {
  const deliveries = events * WEBHOOKS;
  await queueEvents(sql, world.accounts, events);
  const used = startCpuCount(worker.pid, world.postgresPid);
  const begun = performance.now();
  const isEmpty = async () =>
    (await sql.query(`select where ${EVENTS_UNPUBLISHED} or exists (select from hook_job)`))
      .rowCount === 0;
  const limits = { limitMs: LIMIT_MS, everyMs: 20 };
  const ended = await untilTrue('the last delivery', isEmpty, limits);
  return { perSecond: deliveries / ((ended - begun) / 1000), cpu: used(deliveries) };
}

async function deliverRaw(world: World, { raw }: Stage, events: number): Promise<Round> {
  const deliveries = events * WEBHOOKS;
  const used = startCpuCount(raw.pid, world.postgresPid);
  const ms = await raw.ask<number>('post', { events, webhooks: WEBHOOKS });
  return { perSecond: deliveries / (ms / 1000), cpu: used(deliveries) };
}

/** @throws {Error} unless each event was in one successful request to each webhook */
async function requireAttempts({ sql }: BenchDatabase, deliveries: number): Promise<void> {
  const { rows } = await sql.query<{ n: number; delivered: number }>(
    `select sum(deltas)::int as n, (sum(deltas) filter (where outcome = 'delivered'))::int as delivered
     from webhook_attempt`,
  );
  const { n = 0, delivered = 0 } = rows[0] ?? {};
  if (n !== deliveries || delivered !== deliveries)
    throw new Error(`${deliveries} deliveries have ${n} attempts, ${delivered} of them successful`);
}

async function measure(world: World, report: Report, stage: Stage): Promise<Finding[]> {
  const made: Record<Side, Round[]> = { carillon: [], raw: [] };
  const { rounds, webhookEvents } = world.scale;
  let received = 0;
  const run = async (side: Side, events: number): Promise<Round> => {
    const result = await (side === 'raw' ? deliverRaw : deliverOurs)(world, stage, events);
    received += events * WEBHOOKS;
    const arrived = await stage.receiver.ask<number>('received');
    if (arrived !== received) throw new Error(`${arrived} of ${received} deliveries arrived`);
    return result;
  };
  const warm = Math.round(webhookEvents / 4);
  for (const side of ['raw', 'carillon'] as const) await run(side, warm);
  for (let number = 1; number <= rounds; number += 1) {
    for (const side of ['raw', 'carillon'] as const) {
      await world.settle(stage.database);
      const result = await run(side, webhookEvents);
      made[side].push(result);
      const { perSecond, cpu } = result;
      report.round(KEY, `${number} ${side}`, `${round(perSecond, 0)} a second${cpuWords(cpu)}`);
    }
  }
  await requireAttempts(stage.database, (warm + rounds * webhookEvents) * WEBHOOKS);
  return compare('webhook deliveries', 'an undici pool', made, NEEDS);
}

/**
 * Fan-out of events to all webhooks of an application by one worker, compared with an undici pool
 * that posts the same bodies with the same signatures.
 */
export const webhooksRow: BenchRow = {
  key: KEY,
  title: `webhooks: each event to ${WEBHOOKS} webhooks of an application, one worker, against an undici pool`,
  async run(world, report) {
    const database = await world.database(KEY);
    const receiver = world.spawn('bench/processes/receiver.ts');
    const port = await receiver.ready<number>();
    for (let number = 0; number < WEBHOOKS; number += 1)
      await seedWebhook(database.sql, world.application.id, port, `hook-${number}`);
    const raw = world.spawn('bench/processes/raw-webhooks.ts', {
      BENCH_RECEIVER: String(port),
      BENCH_SECRET: world.application.clientSecret,
    });
    await raw.ready();
    const { child: worker } = await startWorker(world, database, { kind: 'instant', delayMs: 0 });
    const findings = await measure(world, report, { database, receiver, raw, worker });
    await world.stop(worker, raw, receiver);
    await database.drop();
    return findings;
  },
};
