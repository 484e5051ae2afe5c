import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { BenchRow, Finding } from '../finding.ts';
import { round } from '../statistics.ts';
import { cpuWords, parentOf, startCpuCount } from '../usage.ts';
import type { World } from '../world.ts';
import { startManyMailboxes } from './many-mailboxes.ts';
import { startProgram, untilTrue } from './program.ts';

const KEY = 'polls';
const START_LIMIT_MS = 240_000;

/** What all polls together have cost so far. */
interface Counts {
  /** Each claim of a row increments its fencing token. */
  polls: number;
  /** Transaction ids, without those of the bench. */
  ids: number;
}

async function counts(sql: pg.Client): Promise<Counts> {
  const { rows } = await sql.query<Counts>(
    `/* bench */ select (select sum(fence)::int from sync_job) as polls,
       pg_snapshot_xmax(pg_current_snapshot())::text::int as ids`,
  );
  return rows[0] ?? { polls: 0, ids: 0 };
}

/** The statements of other connections since the last call, the most frequent first. */
async function takeStatements(
  sql: pg.Client,
): Promise<{ query: string; calls: number; ms: number }[]> {
  const { rows } = await sql.query<{ query: string; calls: number; ms: number }>(
    `select query, calls::int, round((total_exec_time + total_plan_time)::numeric, 1)::float8 as ms
     from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where d.datname = current_database() and query !~ 'pg_stat_statements|/[*] bench [*]/'
     order by calls desc`,
  );
  await sql.query('select pg_stat_statements_reset()');
  return rows;
}

/** Milliseconds of PostgreSQL's processor time a second while no poll is due. */
async function idleCpu(
  sql: pg.Client,
  pid: number,
  postgres: number | null,
  seconds: number,
): Promise<number> {
  await sql.query(
    `/* bench */ update sync_job set run_at = now() + interval '1 day' where state = 0`,
  );
  await delay(1_000);
  const cpu = startCpuCount(pid, postgres);
  await delay(seconds * 1000);
  return cpu(seconds).postgres ?? Number.NaN;
}

async function measure(world: World, url: string, sql: pg.Client) {
  const { polledMailboxes, pollSeconds, polledSeconds } = world.scale;
  const { child } = await startProgram(
    world,
    { url },
    {
      ROLES: 'worker',
      SYNC_WATCHES: '0',
      SYNC_POLL_SECONDS: String(pollSeconds),
      // All polls have the same interval, so that their number does not depend on the time.
      SYNC_POLL_QUIET_FACTOR: '1',
    },
  );
  const allCurrent = async () => {
    const { rows } = await sql.query<{ n: number }>(
      `/* bench */ select count(*)::int as n from sync_job j join mirror_audit a using (account_id)
       where current_since is not null and a.checked_at is not null`,
    );
    return (rows[0]?.n ?? 0) >= polledMailboxes;
  };
  await untilTrue('all mailboxes', allCurrent, { limitMs: START_LIMIT_MS, everyMs: 500 });
  // The passes are as old as the first ones, so that they are spread over the interval.
  await delay(pollSeconds * 1000);
  const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
  const postgres = parentOf(rows[0]?.pid ?? 0);
  const before = await counts(sql);
  await takeStatements(sql);
  const cpu = startCpuCount(child.pid, postgres);
  await delay(polledSeconds * 1000);
  const after = await counts(sql);
  const polls = after.polls - before.polls;
  const used = cpu(polls);
  const statements = await takeStatements(sql);
  const idle = await idleCpu(sql, child.pid, postgres, polledSeconds / 3);
  await world.stop(child);
  return {
    polls,
    cpu: used,
    // What the idle worker costs is no cost of the polls.
    postgresEach: (used.postgres ?? Number.NaN) - (idle * polledSeconds) / polls,
    ids: (after.ids - before.ids) / polls,
    statements: statements.reduce((sum, { calls }) => sum + calls, 0) / polls,
    most: statements.slice(0, 20).map(({ query, calls, ms }) => {
      const text = query.replaceAll(/\s+/g, ' ').trim().slice(0, 80);
      return `${round(calls / polls)} × ${round(ms / calls)} ms: ${text}`;
    }),
  };
}

/**
 * What a sync pass costs PostgreSQL that finds no change. Statements and transaction ids include
 * heartbeats and everything else that the worker does. The processor time of an idle worker is
 * subtracted.
 */
export const pollsRow: BenchRow = {
  key: KEY,
  title: 'polls: one worker polls unchanged mailboxes of a real Dovecot',
  async run(world, report) {
    const { polledMailboxes, polledSeconds } = world.scale;
    const mailboxes = await startManyMailboxes(world, polledMailboxes);
    const { polls, cpu, postgresEach, ids, statements, most } = await measure(
      world,
      mailboxes.url,
      mailboxes.sql,
    );
    await mailboxes.stop();
    const perSecond = round(polls / polledSeconds, 1);
    report.round(
      KEY,
      `${polls} polls`,
      `${perSecond} a second, ${round(statements)} statements, ${round(ids)} transaction ids${cpuWords(cpu)}, of which ${round(postgresEach)} ms for polls`,
    );
    for (const line of most) report.note(line);
    const common = { aim: null, better: 'less', figures: { perSecond, most, cpu } } as const;
    return [
      {
        what: 'processor time of PostgreSQL for a poll',
        measured: round(postgresEach),
        needed: 1,
        unit: ' ms',
        ...common,
      },
      {
        what: 'statements for a poll',
        measured: round(statements),
        needed: 6,
        unit: '',
        ...common,
      },
      {
        what: 'transaction ids for a poll',
        measured: round(ids),
        needed: 1,
        unit: '',
        ...common,
      },
    ] satisfies Finding[];
  },
};
