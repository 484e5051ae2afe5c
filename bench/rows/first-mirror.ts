import { setTimeout as delay } from 'node:timers/promises';
import type { BenchRow, Finding } from '../finding.ts';
import { type StubProcess, startStub } from '../processes/stub.ts';
import type { Report } from '../report.ts';
import { round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { type ConnectedMailbox, type Program, startProgram } from './program.ts';

type Company = 'google' | 'microsoft';

/** The run of one company ends after this time, listed or not. */
const LIMIT_MS = 330_000;
/** How long contents are completed after everything is listed. */
const COMPLETING_MS = 15_000;
const SEND_EVERY_MS = 4_000;
const SEND_LIMIT_MS = 30_000;
const POLL_MS = 25;
/** A mailbox with labels, at a company some distance away. */
const LABELS = 20;
const LATENCY_MS = 150;

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

/** What a stub reports, summed up. */
interface StubUse {
  /** Highest use of a quota, as a share of what is allowed; never above 1 because it refuses. */
  highest: number;
  refusals: number;
  violations: number;
}

function addressesOf(company: Company, { origin }: StubProcess): Record<string, string> {
  return company === 'google'
    ? { GOOGLE_URL: origin }
    : { MICROSOFT_LOGIN_URL: origin, MICROSOFT_GRAPH_URL: origin };
}

async function call<T>(port: number, path: string, authorization: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Registers the stub's client and connects its person with a refresh token. */
async function connect(
  { port }: Program,
  { application }: World,
  company: Company,
  stub: StubProcess,
): Promise<ConnectedMailbox> {
  const { clientId, clientSecret } = application;
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  await call(port, '/connect/integrations', basic, {
    name: company,
    provider: company,
    settings: { client_id: stub.clientId, client_secret: stub.clientSecret },
    redirect_uris: ['https://app.example.test/callback'],
  });
  const { data, error } = await call<{
    data?: { id: string; access_token: string };
    error?: unknown;
  }>(port, '/connect/grants', basic, {
    provider: company,
    settings: { refresh_token: stub.refreshToken },
  });
  if (!data) throw new Error(`the account was not connected: ${JSON.stringify(error)}`);
  return { id: data.id, token: data.access_token };
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

interface GoogleReport {
  violations: unknown[];
  quotas: Record<string, { limit: number; highest: number; refusals: number }>;
}
interface MicrosoftReport {
  violations: unknown[];
  limits: Record<string, number>;
  use: Record<string, number>;
}

function useOf(company: Company, report: unknown): StubUse {
  if (company === 'google') {
    const { violations, quotas } = report as GoogleReport;
    const all = Object.values(quotas);
    return {
      highest: Math.max(...all.map(({ limit, highest }) => highest / limit)),
      refusals: all.reduce((sum, { refusals }) => sum + refusals, 0),
      violations: violations.length,
    };
  }
  return microsoftUse(report as MicrosoftReport);
}

function microsoftUse({ violations, limits, use }: MicrosoftReport): StubUse {
  const share = (used: string, limit: string) => (use[used] ?? 0) / (limits[limit] ?? 1);
  return {
    highest: Math.max(
      share('mostRequests', 'requestsPerWindow'),
      share('mostConcurrent', 'concurrentRequests'),
      share('mostSends', 'sendsPerMinute'),
    ),
    refusals: use['refusals'] ?? 0,
    violations: violations.length,
  };
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
      what: `${company}: slowest of ${sendsMs.length} messages sent meanwhile`,
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
      const stub = await startStub(company, {
        messages: world.scale.mailboxMessages,
        labels: LABELS,
        latencyMs: LATENCY_MS,
      });
      world.own(stub);
      const findings = await measure(world, report, company, stub);
      await stub.stop();
      return findings;
    },
  };
}
