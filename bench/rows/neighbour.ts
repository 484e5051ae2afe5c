import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { BenchRow, Finding } from '../finding.ts';
import { databaseNowMs, seedMessages } from '../seed.ts';
import { percentile, round, spread } from '../statistics.ts';
import type { World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'neighbour';
const OTHERS_PER_SECOND = 100;
const SEND_MS = 20;
const LEAD_MS = 4_000;
/** Steady traffic alone, before the large account comes. */
const BEFORE_SECONDS = 5;
/** For the last ones to arrive; whatever has not by then counts with its lateness so far. */
const AFTER_MS = 5_000;

/** Steady traffic of many accounts, and the many messages of one that are all due at one moment. */
async function seed(world: World, sql: pg.Client): Promise<{ count: number; endMs: number }> {
  const [large, ...others] = world.accounts;
  if (!large) throw new Error('there are no accounts');
  const { neighbourMessages, neighbourSeconds } = world.scale;
  const firstMs = Math.round(await databaseNowMs(sql)) + LEAD_MS;
  const burstMs = firstMs + BEFORE_SECONDS * 1000;
  const times = (seconds: number, fromMs: number) =>
    Array.from(
      { length: seconds * OTHERS_PER_SECOND },
      (_, index) => fromMs + (index * 1000) / OTHERS_PER_SECOND,
    );
  await seedMessages(sql, {
    tag: 'before',
    accounts: others,
    dueMs: times(BEFORE_SECONDS, firstMs),
  });
  const dueMs = times(neighbourSeconds, burstMs);
  await seedMessages(sql, { tag: 'others', accounts: others, dueMs });
  await seedMessages(sql, {
    tag: 'large',
    accounts: [large],
    dueMs: Array.from({ length: neighbourMessages }, () => burstMs),
  });
  return { count: dueMs.length, endMs: burstMs + neighbourSeconds * 1000 };
}

/** Others' lateness while one account has tens of thousands of messages due at once. */
export const neighbourRow: BenchRow = {
  key: KEY,
  title: `a large account beside others: ${OTHERS_PER_SECOND} a second of others, ${SEND_MS} ms per send`,
  async run(world, report) {
    const database = await world.database(KEY);
    const { child } = await startWorker(world, database, { kind: 'instant', delayMs: SEND_MS });
    const { count, endMs } = await seed(world, database.sql);
    await delay(endMs - (await databaseNowMs(database.sql)) + AFTER_MS);
    const {
      before = [],
      others = [],
      large = [],
    } = await child.ask<Partial<Record<'before' | 'others' | 'large', number[]>>>('lateness');
    // A message that has not come is later than any that has.
    const missing = Array.from({ length: count - others.length }, () => Infinity);
    const all = [...others, ...missing];
    const [alone, beside] = [spread(before), spread(all)];
    report.round(
      KEY,
      'before',
      `others p50 ${alone.p50} ms, p99 ${alone.p99} ms, max ${alone.max} ms`,
    );
    report.round(
      KEY,
      'beside',
      `others p50 ${beside.p50} ms, p99 ${beside.p99} ms, max ${beside.max} ms`,
    );
    report.note(
      `of the large account ${large.length} of ${world.scale.neighbourMessages} were sent meanwhile`,
    );
    await world.stop(child);
    await database.drop();
    const measured = round(percentile(all, 0.99) / 1000, 3);
    return [
      {
        what: `p99 of the others beside ${world.scale.neighbourMessages} messages`,
        measured,
        needed: 1.2,
        aim: 0.6,
        better: 'less',
        unit: ' s',
        figures: {
          before: alone,
          beside,
          missing: missing.length,
          ofTheLargeAccount: large.length,
        },
      },
    ] satisfies Finding[];
  },
};
