import type { BenchRow, Finding } from '../finding.ts';
import { seedCalendars } from '../calendars-sample.ts';
import type { Report } from '../report.ts';
import { median, round } from '../statistics.ts';
import { type CpuEach, cpuWords, startCpuCount } from '../usage.ts';
import type { World } from '../world.ts';
import { type Program, startProgram } from './program.ts';

const KEY = 'availability';
const PEOPLE = 50;
const WARM = 10;
const NEEDED_MS = 50;
const DAY_S = 86_400;

/**
 * Requests about all people and a month. Each has a path and the body fields besides people and
 * time.
 */
const QUESTIONS: Readonly<Record<string, [path: string, body: object]>> = {
  'all people, half an hour, every quarter of an hour': [
    'availability',
    { duration_minutes: 30, interval_minutes: 15 },
  ],
  'the same with buffers': [
    'availability',
    { duration_minutes: 30, interval_minutes: 15, buffer: 15 },
  ],
  'one person of a rotation': [
    'availability',
    { duration_minutes: 30, interval_minutes: 30, round_robin: 'max-availability' },
  ],
  'free/busy': ['free-busy', {}],
};

async function ask({ port }: Program, token: string, path: string, body: object): Promise<number> {
  const begun = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/calendars/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const ms = performance.now() - begun;
  if (!response.ok || text.length < 100)
    throw new Error(`${path}: ${response.status}: ${text.slice(0, 300)}`);
  return ms;
}

async function measure(
  world: World,
  report: Report,
  program: Program,
  token: string,
  emails: readonly string[],
): Promise<Finding> {
  const times = world.scale.searches;
  const figures: Record<string, number[] | CpuEach> = {};
  const medians: number[] = [];
  const start_time = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S;
  for (const [name, [path, question]] of Object.entries(QUESTIONS)) {
    const body = { start_time, end_time: start_time + 30 * DAY_S, emails, ...question };
    const found: number[] = [];
    for (let number = 0; number < WARM; number += 1) await ask(program, token, path, body);
    const count = startCpuCount(program.child.pid, world.postgresPid);
    for (let number = 0; number < times; number += 1)
      found.push(await ask(program, token, path, body));
    const cpu = count(times);
    figures[name] = found;
    figures[`${name}, CPU`] = cpu;
    medians.push(median(found));
    report.round(KEY, name, `${round(median(found), 1).toString().padStart(6)} ms${cpuWords(cpu)}`);
  }
  const [first = ''] = Object.keys(QUESTIONS);
  return {
    what: `${PEOPLE} people and a month: ${first}, p50`,
    measured: round(medians[0] ?? NaN, 1),
    needed: NEEDED_MS,
    aim: null,
    better: 'less',
    unit: ' ms',
    figures,
  };
}

/** Free times common to many people, over HTTP. Their calendars have years of history. */
export const availabilityRow: BenchRow = {
  key: KEY,
  title: `availability: ${PEOPLE} people and a month`,
  async run(world, report) {
    const database = await world.database(KEY);
    const people = world.sandboxAccounts.slice(0, PEOPLE);
    const [account] = people;
    if (!account) throw new Error('there is no account');
    const begun = performance.now();
    await seedCalendars(
      database.sql,
      people.map(({ id }) => id),
    );
    const { rows } = await database.sql.query<{ count: number }>(
      'select count(*)::int as count from event',
    );
    report.note(
      `${rows[0]?.count} events written in ${round((performance.now() - begun) / 1000, 0)} s`,
    );
    await world.settle(database);
    const program = await startProgram(world, database, { ROLES: 'api' });
    const emails = people.map(({ email }) => email);
    const found = await measure(world, report, program, account.token, emails);
    await world.stop(program.child);
    await database.drop();
    return [found];
  },
};
