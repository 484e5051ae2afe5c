import type { BenchRow, Finding } from '../finding.ts';
import { countJobs, databaseNowMs, seedMessages, untilSettled } from '../seed.ts';
import { spread } from '../statistics.ts';
import type { BenchDatabase, World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'lateness';
const PER_SECOND = 200;
const LEAD_MS = 5_000;

/** Schedules messages evenly over the coming seconds. Resolves when all of them have been sent. */
async function schedule(
  world: World,
  { sql }: BenchDatabase,
  tag: string,
  seconds: number,
): Promise<void> {
  const before = await countJobs(sql, 'successful');
  const count = seconds * PER_SECOND;
  const firstMs = Math.round(await databaseNowMs(sql)) + LEAD_MS;
  const dueMs = Array.from({ length: count }, (_, index) => firstMs + (index * 1000) / PER_SECOND);
  await seedMessages(sql, { tag, accounts: world.accounts, dueMs });
  await untilSettled(sql, seconds * 1000 + 60_000, 500);
  const sent = (await countJobs(sql, 'successful')) - before;
  if (sent !== count) throw new Error(`${sent} of ${count} messages were sent`);
}

/** How long after its due time a message reaches the sender, at a steady 200 messages a second. */
export const latenessRow: BenchRow = {
  key: KEY,
  title: 'start lateness: 200 a second, scheduled ahead and evenly spaced',
  async run(world, report) {
    const { pending, latenessSeconds } = world.scale;
    const database = await world.pendingDatabase(KEY);
    const { child } = await startWorker(world, database, { kind: 'instant', delayMs: 0 });
    await schedule(world, database, 'warm', 2);
    await world.settle(database);
    await schedule(world, database, KEY, latenessSeconds);
    const { [KEY]: values = [] } = await child.ask<Record<string, number[]>>('lateness');
    const late = spread(values);
    report.round(
      KEY,
      `${latenessSeconds} s`,
      `p50 ${late.p50} ms, p99 ${late.p99} ms, max ${late.max} ms`,
    );
    await world.stop(child);
    await database.drop();
    const common = { better: 'less', unit: ' ms', figures: { ...late, pending } } as const;
    return [
      { what: `p99, ${pending} pending`, measured: late.p99, needed: 100, aim: 20, ...common },
      { what: 'maximum', measured: late.max, needed: 1_000, aim: null, ...common },
    ] satisfies Finding[];
  },
};
