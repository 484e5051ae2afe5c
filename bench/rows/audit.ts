import { setTimeout as delay } from 'node:timers/promises';
import { TcpProxy } from '../../test/support/tcp-proxy.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { fillInbox } from '../mailbox-sample.ts';
import type { Report } from '../report.ts';
import { round } from '../statistics.ts';
import { startCpuCount, usage } from '../usage.ts';
import type { BenchDatabase, World } from '../world.ts';
import { addressesOf, type Company, connect, startDistantStub, useOf } from './company.ts';
import {
  type ConnectedMailbox,
  connectOver,
  type Program,
  startProgram,
  startServers,
  untilTrue,
} from './program.ts';

const MIRROR_LIMIT_MS = 330_000;
const AUDIT_LIMIT_MS = 240_000;
/** Rare enough that the bench's own queries hardly count. */
const POLL_MS = 250;
/** Longest window of a quota that the first mirror may have used up. */
const QUOTA_WINDOW_MS = 61_000;
/** Differences of each kind: missing, replaced by one that does not exist, and misplaced. */
const DAMAGED = 5;
/** A replaced message counts as missing and as surplus. */
const DIFFERENCES = 4 * DAMAGED;
/** An audit lists pages, so it needs far fewer requests than there are messages. */
const MOST_REQUESTS = 250;

/** Requests so far at the provider, and what they cost. */
interface Use {
  requests: number;
  units: number;
}

/** A program whose mirror is complete. */
interface Audited {
  key: string;
  program: Program;
  database: BenchDatabase;
  account: ConnectedMailbox;
  /** Waits until the provider allows as much as ever. */
  settle(): Promise<unknown>;
  use(): Promise<Use>;
}

interface Counted extends Use {
  ms: number;
  /** Processor time in milliseconds; `null` if it is unknown. */
  process: number | null;
  postgres: number | null;
  /** Resident memory of the program, before and at most. */
  rssMb: number;
  mostRssMb: number;
  found: number;
  repaired: number;
  checked: number;
}

/** Keeps the program from completing contents, which is not part of an audit. */
const COMPLETE = 'update message set listed = false where account_id = $1 and listed';

const AUDIT = `
  select differences_found as found, repaired, messages_checked as checked, checked_at::text as at
  from mirror_audit where account_id = $1 and round is null and collections is null and checked_at is not null`;

const PICKED = `
  select id, row_number() over (order by id) as n from message
  where account_id = $1 and provider_id is not null order by id limit ${3 * DAMAGED}`;

const DAMAGES = [
  `delete from message m using (${PICKED}) p where p.id = m.id and p.n <= ${DAMAGED}`,
  // The digits at the end make an id that the provider does not have.
  `update message m set provider_id = provider_id || '000', updated_at = now() - interval '1 hour'
   from (${PICKED}) p where p.id = m.id and p.n <= ${DAMAGED}`,
  `delete from message_folder f using (${PICKED}) p where p.id = f.message_id and p.n > ${2 * DAMAGED}`,
];

const DUE = [
  'update mirror_audit set full_at = now(), recent_at = now() where account_id = $1',
  'update sync_job set again = true, run_at = now() where account_id = $1',
];

interface Result {
  found: number;
  repaired: number;
  checked: number;
  at: string;
}

async function resultOf({ database, account }: Audited): Promise<Result | undefined> {
  const { rows } = await database.sql.query<Result>(AUDIT, [account.id]);
  return rows[0];
}

/** Waits until everything is in the mirror and the first audit is over. */
async function mirrored(audited: Audited, count: number): Promise<void> {
  const { sql } = audited.database;
  const isComplete = async () => {
    const { rows } = await sql.query<{ n: number }>(
      'select count(*)::int as n from message where account_id = $1',
      [audited.account.id],
    );
    if ((rows[0]?.n ?? 0) < count) return false;
    await sql.query(COMPLETE, [audited.account.id]);
    return (await resultOf(audited)) !== undefined;
  };
  const limits = { limitMs: MIRROR_LIMIT_MS, everyMs: 1_000 };
  await untilTrue('the first mirror and its audit', isComplete, limits);
  await audited.settle();
}

async function damage({ database, account }: Audited): Promise<void> {
  for (const text of DAMAGES) await database.sql.query(text, [account.id]);
}

