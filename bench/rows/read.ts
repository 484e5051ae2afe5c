import autocannon from 'autocannon';
import { compare, type Round } from '../comparison.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { seedReading } from '../read-sample.ts';
import type { Report } from '../report.ts';
import type { BenchAccount } from '../seed.ts';
import { round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { type Program, startProgram } from './program.ts';

const KEY = 'read';
const ACCOUNTS = 20;
const PATHS = ['/messages', '/threads', '/events', '/job-statuses'] as const;
const LIMIT = 10;
const CONNECTIONS = [1, 50] as const;
/** The product's default pool size, for both sides. */
const POOL = '10';
const SIDES = ['raw', 'carillon'] as const;

type Side = (typeof SIDES)[number];
type Servers = Readonly<Record<Side, Program>>;

const pathOf = (path: string): string => `${path}?limit=${LIMIT}`;
const headersOf = ({ token }: BenchAccount) => ({ authorization: `Bearer ${token}` });

async function bodyOf({ port }: Program, path: string, account: BenchAccount): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: headersOf(account) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status}: ${text}`);
  return text;
}

/**
 * Checks that both sides send the same bytes for each account.
 * @returns length of the longest response in bytes
 * @throws {Error} if they do not, or if a page is not full
 */
async function assertSame(
  path: string,
  servers: Servers,
  accounts: readonly BenchAccount[],
): Promise<number> {
  let longest = 0;
  for (const account of accounts) {
    const [raw, own] = await Promise.all(SIDES.map((side) => bodyOf(servers[side], path, account)));
    if (raw === undefined || raw !== own)
      throw new Error(`${path}: the responses differ:\n${raw}\n${own}`);
    if ((JSON.parse(raw) as unknown[]).length !== LIMIT)
      throw new Error(`${path}: not ${LIMIT} items: ${raw}`);
    longest = Math.max(longest, Buffer.byteLength(raw));
  }
  return longest;
}

/** Runs one round. @throws {Error} if a request fails */
async function fire(
  world: World,
  { child, port }: Program,
  path: string,
  connections: number,
  length: { duration: number } | { amount: number },
): Promise<Round> {
  const count = startCpuCount(child.pid, world.postgresPid);
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    ...length,
    requests: world.sandboxAccounts
      .slice(0, ACCOUNTS)
      .map((account) => ({ method: 'GET' as const, path, headers: headersOf(account) })),
  });
  const { non2xx, errors, timeouts } = result;
  if (non2xx + errors + timeouts > 0)
    throw new Error(`${path}: ${non2xx} refused, ${errors} broken, ${timeouts} too late`);
  return { perSecond: result['2xx'] / result.duration, cpu: count(result['2xx']) };
}

async function measure(
  world: World,
  report: Report,
  servers: Servers,
  path: string,
  connections: number,
): Promise<Finding[]> {
  const { rounds: most, readSeconds } = world.scale;
  const rounds: Record<Side, Round[]> = { carillon: [], raw: [] };
  for (let number = 1; number <= most; number += 1) {
    for (const side of SIDES) {
      const result = await fire(world, servers[side], path, connections, { duration: readSeconds });
      rounds[side].push(result);
      const said = `${round(result.perSecond, 0)} a second${cpuWords(result.cpu)}`;
      report.round(KEY, `${number} ${side}, ${connections}`, `${said}  ${path}`);
    }
  }
  const what = `GET ${path} over ${connections === 1 ? '1 connection' : `${connections} connections`}`;
  return compare(what, 'raw Express', rounds, { share: 0.8, aim: 1, cpu: 1.3 });
}

async function seed(world: World, report: Report, database: BenchDatabase): Promise<void> {
  const begun = performance.now();
  const { readMessages } = world.scale;
  await seedReading(database.sql, world.sandboxAccounts.slice(0, ACCOUNTS), readMessages);
  const seconds = round((performance.now() - begun) / 1000, 0);
  report.note(`${ACCOUNTS} mailboxes of ${readMessages} messages written in ${seconds} s`);
  await world.settle(database);
}

/**
 * Pages of ten items of the lists that clients read most, compared with a bare Express handler that
 * runs one good statement and sends the same bytes.
 */
export const readRow: BenchRow = {
  key: KEY,
  title: 'read: pages of ten items over 1 and 50 connections, against raw Express and pg',
  async run(world, report) {
    const database = await world.database(KEY);
    await seed(world, report, database);
    const accounts = world.sandboxAccounts.slice(0, ACCOUNTS);
    const raw = world.spawn('bench/processes/raw-read.ts', {
      DATABASE_URL: database.url,
      DATABASE_POOL: POOL,
      BENCH_ACCOUNTS: JSON.stringify(
        Object.fromEntries(accounts.map((one) => [headersOf(one).authorization, one.id])),
      ),
    });
    const servers: Servers = {
      raw: { child: raw, port: await raw.ready<number>() },
      carillon: await startProgram(world, database, { ROLES: 'api', DATABASE_POOL: POOL }),
    };
    const findings: Finding[] = [];
    for (const path of PATHS.map(pathOf)) {
      const bytes = await assertSame(path, servers, accounts);
      report.note(`${path}: the same ${round(bytes / 1000, 1)} kB from both sides`);
      for (const side of SIDES)
        await fire(world, servers[side], path, Math.max(...CONNECTIONS), {
          amount: world.scale.readWarmRequests,
        });
      for (const connections of CONNECTIONS)
        findings.push(...(await measure(world, report, servers, path, connections)));
    }
    await world.stop(servers.carillon.child, raw);
    await database.drop();
    return findings;
  },
};
