import type pg from 'pg';
import { STEADY_PLAN_SETTINGS } from '../../src/platform/database/connections.ts';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { databaseNowMs, seedMessages, seedPending } from '../seed.ts';
import { median, round } from '../statistics.ts';
import type { BenchDatabase, World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'claim';
/** Rows per claim. The accounts have free slots, so the claim reads no further rows. */
const PER_CLAIM = 50;
const DUE = 1_000;
/** The first claim makes the plan. The others load the pages that it reads into memory. */
const WARM = 10;

type Size = 'small' | 'large';

interface Explained {
  'Planning Time': number;
  'Execution Time': number;
}

/**
 * Runs the claim once and rolls it back.
 * @returns milliseconds on the server, including the remaining planning
 */
async function claimOnce(sql: pg.Client): Promise<number> {
  await sql.query('begin');
  const { rows } = await sql.query<{ 'QUERY PLAN': Explained[] }>(
    `explain (analyze, timing off, format json) execute claim (${PER_CLAIM}, 1, '-infinity', ${PER_CLAIM}, 8, '{}', 0)`,
  );
  await sql.query('rollback');
  const [explained] = rows[0]?.['QUERY PLAN'] ?? [];
  if (!explained) throw new Error('the claim was not explained');
  return explained['Planning Time'] + explained['Execution Time'];
}

/**
 * Alternates between both databases claim by claim, so that both see the same load of the machine.
 * @returns medians
 */
async function claims(
  databases: Readonly<Record<Size, BenchDatabase>>,
  count: number,
): Promise<Record<Size, number>> {
  const times: Record<Size, number[]> = { small: [], large: [] };
  // The rolled back claims have left dead rows on both sides, which are not to be measured.
  for (const { sql } of Object.values(databases)) await sql.query('vacuum send_job');
  for (let n = 0; n < count; n += 1) {
    for (const size of ['small', 'large'] as const)
      times[size].push(await claimOnce(databases[size].sql));
  }
  return { small: median(times.small), large: median(times.large) };
}

/**
 * Adds some due rows to the waiting ones, and prepares the statement as the program's connections
 * do.
 */
async function prepare(world: World, { sql }: BenchDatabase, statement: string): Promise<void> {
  const nowMs = Math.round(await databaseNowMs(sql)) - 10_000;
  const dueMs = Array.from({ length: DUE }, (_, index) => nowMs + index);
  await seedMessages(sql, { tag: KEY, accounts: world.accounts, dueMs });
  await sql.query('vacuum (analyze) send_job');
  for (const [name, value] of Object.entries(STEADY_PLAN_SETTINGS))
    await sql.query(`set ${name} = ${value}`);
  await sql.query(`prepare claim (int, int, timestamptz, int, int, uuid[], int) as ${statement}`);
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
    const times = await claims(databases, claimsPerRound);
    for (const size of ['small', 'large'] as const) {
      rounds[size].push(times[size]);
      report.round(KEY, `${number} ${size}`, `${round(times[size], 3)} ms for ${PER_CLAIM} rows`);
    }
  }
  const [small, large] = [median(rounds.small), median(rounds.large)];
  const finding: Finding = {
    what: `a claim among ${claimLarge} rows, as a multiple of one among ${claimSmall}`,
    detail: `${round(large, 2)} ms against ${round(small, 2)} ms`,
    measured: round(large / small),
    needed: 1.2,
    aim: 1,
    better: 'less',
    unit: '',
    rounds: rounds.large.map((ms, index) => round(ms / (rounds.small[index] ?? Number.NaN))),
    figures: rounds,
  };
  return [finding];
}

/** The program's own claim statement. */
async function claimStatement(world: World, database: BenchDatabase): Promise<string> {
  const { child } = await startWorker(
    world,
    database,
    { kind: 'instant', delayMs: 0 },
    { ROLES: 'api' },
  );
  const statement = await child.ask<string>('claimStatement');
  await world.stop(child);
  return statement;
}

/** The database's cost of a claim while very many rows wait for later. */
export const claimRow: BenchRow = {
  key: KEY,
  title: `claim: the statement that claims ${PER_CLAIM} due messages, among few and among many waiting rows`,
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
