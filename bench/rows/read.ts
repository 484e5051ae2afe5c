import autocannon from 'autocannon';
import { compareCpu, type Round } from '../comparison.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { seedReading } from '../read-sample.ts';
import type { Report } from '../report.ts';
import type { BenchAccount } from '../seed.ts';
import { median, round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { type Program, startProgram } from './program.ts';

const KEY = 'read';
const ACCOUNTS = 20;
const LIMIT = 10;
const CONNECTIONS = [1, 50] as const;
/** The lists, and their needed share of the fair handler's processor time over 50 connections. */
const LISTS = {
  '/messages': 1.5,
  '/threads': 1.25,
  '/events': 1.3,
  '/job-statuses': 1.25,
} as const;
/** The same over one connection: between requests, others use the caches of the processor. */
const NEEDED_ALONE = 1.8;
const AIM = 1.2;
/** The product's default pool size, for all sides. */
const POOL = '10';
const SIDES = ['bare', 'fair', 'nest', 'carillon'] as const;
/** The only list of the plain server of NestJS and MikroORM (`nest-read.ts`). */
const LIST_OF_NEST = '/events';
/** Headers of a response that are its own. */
const OWN_HEADERS = ['date', 'connection', 'keep-alive', 'content-length', 'x-request-id'];

type Side = (typeof SIDES)[number];
type Servers = Readonly<Record<Side, Program>>;
/** The rounds of each side, by what was read. */
type Rounds = Map<string, { needed: number; sides: Record<Side, Round[]> }>;

const sidesOf = (list: string): readonly Side[] =>
  SIDES.filter((side) => side !== 'nest' || list === LIST_OF_NEST);
const pathOf = (list: string): string => `${list}?limit=${LIMIT}`;
const headersOf = ({ token }: BenchAccount) => ({ authorization: `Bearer ${token}` });
const accountsOf = (world: World) => world.sandboxAccounts.slice(0, ACCOUNTS);

interface Page {
  text: string;
  headers: [string, string][];
}

async function pageOf({ port }: Program, path: string, account: BenchAccount): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: headersOf(account) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status}: ${text}`);
  const headers = [...response.headers].filter(([name]) => !OWN_HEADERS.includes(name));
  return { text, headers };
}

/**
 * Checks that all sides send the same bytes for each account, and the fair handler also the same
 * headers.
 * @returns length of the longest response in bytes
 * @throws {Error} if they do not, or if a page is not full
 */
async function assertSame(list: string, servers: Servers, world: World): Promise<number> {
  const path = pathOf(list);
  let longest = 0;
  for (const account of accountsOf(world)) {
    const own = await pageOf(servers.carillon, path, account);
    const fair = await pageOf(servers.fair, path, account);
    for (const side of sidesOf(list)) {
      const { text } = await pageOf(servers[side], path, account);
      if (text !== own.text) throw new Error(`${path} of ${side} differs:\n${text}\n${own.text}`);
    }
    if (JSON.stringify(fair.headers) !== JSON.stringify(own.headers))
      throw new Error(`${path}: the headers differ:\n${fair.headers}\n${own.headers}`);
    if ((JSON.parse(own.text) as unknown[]).length !== LIMIT)
      throw new Error(`${path}: not ${LIMIT} items: ${own.text}`);
    longest = Math.max(longest, Buffer.byteLength(own.text));
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
    requests: accountsOf(world).map((account) => ({
      method: 'GET' as const,
      path,
      headers: headersOf(account),
    })),
  });
  const { non2xx, errors, timeouts } = result;
  if (non2xx + errors + timeouts > 0)
    throw new Error(`${path}: ${non2xx} refused, ${errors} broken, ${timeouts} too late`);
  return { perSecond: result['2xx'] / result.duration, cpu: count(result['2xx']) };
}

/** Starts all sides. The headers of the fair handler are those that Carillon sends. */
async function start(world: World, database: BenchDatabase): Promise<Servers> {
  const carillon = await startProgram(world, database, { ROLES: 'api', DATABASE_POOL: POOL });
  const accounts = accountsOf(world);
  const [first] = accounts;
  if (!first) throw new Error('there is no account');
  const { headers } = await pageOf(carillon, pathOf('/messages'), first);
  const raw = async (handler: 'bare' | 'fair'): Promise<Program> => {
    const child = world.spawn('bench/processes/raw-read.ts', {
      DATABASE_URL: database.url,
      DATABASE_POOL: POOL,
      BENCH_HANDLER: handler,
      BENCH_HEADERS: JSON.stringify(headers),
      BENCH_ACCOUNTS: JSON.stringify(
        Object.fromEntries(accounts.map((one) => [headersOf(one).authorization, one.id])),
      ),
    });
    return { child, port: await child.ready<number>() };
  };
  const nest = world.spawn('bench/processes/nest-read.ts', {
    DATABASE_URL: database.url,
    DATABASE_POOL: POOL,
  });
  return {
    bare: await raw('bare'),
    fair: await raw('fair'),
    nest: { child: nest, port: await nest.ready<number>() },
    carillon,
  };
}

/** Measures one start of all sides: a round of each for each list and number of connections. */
async function measure(
  world: World,
  report: Report,
  servers: Servers,
  number: number,
  rounds: Rounds,
): Promise<void> {
  // The first round after a pause is a little slower, so no side is always the first.
  const orderOf = (list: string) => (number % 2 === 0 ? sidesOf(list).toReversed() : sidesOf(list));
  const { readSeconds, readWarmRequests } = world.scale;
  for (const [list, needed] of Object.entries(LISTS)) {
    const path = pathOf(list);
    const order = orderOf(list);
    for (const side of order)
      await fire(world, servers[side], path, Math.max(...CONNECTIONS), {
        amount: readWarmRequests,
      });
    for (const connections of CONNECTIONS) {
      const isAlone = connections === 1;
      const what = `GET ${path} over ${isAlone ? '1 connection' : `${connections} connections`}`;
      const made = rounds.get(what) ?? {
        needed: isAlone ? NEEDED_ALONE : needed,
        sides: { bare: [], fair: [], nest: [], carillon: [] },
      };
      rounds.set(what, made);
      for (const side of order) {
        const result = await fire(world, servers[side], path, connections, {
          duration: readSeconds,
        });
        made.sides[side].push(result);
        const said = `${round(result.perSecond, 0)} a second${cpuWords(result.cpu)}`;
        report.round(KEY, `${number} ${side}, ${connections}`, `${said}  ${path}`);
      }
    }
  }
}

/** The multiple of the fair handler's processor time, which counts, and that of the bare one's. */
function findingsOf(rounds: Rounds): Finding[] {
  return [...rounds].flatMap(([what, { needed, sides }]) => {
    const ours = sides.carillon;
    const rates = SIDES.filter((side) => sides[side].length > 0).map(
      (side) => `${side} ${round(median(sides[side].map(({ perSecond }) => perSecond)), 0)}`,
    );
    const [fair] = compareCpu(what, 'a fair handler', { ours, theirs: sides.fair }, needed, AIM);
    return [
      ...(fair
        ? [{ ...fair, detail: `${fair.detail}; a second: ${rates.join(', ')}`, figures: sides }]
        : []),
      ...compareCpu(what, 'a bare handler', { ours, theirs: sides.bare }, null),
      ...(sides.nest.length > 0
        ? compareCpu(what, 'a plain NestJS with MikroORM', { ours, theirs: sides.nest }, null)
        : []),
    ];
  });
}

async function seed(world: World, report: Report, database: BenchDatabase): Promise<void> {
  const begun = performance.now();
  const { readMessages } = world.scale;
  await seedReading(database.sql, accountsOf(world), readMessages);
  const seconds = round((performance.now() - begun) / 1000, 0);
  report.note(`${ACCOUNTS} mailboxes of ${readMessages} messages written in ${seconds} s`);
  await world.settle(database);
}

/**
 * Pages of ten items of the lists that clients read most, compared with an Express handler that
 * does only what has to be done for each request (`raw-read.ts`). The events are
 * also read from a plain server of NestJS and MikroORM (`nest-read.ts`), which is no reference: it
 * shows what a page costs without this project's own ways.
 */
export const readRow: BenchRow = {
  key: KEY,
  title: 'read: pages of ten items over 1 and 50 connections, against Express and pg',
  async run(world, report) {
    const database = await world.database(KEY);
    await seed(world, report, database);
    const rounds: Rounds = new Map();
    for (let number = 1; number <= world.scale.starts; number += 1) {
      const servers = await start(world, database);
      if (number === 1) {
        for (const list of Object.keys(LISTS)) {
          const bytes = await assertSame(list, servers, world);
          report.note(`${list}: the same ${round(bytes / 1000, 1)} kB from all sides`);
        }
      }
      await measure(world, report, servers, number, rounds);
      await world.stop(...SIDES.map((side) => servers[side].child));
    }
    await database.drop();
    return findingsOf(rounds);
  },
};
