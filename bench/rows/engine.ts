import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { countJobs, databaseNowMs, seedMessages, untilSettled } from '../seed.ts';
import { median, round } from '../statistics.ts';
import { type CpuEach, cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'engine';
const LIMIT_MS = 120_000;
/** Messages claimed at a time. A sender that takes no time always has enough of them. */
const SLOTS = '400';

/**
 * Settles `count` messages that are due now.
 * @returns messages a second, from their commit to the last result
 */
async function burst(world: World, { sql }: BenchDatabase, count: number): Promise<number> {
  const before = await countJobs(sql, 'successful');
  const nowMs = Math.round(await databaseNowMs(sql));
  const dueMs = Array.from({ length: count }, () => nowMs);
  await seedMessages(sql, { tag: KEY, accounts: world.accounts, dueMs });
  const begun = performance.now();
  const ended = await untilSettled(sql, LIMIT_MS);
  const sent = (await countJobs(sql, 'successful')) - before;
  if (sent !== count) throw new Error(`${sent} of ${count} messages were sent`);
  return count / ((ended - begun) / 1000);
}

async function measure(
  world: World,
  report: Report,
  database: BenchDatabase,
  pid: number,
): Promise<Finding[]> {
  const rates: number[] = [];
  const cpu: CpuEach[] = [];
  const { engineMessages, rounds, pending } = world.scale;
  await burst(world, database, Math.round(engineMessages / 6));
  for (let number = 1; number <= rounds; number += 1) {
    await world.settle(database);
    const count = startCpuCount(pid, world.postgresPid);
    const rate = await burst(world, database, engineMessages);
    const each = count(engineMessages);
    rates.push(rate);
    cpu.push(each);
    report.round(KEY, `${number}`, `${round(rate, 0)} a second${cpuWords(each)}`);
  }
  return [
    {
      what: `messages, ${pending} pending`,
      measured: round(median(rates), 0),
      needed: 7_000,
      aim: 10_000,
      better: 'more',
      unit: ' a second',
      rounds: rates.map((rate) => round(rate, 0)),
      figures: { rates, cpu, slots: Number(SLOTS) },
    },
  ];
}

/** Speed of the engine alone: a sender that takes no time, and millions of waiting rows. */
export const engineRow: BenchRow = {
  key: KEY,
  title: `engine alone: a sender of 0 ms, SEND_SLOTS=${SLOTS}`,
  async run(world, report) {
    const database = await world.pendingDatabase(KEY);
    const worker = await startWorker(
      world,
      database,
      { kind: 'instant', delayMs: 0 },
      { SEND_SLOTS: SLOTS },
    );
    const findings = await measure(world, report, database, worker.child.pid);
    await world.stop(worker.child);
    await database.drop();
    return findings;
  },
};
