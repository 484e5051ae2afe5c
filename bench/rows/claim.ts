import type pg from 'pg';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { databaseNowMs, seedMessages, seedPending } from '../seed.ts';
import { median, round } from '../statistics.ts';
import type { BenchDatabase, World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'claim';
const PER_CLAIM = 50;
const WINDOW = 64;
/** Rows that were in hand when a worker died; there are none. */
const SUSPECTS = 10;
const DUE = 1_000;
/** More executions than PostgreSQL looks at before it settles on one plan. */
const WARM = 10;

type Size = 'small' | 'large';

/** Runs the claim once and takes it back. @returns milliseconds of the server */
async function claimOnce(sql: pg.Client): Promise<number> {
  await sql.query('begin');
  const { rows } = await sql.query<{ 'QUERY PLAN': { 'Execution Time': number }[] }>(
    `explain (analyze, timing off, format json) execute claim (${PER_CLAIM}, 1, '-infinity', ${WINDOW}, 8)`,
  );
  await sql.query('rollback');
  return rows[0]?.['QUERY PLAN'][0]?.['Execution Time'] ?? Number.NaN;
}

async function claims(sql: pg.Client, count: number): Promise<number> {
  // What was taken back has left dead rows behind; for both sides alike, but they are not what is measured.
  await sql.query('vacuum send_job');
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) times.push(await claimOnce(sql));
  return median(times);
}

/** Puts some due rows among the waiting ones, and prepares the statement as the product does. */
async function prepare(world: World, { sql }: BenchDatabase, statement: string): Promise<void> {
  const nowMs = Math.round(await databaseNowMs(sql)) - 10_000;
  const dueMs = Array.from({ length: DUE }, (_, index) => nowMs + index);
  await seedMessages(sql, { tag: KEY, accounts: world.accounts, dueMs });
  await sql.query('vacuum (analyze) send_job');
  await sql.query(`prepare claim (int, int, timestamptz, int, int) as ${statement}`);
  for (let n = 0; n < WARM; n += 1) await claimOnce(sql);
}

async function measure(
  world: World,
  report: Report,
  databases: Readonly<Record<Size, BenchDatabase>>,
): Promise<Finding[]> {
  const rounds: Record<Size, number[]> = { small: [], large: [] };
  const { claimsPerRound, claimSmall, claimLarge } = world.scale;
  for (let number = 1; number <= world.scale.rounds; number += 1) {
    for (const size of ['small', 'large'] as const) {
      const time = await claims(databases[size].sql, claimsPerRound);
      rounds[size].push(time);
      report.round(KEY, `${number} ${size}`, `${round(time, 3)} ms for ${PER_CLAIM} rows`);
    }
  }
  const [small, large] = [median(rounds.small), median(rounds.large)];
  const what = `${round(large, 2)} ms among ${claimLarge} rows against ${round(small, 2)} ms among ${claimSmall}`;
  const measured = round(large / small);
  return [{ what, measured, needed: 1.2, aim: 1, better: 'less', unit: '', figures: rounds }];
}

/** The statement of the program itself. */
async function claimStatement(world: World, database: BenchDatabase): Promise<string> {
  const { child } = await startWorker(world, database, { kind: 'instant', delayMs: 0 }, { ROLES: 'api' });
  const statement = await child.ask<string>('claimStatement');
  await world.stop(child);
  return statement;
}

/** What a claim costs the database when very many rows wait for later. */
export const claimRow: BenchRow = {
  key: KEY,
  title: `claim: the statement that takes ${PER_CLAIM} due messages, among few and among many waiting ones`,
  async run(world, report) {
    const { claimSmall, claimLarge, pending } = world.scale;
    const small = await world.database(`${KEY}_small`);
    const large = await world.pendingDatabase(`${KEY}_large`);
    const statement = await claimStatement(world, small);
    await seedPending(small.sql, world.accounts, 0, claimSmall - DUE);
    await seedPending(large.sql, world.accounts, pending, claimLarge - DUE);
    for (const database of [small, large]) await prepare(world, database, statement);
    await world.settle(small);
    await world.settle(large);
    const findings = await measure(world, report, { small, large });
    await small.drop();
    await large.drop();
    return findings;
  },
};
