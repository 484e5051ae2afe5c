import autocannon from 'autocannon';
import { compare, type Round as ComparedRound } from '../comparison.ts';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { SAMPLE_BODY } from '../sample.ts';
import { round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { type Program, startProgram } from './program.ts';

const KEY = 'accept';
const CONNECTIONS = 50;
const QUIET_MS = 300;
/** The product's default pool size, for both sides. */
const POOL = '10';

const SIDES = ['raw', 'carillon'] as const;

type Side = (typeof SIDES)[number];

interface Round extends ComparedRound {
  p50: number;
  p99: number;
}

type Server = Program;

/**
 * Number of stored messages once the number stops growing. The last requests of a round are still
 * stored shortly after its end.
 */
async function countMessages({ sql }: BenchDatabase): Promise<number> {
  for (let last = -1; ;) {
    const { rows } = await sql.query<{ n: number }>(
      'select count(*)::int as n from outbox_message',
    );
    const count = rows[0]?.n ?? 0;
    if (count === last) return count;
    last = count;
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  }
}

/** Length of a round: seconds, or requests. */
type Length = { duration: number } | { amount: number };

/**
 * Runs one round.
 * @throws {Error} if a request fails, or if an accepted message is not stored
 */
async function fire(
  world: World,
  database: BenchDatabase,
  { child, port }: Server,
  length: Length,
): Promise<Round> {
  const before = await countMessages(database);
  const count = startCpuCount(child.pid, world.postgresPid);
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/v2/outbox`,
    connections: CONNECTIONS,
    ...length,
    requests: world.sandboxAccounts.map(({ token }) => ({
      method: 'POST' as const,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(SAMPLE_BODY),
    })),
  });
  const cpu = count(result['2xx']);
  const { non2xx, errors, timeouts } = result;
  if (non2xx + errors + timeouts > 0) {
    const statuses = JSON.stringify(result.statusCodeStats);
    throw new Error(`${non2xx} refused (${statuses}), ${errors} broken, ${timeouts} too late`);
  }
  const stored = (await countMessages(database)) - before;
  // Requests in progress at the end of a round are stored too, but their responses are not counted.
  if (stored < result['2xx'] || stored > result['2xx'] + CONNECTIONS) {
    throw new Error(`${result['2xx']} messages were accepted, but ${stored} were stored`);
  }
  const { p50, p99 } = result.latency;
  return { perSecond: result['2xx'] / result.duration, p50, p99, cpu };
}

/**
 * Starts both sides: the real program with the role `api` only, because this row does not measure
 * simultaneous sending, and the bare one.
 */
async function start(world: World, database: BenchDatabase): Promise<Record<Side, Server>> {
  const raw = world.spawn('bench/processes/raw-accept.ts', {
    DATABASE_URL: database.url,
    DATABASE_POOL: POOL,
    BENCH_ACCOUNT: world.sandboxAccounts[0]?.id ?? '',
  });
  return {
    raw: { child: raw, port: await raw.ready<number>() },
    carillon: await startProgram(world, database, { ROLES: 'api', DATABASE_POOL: POOL }),
  };
}

async function measure(world: World, report: Report, database: BenchDatabase): Promise<Finding[]> {
  const rounds: Record<Side, Round[]> = { carillon: [], raw: [] };
  for (let number = 1; number <= world.scale.starts; number += 1) {
    const servers = await start(world, database);
    for (const side of SIDES)
      await fire(world, database, servers[side], { amount: world.scale.acceptWarmRequests });
    // No side is always the first.
    for (const side of number % 2 === 0 ? SIDES.toReversed() : SIDES) {
      await world.settle(database);
      const result = await fire(world, database, servers[side], {
        duration: world.scale.acceptSeconds,
      });
      rounds[side].push(result);
      const { perSecond, p50, p99, cpu } = result;
      report.round(
        KEY,
        `${number} ${side}`,
        `${round(perSecond, 0)} a second, p50 ${p50} ms, p99 ${p99} ms${cpuWords(cpu)}`,
      );
    }
    await world.stop(...SIDES.map((side) => servers[side].child));
  }
  return compare('accepted messages', 'raw Express', rounds, { share: 0.8, aim: 1, cpu: 1.25 });
}

/**
 * POST /v2/outbox over 50 connections, compared with a bare Express handler that runs the same
 * statement.
 */
export const acceptRow: BenchRow = {
  key: KEY,
  title: 'accept: POST /v2/outbox over 50 connections, against raw Express and pg',
  async run(world, report) {
    const database = await world.database(KEY);
    const findings = await measure(world, report, database);
    await database.drop();
    return findings;
  },
};
