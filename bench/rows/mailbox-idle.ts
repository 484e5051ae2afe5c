import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { MailServers, MailUser } from '../../test/support/mail-servers/mail-servers.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { seedAccounts, seedApplication } from '../seed.ts';
import { round } from '../statistics.ts';
import { usage } from '../usage.ts';
import type { World } from '../world.ts';
import { takeQueries, usageOf } from './idle.ts';
import { startProgram, startServers, untilTrue } from './program.ts';

const KEY = 'watched';
const LIMIT_MS = 240_000;

/** Adds mailboxes with one message each. */
async function makeUsers(servers: MailServers, count: number): Promise<MailUser[]> {
  const users = Array.from({ length: count }, (_, index) => {
    return { email: `user-${index}@example.test`, password: `pw-${index}` };
  });
  for (const { email, password } of users) await servers.dovecot.setUser(email, password);
  return users;
}

/** Inserts connected accounts that have had no sync pass. */
async function connectAll(
  world: World,
  sql: pg.Client,
  servers: MailServers,
  users: readonly MailUser[],
): Promise<void> {
  const { id } = await seedApplication(sql, world.box);
  const accounts = await seedAccounts(sql, world.box, id, 'imap', users.length, (index) =>
    servers.settingsOf(users[index] ?? { email: '', password: '' }),
  );
  const query = async <T>(text: string, values: readonly unknown[] = []) =>
    (await sql.query(text, [...values])).rows as T[];
  for (const account of accounts) await scheduleSync({ query }, account.id);
}

interface IdleFigures {
  rssMb: number;
  queriesPerSecond: number;
  cpuPercent: number;
}

async function watch(
  world: World,
  report: Report,
  url: string,
  sql: pg.Client,
): Promise<IdleFigures> {
  const { watchedMailboxes, watchedSeconds } = world.scale;
  const { child } = await startProgram(world, { url }, { ROLES: 'worker' });
  const begun = performance.now();
  const allUp = async () => {
    const { rows } = await sql.query<{ n: number }>(
      'select count(*)::int as n from mailbox_watch where up_since is not null',
    );
    return (rows[0]?.n ?? 0) >= watchedMailboxes;
  };
  const up = await untilTrue('all watches', allUp, { limitMs: LIMIT_MS, everyMs: 500 });
  report.note(`all mailboxes watched after ${round((up - begun) / 1000, 0)} s`);
  await takeQueries(sql);
  const before = usageOf(child.pid);
  const from = performance.now();
  let rssMb = 0;
  // Takes the largest memory, because occasional sync passes are part of being idle.
  while (performance.now() - from < watchedSeconds * 1000) {
    await delay(1_000);
    rssMb = Math.max(rssMb, usage(child.pid)?.rssMb ?? 0);
  }
  const queries = await takeQueries(sql);
  const seconds = (performance.now() - from) / 1000;
  const cpuSeconds = usageOf(child.pid).cpuSeconds - before.cpuSeconds;
  if (!(await allUp())) throw new Error('not all mailboxes were watched to the end');
  await world.stop(child);
  return {
    rssMb: round(rssMb, 0),
    queriesPerSecond: round(queries / seconds, 1),
    cpuPercent: round((cpuSeconds / seconds) * 100, 1),
  };
}

/**
 * The cost of a worker that watches many unchanged mailboxes. It has its own database server, which
 * counts queries.
 */
export const watchedRow: BenchRow = {
  key: KEY,
  title: 'idle mailboxes: one worker watches them on a real Dovecot',
  async run(world, report) {
    const servers = await startServers(world);
    const users = await makeUsers(servers, world.scale.watchedMailboxes);
    const postgres = await startEmbeddedPostgres({
      settings: { shared_preload_libraries: 'pg_stat_statements' },
    });
    world.own(postgres);
    await migrate(postgres.url);
    const sql = new pg.Client({ connectionString: postgres.url });
    sql.on('error', () => undefined);
    await sql.connect();
    await sql.query('create extension pg_stat_statements');
    await connectAll(world, sql, servers, users);
    const figures = await watch(world, report, postgres.url, sql);
    await sql.end();
    await postgres.stop();
    await servers.stop();
    const { rssMb, queriesPerSecond, cpuPercent } = figures;
    report.round(
      KEY,
      `${users.length} mailboxes`,
      `${rssMb} MB, ${queriesPerSecond} queries a second, ${cpuPercent} % of a core`,
    );
    return [
      {
        what: `memory (RSS) with ${users.length} mailboxes`,
        measured: rssMb,
        needed: 1_000,
        aim: null,
        better: 'less',
        unit: ' MB',
        figures: { ...figures },
      },
    ] satisfies Finding[];
  },
};
