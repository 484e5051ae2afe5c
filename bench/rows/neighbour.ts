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
/** Seconds of steady traffic before the messages of the large account are due. */
const BEFORE_SECONDS = 5;
/**
 * Milliseconds to wait for the last messages. A message that is still missing counts as infinitely
 * late.
 */
const AFTER_MS = 5_000;

/**
 * Inserts steady traffic of many accounts, and many messages of one account that are all due at the
 * same time.
 */
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

/** Lateness of other accounts while one account has tens of thousands of messages due at once. */
export const neighbourRow: BenchRow = {
  key: KEY,
  title: `a large account beside others: ${OTHERS_PER_SECOND} messages a second of the others, ${SEND_MS} ms per send`,
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
    // A missing message is later than any other.
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
      `meanwhile ${large.length} of ${world.scale.neighbourMessages} messages of the large account were sent`,
    );
    await world.stop(child);
    await database.drop();
    const measured = round(percentile(all, 0.99) / 1000, 3);
    return [
      {
        what: `p99 of the others beside ${world.scale.neighbourMessages} messages`,
        measured,
        needed: 0.9,
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
