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

/** What a list costs: milliseconds of each request, and pages that PostgreSQL reads for one. */
interface Cost {
  ms: number[];
  pages: number | null;
}

/** Reads the pages since its last call, or is `null` if they cannot be counted. */
type TakePages = Awaited<ReturnType<World['countPages']>>;

async function measure(
  world: World,
  report: Report,
  { program, takePages }: { program: Program; takePages: TakePages },
  token: string,
  lists: Readonly<Record<string, Values[]>>,
): Promise<Record<string, Cost>> {
  const figures: Record<string, Cost> = {};
  for (const [path, each] of Object.entries(lists)) {
    for (const values of each) {
      const times: number[] = [];
      let found = '';
      for (let number = -WARM; number < world.scale.searches; number += 1) {
        const [ms, answer] = await ask(program, token, path, values);
        found = answer;
        if (number >= 0) times.push(ms);
        // The first requests also plan their statements.
        else if (number === -1) await takePages?.();
      }
      const read = (await takePages?.()) ?? null;
      const pages = read === null ? null : Math.round(read / times.length);
      const name = `${path} ${new URLSearchParams(values)}`.replaceAll('%40', '@');
      figures[name] = { ms: times, pages };
      const { p50, p99 } = spread(times);
      const words = [p50, p99].map((ms) => round(ms, 1).toString().padStart(6)).join(' ');
      report.round(KEY, 'p50, p99', `${words} ms  ${pages ?? '–'} pages  ${name} (${found})`);
    }
  }
  return figures;
}

function slowest(what: string, costs: Record<string, Cost>): Finding {
  const sorted = Object.entries(costs).toSorted(
    ([, a], [, b]) => percentile(b.ms, 0.5) - percentile(a.ms, 0.5),
  );
  const [name, slowest] = sorted[0] ?? ['', { ms: [], pages: null }];
  return {
    what: `${what}: the slowest of ${sorted.length}, p50`,
    detail: name,
    measured: round(percentile(slowest.ms, 0.5), 1),
    needed: NEEDED_MS,
    aim: null,
    better: 'less',
    unit: ' ms',
    figures: costs,
  };
}

/** The list for which PostgreSQL reads most. Unlike its time, that is the same on each machine. */
function widest(what: string, costs: Record<string, Cost>): Finding[] {
  const counted = Object.entries(costs).flatMap(([name, { pages }]) =>
    pages === null ? [] : [{ name, pages }],
  );
  const [most] = counted.toSorted((a, b) => b.pages - a.pages);
  if (!most) return [];
  return [
    {
      what: `${what}: pages that PostgreSQL reads, the most of ${counted.length}`,
      detail: most.name,
      measured: most.pages,
      needed: null,
      aim: null,
      better: 'less',
      unit: ' pages',
      figures: {},
    },
  ];
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
    const takePages = await world.countPages(database);
    const program = await startProgram(world, database, { ROLES: 'api' });
    const costs = (token: string, lists: Readonly<Record<string, Values[]>>) =>
      measure(world, report, { program, takePages }, token, lists);
    const lists = {
      ...(await costs(token, listsOf(own, world.scale.searchedMessages))),
      ...(await costs(other.token, { '/folders': [{}, { view: 'count' }] })),
    };
    const whole = await costs(token, wholeOf(own));
    await world.stop(program.child);
    await database.drop();
    return Object.entries({ 'lists and filters': lists, 'counts and deep pages': whole }).flatMap(
      ([what, found]) => [slowest(what, found), ...widest(what, found)],
    );
  },
};
