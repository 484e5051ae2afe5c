import type { Sql } from '../../src/platform/database/sql.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { listsOf, type Values, wholeOf } from '../lists-queries.ts';
import { seedContacts, seedLists } from '../lists-sample.ts';
import type { Report } from '../report.ts';
import type { BenchAccount } from '../seed.ts';
import { percentile, round, spread } from '../statistics.ts';
import type { BenchDatabase, World } from '../world.ts';
import { type Program, startProgram } from './program.ts';

const KEY = 'lists';
const OTHERS = 5;
const WARM = 3;
const NEEDED_MS = 20;

async function ask(
  program: Program,
  token: string,
  path: string,
  values: Values,
): Promise<[number, string]> {
  const begun = performance.now();
  const response = await fetch(
    `http://127.0.0.1:${program.port}${path}?${new URLSearchParams(values)}`,
    {
      headers: { authorization: `Bearer ${token}` },
    },
  );
  const text = await response.text();
  const ms = performance.now() - begun;
  if (!response.ok)
    throw new Error(`${path} ${JSON.stringify(values)}: ${response.status}: ${text}`);
  const found = JSON.parse(text) as unknown[] | { count: number };
  return [ms, Array.isArray(found) ? `${found.length} found` : `count ${found.count}`];
}

async function measure(
  world: World,
  report: Report,
  program: Program,
  token: string,
  lists: Readonly<Record<string, Values[]>>,
): Promise<Record<string, number[]>> {
  const figures: Record<string, number[]> = {};
  for (const [path, each] of Object.entries(lists)) {
    for (const values of each) {
      const times: number[] = [];
      let found = '';
      for (let number = -WARM; number < world.scale.searches; number += 1) {
        const [ms, answer] = await ask(program, token, path, values);
        found = answer;
        if (number >= 0) times.push(ms);
      }
      const name = `${path} ${new URLSearchParams(values)}`.replaceAll('%40', '@');
      figures[name] = times;
      const { p50, p99 } = spread(times);
      const words = [p50, p99].map((ms) => round(ms, 1).toString().padStart(6)).join(' ');
      report.round(KEY, 'p50, p99', `${words} ms  ${name} (${found})`);
    }
  }
  return figures;
}

function slowest(what: string, figures: Record<string, number[]>): Finding {
  const sorted = Object.entries(figures).toSorted(
    ([, a], [, b]) => percentile(b, 0.5) - percentile(a, 0.5),
  );
  const [name, times] = sorted[0] ?? ['', []];
  return {
    what: `${what}: the slowest of ${sorted.length}, p50`,
    detail: name,
    measured: round(percentile(times, 0.5), 1),
    needed: NEEDED_MS,
    aim: null,
    better: 'less',
    unit: ' ms',
    figures,
  };
}

/**
 * Writes a large account with labels, and other accounts with folders.
 * @returns the large account and one of the others
 */
async function seed(
  world: World,
  report: Report,
  database: BenchDatabase,
): Promise<[BenchAccount, BenchAccount]> {
  const [account, ...others] = world.sandboxAccounts;
  const [other] = others;
  if (!account || !other) throw new Error('there is no account');
  const sql: Sql = {
    query: async <R extends object>(text: string, values: readonly unknown[] = []) =>
      (await database.sql.query<R>(text, [...values])).rows,
  };
  const count = world.scale.searchedMessages;
  const begun = performance.now();
  await sql.query(`update "grant" set organization_unit = 'label' where id = $1`, [account.id]);
  for (const [index, one] of others.slice(0, OTHERS).entries()) {
    await seedLists(sql, one.id, count / OTHERS, false);
    await seedContacts(sql, one.id, count / OTHERS);
    if (index !== 2) continue;
    await seedLists(sql, account.id, count, true);
    await seedContacts(sql, account.id, count);
  }
  const seconds = round((performance.now() - begun) / 1_000, 0);
  report.note(`${2 * count} messages and as many contacts written in ${seconds} s`);
  await world.settle(database);
  return [account, other];
}

/**
 * Every list and filter over HTTP in a large account. Other accounts have as much data in the same
 * database.
 */
export const listsRow: BenchRow = {
  key: KEY,
  title: 'lists: every filter of a large account beside other accounts',
  async run(world, report) {
    const database = await world.database(KEY);
    const [{ id, token }, other] = await seed(world, report, database);
    const { rows } = await database.sql.query<{ email: string }>(
      'select email from "grant" where id = $1',
      [id],
    );
    const own = rows[0]?.email ?? '';
    const program = await startProgram(world, database, { ROLES: 'api' });
    const lists = await measure(
      world,
      report,
      program,
      token,
      listsOf(own, world.scale.searchedMessages),
    );
    const folders = await measure(world, report, program, other.token, {
      '/folders': [{}, { view: 'count' }],
    });
    const whole = await measure(world, report, program, token, wholeOf(own));
    await world.stop(program.child);
    await database.drop();
    return [
      slowest('lists and filters', { ...lists, ...folders }),
      slowest('counts and deep pages', whole),
    ];
  },
};
