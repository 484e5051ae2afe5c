import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';
import type { BenchProcess } from '../child.ts';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import {
  type BenchAccount,
  countJobs,
  databaseNowMs,
  seedAccounts,
  seedApplication,
  seedMessages,
  untilSettled,
} from '../seed.ts';
import { round } from '../statistics.ts';
import { parentOf, startCpuCount } from '../usage.ts';
import { SERVER_SETTINGS, type World } from '../world.ts';
import { startWorker } from './worker.ts';

const KEY = 'fleet';
const LIMIT_MS = 180_000;
const ACCOUNTS = 2_000;
/** Workers that start at the same time: a start takes seconds of processor time. */
const STARTS = 4;
/** Time after the start for pools to close the connections of the start. Milliseconds. */
const REST_MS = 40_000;
/** Longer than every tick, so that each notification finds workers that have nothing to do. */
const NOTIFY_EVERY_MS = 300;

const SETTINGS = {
  ...SERVER_SETTINGS,
  max_connections: '400',
  shared_preload_libraries: 'pg_stat_statements',
  // The log counts the statement time-outs.
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'fleet.log',
};

const CONNECTIONS = `
  select count(*)::int as n from pg_stat_activity
  where datname = current_database() and application_name like 'carillon%' and application_name <> 'carillon-bench'`;
// The names of these parts of the statement stay when PostgreSQL replaces its constants.
const CLAIMS = `
  select coalesce(sum(calls), 0)::int as n from pg_stat_statements
  where query like '%judged as materialized%' and query like '%from send_job%' and query not like '%pg_stat_statements%'`;
const TIMEOUTS = `
  select count(*)::int as n
  from regexp_matches(pg_read_file('log/fleet.log'), 'canceling statement due to statement timeout', 'g')`;

async function read(sql: pg.Client, text: string): Promise<number> {
  const { rows } = await sql.query<{ n: number }>(text);
  return rows[0]?.n ?? 0;
}

/** The database server of this row, with its accounts and workers. */
interface Fleet {
  sql: pg.Client;
  postgresPid: number | null;
  accounts: readonly BenchAccount[];
  workers: readonly BenchProcess[];
}

async function startWorkers(world: World, url: string): Promise<BenchProcess[]> {
  const workers: BenchProcess[] = [];
  while (workers.length < world.scale.fleetWorkers) {
    const count = Math.min(STARTS, world.scale.fleetWorkers - workers.length);
    const started = await Promise.all(
      Array.from({ length: count }, () =>
        startWorker(world, { url }, { kind: 'instant', delayMs: 0 }),
      ),
    );
    workers.push(...started.map(({ child }) => child));
  }
  return workers;
}

/**
 * Connections of workers without work.
 * @returns the largest number of any second, for each worker
 */
async function idleConnections({ sql, workers }: Fleet, seconds: number): Promise<number> {
  await delay(REST_MS);
  let most = 0;
  for (let second = 0; second < seconds; second += 1) {
    most = Math.max(most, await read(sql, CONNECTIONS));
    await delay(1_000);
  }
  return most / workers.length;
}

/**
 * Makes single messages due, one after another.
 * @returns claims for each notification, without those that workers make anyway
 */
async function claimsPerNotification(fleet: Fleet, notifications: number): Promise<number> {
  const { sql, accounts } = fleet;
  const phaseMs = notifications * NOTIFY_EVERY_MS;
  const first = await read(sql, CLAIMS);
  await delay(phaseMs);
  const second = await read(sql, CLAIMS);
  const begun = performance.now();
  for (let number = 0; number < notifications; number += 1) {
    const dueMs = [Math.round(await databaseNowMs(sql))];
    await seedMessages(sql, { tag: KEY, accounts: accounts.slice(number), dueMs });
    await delay(NOTIFY_EVERY_MS);
  }
  const idle = ((second - first) / phaseMs) * (performance.now() - begun);
  return ((await read(sql, CLAIMS)) - second - idle) / notifications;
}

interface Burst {
  perSecond: number;
  postgresMs: number | null;
  claims: number;
}

/** Settles many messages that are due at once, on connections whose plans were made before. */
async function burst({ sql, accounts, postgresPid }: Fleet, count: number): Promise<Burst> {
  const before = await countJobs(sql, 'successful');
  const nowMs = Math.round(await databaseNowMs(sql));
  const dueMs = Array.from({ length: count }, () => nowMs);
  const claims = await read(sql, CLAIMS);
  await seedMessages(sql, { tag: KEY, accounts, dueMs });
  const used = startCpuCount(0, postgresPid);
  const begun = performance.now();
  const ended = await untilSettled(sql, LIMIT_MS, 100);
  const { postgres } = used(count);
  const sent = (await countJobs(sql, 'successful')) - before;
  if (sent !== count) throw new Error(`${sent} of ${count} messages were sent`);
  return {
    perSecond: count / ((ended - begun) / 1000),
    postgresMs: postgres,
    claims: (await read(sql, CLAIMS)) - claims,
  };
}

async function measure(world: World, report: Report, fleet: Fleet): Promise<Finding[]> {
  const { fleetMessages, fleetNotifications, fleetIdleSeconds } = world.scale;
  const { sql, workers } = fleet;
  const connections = await idleConnections(fleet, fleetIdleSeconds);
  report.round(KEY, 'idle', `${round(connections)} connections a worker`);
  const claims = await claimsPerNotification(fleet, fleetNotifications);
  report.round(KEY, 'notified', `${round(claims)} claims a notification`);
  const { postgresMs, perSecond, claims: ofBurst } = await burst(fleet, fleetMessages);
  report.round(
    KEY,
    'burst',
    `${round(perSecond, 0)} a second, PostgreSQL ${round(postgresMs ?? 0)} ms each, ${ofBurst} claims`,
  );
  const timeouts = await read(sql, TIMEOUTS);
  const common = { aim: null, better: 'less', unit: '' } as const;
  const figures = { workers: workers.length, perSecond, claimsOfBurst: ofBurst };
  const costs =
    postgresMs === null
      ? []
      : [
          {
            what: `PostgreSQL for each of ${fleetMessages} messages`,
            measured: round(postgresMs),
            needed: 0.35,
            ...common,
            unit: ' ms',
            figures,
          },
        ];
  return [
    { what: 'statement time-outs', measured: timeouts, needed: 0, ...common, figures },
    ...costs,
    { what: 'claims a notification', measured: round(claims), needed: 3, ...common, figures },
    {
      what: 'idle connections a worker',
      measured: round(connections),
      needed: 6,
      ...common,
      figures,
    },
  ];
}

/** Many workers on one database that was empty when they connected. It has its own server. */
export const fleetRow: BenchRow = {
  key: KEY,
  title: 'fleet: many workers on one database, and a burst on a queue that was empty',
  async run(world, report) {
    const server = await startEmbeddedPostgres({ settings: SETTINGS });
    world.own(server);
    await migrate(server.url);
    const sql = new pg.Client({
      connectionString: server.url,
      application_name: 'carillon-bench',
    });
    await sql.connect();
    await sql.query('create extension pg_stat_statements');
    const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
    const { id } = await seedApplication(sql, world.box);
    const accounts = await seedAccounts(sql, world.box, id, 'imap', ACCOUNTS);
    const workers = await startWorkers(world, server.url);
    const postgresPid = parentOf(rows[0]?.pid ?? 0);
    const findings = await measure(world, report, { sql, accounts, workers, postgresPid });
    await world.stop(...workers);
    await sql.end();
    await server.stop();
    return findings;
  },
};
