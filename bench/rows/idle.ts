import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';
import { freePort } from '../child.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { round } from '../statistics.ts';
import { type Usage, usage } from '../usage.ts';
import type { World } from '../world.ts';

const KEY = 'idle';
/** Time for the start, which is not measured. Milliseconds. */
const START_MS = 10_000;

/**
 * Resident memory and processor time of a process.
 * @throws {Error} if the system has no /proc
 */
export function usageOf(pid: number): Usage {
  const used = usage(pid);
  if (!used) throw new Error('this row reads /proc and needs Linux');
  return used;
}

/** Number of other connections' queries since the last call. */
export async function takeQueries(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ calls: number }>(
    `select coalesce(sum(calls), 0)::int as calls from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where d.datname = current_database() and query not like '%pg_stat_statements%'`,
  );
  await sql.query('select pg_stat_statements_reset()');
  return rows[0]?.calls ?? 0;
}

interface IdleFigures {
  rssMb: number;
  queriesPerSecond: number;
  cpuPercent: number;
}

async function watch(world: World, url: string): Promise<IdleFigures> {
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  await sql.query('create extension pg_stat_statements');
  const child = world.spawn('dist/src/main.js', {
    NODE_ENV: 'production',
    DATABASE_URL: url,
    ENCRYPTION_KEYS: `bench:${world.encryptionKey.toString('base64')}`,
    ROLES: 'worker',
    PORT: String(await freePort()),
  });
  await delay(START_MS);
  const before = usageOf(child.pid);
  await takeQueries(sql);
  const begun = performance.now();
  await delay(world.scale.idleSeconds * 1000);
  const queries = await takeQueries(sql);
  const after = usageOf(child.pid);
  const seconds = (performance.now() - begun) / 1000;
  await world.stop(child);
  await sql.end();
  return {
    rssMb: round(after.rssMb, 1),
    queriesPerSecond: round(queries / seconds),
    cpuPercent: round(((after.cpuSeconds - before.cpuSeconds) / seconds) * 100),
  };
}

/** The cost of an idle worker. It has its own database server, which counts queries. */
export const idleRow: BenchRow = {
  key: KEY,
  title: 'idle worker: the program with the role worker, without work',
  async run(world, report) {
    const server = await startEmbeddedPostgres({
      settings: { shared_preload_libraries: 'pg_stat_statements' },
    });
    world.own(server);
    await migrate(server.url);
    const { rssMb, queriesPerSecond, cpuPercent } = await watch(world, server.url);
    await server.stop();
    report.round(
      KEY,
      `${world.scale.idleSeconds} s`,
      `${rssMb} MB, ${queriesPerSecond} queries a second, ${cpuPercent} % of a core`,
    );
    const common = { better: 'less', figures: { rssMb, queriesPerSecond, cpuPercent } } as const;
    return [
      { what: 'memory (RSS)', measured: rssMb, needed: 180, aim: 120, unit: ' MB', ...common },
      {
        what: 'queries a second',
        measured: queriesPerSecond,
        needed: 3,
        aim: null,
        unit: '',
        ...common,
      },
    ] satisfies Finding[];
  },
};
