import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { round } from '../statistics.ts';
import { usage } from '../usage.ts';
import type { World } from '../world.ts';
import { takeQueries, usageOf } from './idle.ts';
import { startManyMailboxes } from './many-mailboxes.ts';
import { startProgram, untilTrue } from './program.ts';

const KEY = 'watched';
const LIMIT_MS = 240_000;

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
    const mailboxes = await startManyMailboxes(world, world.scale.watchedMailboxes);
    const figures = await watch(world, report, mailboxes.url, mailboxes.sql);
    await mailboxes.stop();
    const { rssMb, queriesPerSecond, cpuPercent } = figures;
    report.round(
      KEY,
      `${world.scale.watchedMailboxes} mailboxes`,
      `${rssMb} MB, ${queriesPerSecond} queries a second, ${cpuPercent} % of a core`,
    );
    return [
      {
        what: `memory (RSS) with ${world.scale.watchedMailboxes} mailboxes`,
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