/** Makes a full audit due, and measures until it is over. */
async function audit(world: World, audited: Audited): Promise<Counted> {
  const { program, database, account } = audited;
  const { pid } = program.child;
  const before = await resultOf(audited);
  await world.settle(database);
  const used = await audited.use();
  const rssMb = usage(pid)?.rssMb ?? 0;
  let mostRssMb = rssMb;
  const cpu = startCpuCount(pid, world.postgresPid);
  const begun = performance.now();
  for (const text of DUE) await database.sql.query(text, [account.id]);
  let after: Result | undefined;
  const isOver = async () => {
    mostRssMb = Math.max(mostRssMb, usage(pid)?.rssMb ?? 0);
    after = await resultOf(audited);
    return after !== undefined && after.at !== before?.at;
  };
  const limits = { limitMs: AUDIT_LIMIT_MS, everyMs: POLL_MS };
  const ended = await untilTrue('the audit', isOver, limits);
  const each = cpu(1);
  const { requests, units } = await audited.use();
  const { found, repaired, checked } = after!;
  return {
    ...each,
    ms: ended - begun,
    requests: requests - used.requests,
    units: units - used.units,
    rssMb,
    mostRssMb,
    found,
    repaired,
    checked,
  };
}

function findingsOf(key: string, healthy: Counted, counted: Counted): Finding[] {
  const common = { aim: null, better: 'less', figures: { healthy, damaged: counted } } as const;
  return [
    {
      ...common,
      what: `${key}: differences found in a mirror without any`,
      measured: healthy.found,
      needed: 0,
      unit: '',
    },
    {
      ...common,
      what: `${key}: differences of ${DIFFERENCES} that the audit did not repair`,
      measured: DIFFERENCES - counted.repaired,
      needed: 0,
      unit: '',
    },
    {
      ...common,
      what: `${key}: requests of the audit`,
      measured: counted.requests,
      needed: MOST_REQUESTS,
      unit: '',
    },
  ];
}

/** Prints one audit. */
function say(report: Report, key: string, name: string, counted: Counted): void {
  const { ms, process, postgres, rssMb, mostRssMb, requests, units } = counted;
  const cpu = (part: number | null) => (part === null ? 'unknown' : `${round(part, 0)} ms`);
  report.round(
    key,
    name,
    `${round(ms / 1000, 1)} s, ${counted.checked} ids, ${counted.found} differences, ` +
      `${counted.repaired} repaired, ${requests} requests, ${units} units, CPU ${cpu(process)}, ` +
      `PostgreSQL ${cpu(postgres)}, memory ${round(rssMb, 0)} to ${round(mostRssMb, 0)} MB`,
  );
}

async function measure(world: World, report: Report, audited: Audited): Promise<Finding[]> {
  const { key, program, database } = audited;
  await mirrored(audited, world.scale.mailboxMessages);
  const healthy = await audit(world, audited);
  say(report, key, 'audit, no differences', healthy);
  await damage(audited);
  const damaged = await audit(world, audited);
  say(report, key, `audit, ${DIFFERENCES} differences`, damaged);
  await world.stop(program.child);
  await database.drop();
  return findingsOf(key, healthy, damaged);
}

/** An audit of a large mailbox at the stub of a company, within the company's real quotas. */
export function auditRow(company: Company): BenchRow {
  const key = `${company}-audit`;
  return {
    key,
    title: `audit: a large mailbox at the stub of ${company}`,
    async run(world, report) {
      const stub = await startDistantStub(world, company);
      const database = await world.database(`${company}_audit`);
      const program = await startProgram(world, database, addressesOf(company, stub));
      const account = await connect(program, world, company, stub);
      const use = async () => useOf(company, await stub.report());
      const settle = () => delay(QUOTA_WINDOW_MS);
      const audited = { key, program, database, account, settle, use };
      const findings = await measure(world, report, audited);
      await stub.stop();
      return findings;
    },
  };
}

/** An audit of a large mailbox of a real Dovecot. Its requests are lines of IMAP. */
export const dovecotAuditRow: BenchRow = {
  key: 'dovecot-audit',
  title: 'audit: a large mailbox of a real Dovecot',
  async run(world, report) {
    const servers = await startServers(world);
    const user = await servers.addUser('ada');
    const first = await servers.client(user);
    await first.mailboxOpen('INBOX');
    await first.logout();
    await fillInbox(servers.dovecot, user.email, world.scale.mailboxMessages);
    let requests = 0;
    const proxy = await TcpProxy.start(servers.dovecot.ports.imap, () => ({ from, bytes }) => {
      if (from === 'client') requests += bytes.toString('latin1').split('\r\n').length - 1;
      return 'pass';
    });
    world.own(proxy);
    const database = await world.database('dovecot_audit');
    const program = await startProgram(world, database);
    const settings = servers.settingsOf(user, { imap_port: proxy.port });
    const account = await connectOver(program, world, user, settings);
    const use = () => Promise.resolve({ requests, units: requests });
    const settle = () => Promise.resolve();
    const audited = { key: 'dovecot-audit', program, database, account, settle, use };
    const findings = await measure(world, report, audited);
    await proxy.stop();
    await servers.stop();
    return findings;
  },
};
