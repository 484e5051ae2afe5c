import { setTimeout as delay } from 'node:timers/promises';
import type { BenchRow, Finding } from '../finding.ts';
import type { StubProcess } from '../processes/stub.ts';
import type { Report } from '../report.ts';
import { round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import {
  addressesOf,
  call,
  type Company,
  connect,
  startDistantStub,
  type StubUse,
  useOf,
} from './company.ts';
import { type ConnectedMailbox, type Program, startProgram } from './program.ts';

/** The run of one company ends after this time, listed or not. */
const LIMIT_MS = 330_000;
/** How long contents are completed after everything is listed. */
const COMPLETING_MS = 15_000;
const SEND_EVERY_MS = 4_000;
const SEND_LIMIT_MS = 30_000;
const POLL_MS = 25;

/** What a run has counted. */
interface Measured {
  /** `null`: not everything was listed in time. */
  listedMs: number | null;
  /** Messages in the mirror, and those of them whose content was read. */
  rows: number;
  contents: number;
  runningMs: number | null;
  sendsMs: number[];
}

/** Sends a message, and returns the milliseconds from its acceptance until it was sent. */
async function send(
  { port }: Program,
  { sql }: BenchDatabase,
  { id: accountId, token }: ConnectedMailbox,
  number: number,
): Promise<number> {
  const { job_status_id: id } = await call<{ job_status_id: string }>(
    port,
    '/v2/outbox',
    `Bearer ${token}`,
    {
      to: [{ email: 'bo@elsewhere.test' }],
      subject: `Sent meanwhile ${number}`,
      body: 'Hello',
    },
  );
  const begun = performance.now();
  for (;;) {
    const { rows } = await sql.query<{ status: string }>(
      `select status from job_status where account_id = $1 and action = 'new_outbox'
       order by created_at desc limit 1`,
      [accountId],
    );
    const ms = performance.now() - begun;
    const status = rows[0]?.status;
    if (status === 'successful') return ms;
    if (status === 'failed') throw new Error(`message ${id} was not sent`);
    if (ms > SEND_LIMIT_MS) return ms;
    await delay(POLL_MS);
  }
}

/** Sends a message every few seconds until `ended`. */
async function sendMeanwhile(
  given: readonly [Program, BenchDatabase, ConnectedMailbox],
  ended: AbortSignal,
): Promise<number[]> {
  const times: number[] = [];
  while (!ended.aborted) {
    times.push(await send(...given, times.length));
    await delay(SEND_EVERY_MS, null, { signal: ended }).catch(() => undefined);
  }
  return times;
}

// Sent messages are stored too, and do not count.
const STATE = `
  with seeded as (
    select listed from message m where account_id = $1
      and not exists (select 1 from job_status j where j.account_id = $1 and j.message_id = m.id))
  select (select count(*)::int from seeded) as rows,
    (select count(*)::int from seeded where not listed) as contents,
    exists (select 1 from sync_job where account_id = $1 and current_since is not null) as running`;

/** Waits until the mailbox is listed and some contents are completed. */
async function follow(
  { sql }: BenchDatabase,
  { id }: ConnectedMailbox,
  count: number,
): Promise<Omit<Measured, 'sendsMs'>> {
  const begun = performance.now();
  let [listedMs, runningMs]: [number | null, number | null] = [null, null];
  for (;;) {
    const { rows: found } = await sql.query<{ rows: number; contents: number; running: boolean }>(
      STATE,
      [id],
    );
    const { rows, contents, running } = found[0]!;
    const ms = performance.now() - begun;
    if (rows >= count) listedMs ??= ms;
    if (running) runningMs ??= ms;
    const isDone = listedMs !== null && runningMs !== null && ms > listedMs + COMPLETING_MS;
    if (isDone || ms > LIMIT_MS) return { listedMs, runningMs, rows, contents };
    await delay(250);
  }
}

function findingsOf(
  company: Company,
  count: number,
  { listedMs, sendsMs, ...measured }: Measured,
  use: StubUse,
  report: unknown,
): Finding[] {
  const common = { aim: null, better: 'less', figures: { ...measured, sendsMs, report } } as const;
  const listed = round((listedMs ?? Infinity) / 1000, 1);
  const slowest = round(Math.max(...sendsMs), 0);
  return [
    {
      ...common,
      what: `${company}: ${count} messages are listed after`,
      measured: listed,
      needed: 300,
      unit: ' s',
    },
    {
      ...common,
      what: `${company}: slowest of the messages sent meanwhile`,
      detail: `of ${sendsMs.length}`,
      measured: slowest,
      needed: 2_000,
      unit: ' ms',
    },
    {
      ...common,
      what: `${company}: requests refused for a quota`,
      measured: use.refusals,
      needed: 0,
      unit: '',
    },
  ];
}

async function measure(
  world: World,
  report: Report,
  company: Company,
  stub: StubProcess,
): Promise<Finding[]> {
  const count = world.scale.mailboxMessages;
  const database = await world.database(`first_mirror_${company}`);
  await world.settle(database);
  const program = await startProgram(world, database, addressesOf(company, stub));
  const cpu = startCpuCount(program.child.pid, world.postgresPid);
  const account = await connect(program, world, company, stub);
  const ended = new AbortController();
  const sending = sendMeanwhile([program, database, account], ended.signal);
  const followed = follow(database, account, count).finally(() => ended.abort());
  const [state, sendsMs] = await Promise.all([followed, sending]);
  const words = cpuWords(cpu(count));
  const counted = await stub.report();
  const use = useOf(company, counted);
  const seconds = (ms: number | null) => (ms === null ? 'never' : `${round(ms / 1000, 1)} s`);
  report.round(
    company,
    'first mirror',
    `listed ${seconds(state.listedMs)}, running ${seconds(state.runningMs)}, ${state.rows} rows, ` +
      `${state.contents} with content${words}`,
  );
  report.note(
    `quota used at most ${round(use.highest * 100, 0)} %, ${use.refusals} refusals, ` +
      `${use.violations} requests that the company's documents do not allow`,
  );
  report.note(`sends: ${sendsMs.map((ms) => `${round(ms, 0)}`).join(', ')} ms`);
  report.note(JSON.stringify(counted));
  await world.stop(program.child);
  await database.drop();
  return findingsOf(company, count, { ...state, sendsMs }, use, counted);
}

/** The first mirror of a mailbox at the stub of a company, within the company's real quotas. */
export function firstMirrorRow(company: Company): BenchRow {
  return {
    key: company,
    title: `first mirror: a large mailbox at the stub of ${company}, and messages sent meanwhile`,
    async run(world, report) {
      const stub = await startDistantStub(world, company);
      const findings = await measure(world, report, company, stub);
      await stub.stop();
      return findings;
    },
  };
}
