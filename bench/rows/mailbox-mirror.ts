import type { MailServers, MailUser } from '../../test/support/mail-servers/mail-servers.ts';
import { compare, type Round } from '../comparison.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { fillInbox } from '../mailbox-sample.ts';
import type { BareMailbox } from '../processes/bare-mirror.ts';
import type { Report } from '../report.ts';
import { median, round } from '../statistics.ts';
import { cpuWords, startCpuCount } from '../usage.ts';
import type { World } from '../world.ts';
import { connectOver, newestMessages, startProgram, startServers, untilTrue } from './program.ts';

const KEY = 'mirror';
const LIMIT_MS = 180_000;
const PAGE = 100;
/**
 * Most processor time, as a multiple of the reference's. It keeps today's cost from growing: the
 * program took 1.8 to 2.1 times as much, and PostgreSQL half as much again.
 */
const CPU = 2.8;

interface Mailbox {
  servers: MailServers;
  user: MailUser;
}

interface Mirrored extends Round {
  firstPageMs: number;
}

/** Connects the mailbox in a new process and database, and waits until all of it is mirrored. */
async function carillon(
  world: World,
  report: Report,
  { servers, user }: Mailbox,
  name: string,
): Promise<Mirrored> {
  const database = await world.database(`${KEY}_${name}`);
  await world.settle(database);
  const program = await startProgram(world, database);
  const cpu = startCpuCount(program.child.pid, world.postgresPid);
  const mailbox = await connectOver(program, world, user, servers.settingsOf(user));
  const begun = performance.now();
  const page = async () => (await newestMessages(program, mailbox, PAGE)).length === PAGE;
  const paged = await untilTrue('the first page', page, { limitMs: LIMIT_MS, everyMs: 50 });
  const isCurrent = async () => {
    const { rowCount } = await database.sql.query(
      'select 1 from sync_job where account_id = $1 and current_since is not null',
      [mailbox.id],
    );
    return rowCount === 1;
  };
  const ended = await untilTrue('the whole mailbox', isCurrent, { limitMs: LIMIT_MS, everyMs: 50 });
  const count = world.scale.mailboxMessages;
  const each = cpu(count);
  const { rows } = await database.sql.query<{ n: number }>(
    'select count(*)::int as n from message_content where account_id = $1',
    [mailbox.id],
  );
  if (rows[0]?.n !== count) throw new Error(`${rows[0]?.n} of ${count} messages were mirrored`);
  await world.stop(program.child);
  await database.drop();
  const perSecond = count / ((ended - begun) / 1000);
  const firstPageMs = paged - begun;
  const words = `${round(perSecond, 0)} a second, first page after ${round(firstPageMs, 0)} ms`;
  report.round(KEY, `${name} carillon`, `${words}${cpuWords(each)}`);
  return { perSecond, cpu: each, firstPageMs };
}

/** Reads the same mailbox with imapflow and postal-mime alone. */
async function bare(
  world: World,
  report: Report,
  { servers, user }: Mailbox,
  name: string,
): Promise<Round> {
  const child = world.spawn('bench/processes/bare-mirror.ts');
  await child.ready();
  const cpu = startCpuCount(child.pid, null);
  const asked: BareMailbox = {
    port: servers.dovecot.ports.imap,
    user: user.email,
    password: user.password,
  };
  const { count, ms } = await child.ask<{ count: number; ms: number }>('read', asked);
  if (count !== world.scale.mailboxMessages) throw new Error(`only ${count} messages were read`);
  const perSecond = count / (ms / 1000);
  const each = cpu(count);
  report.round(KEY, `${name} bare`, `${round(perSecond, 0)} a second${cpuWords(each)}`);
  await world.stop(child);
  return { perSecond, cpu: each };
}

async function measure(world: World, report: Report, mailbox: Mailbox): Promise<Finding[]> {
  const [bares, mirrors]: [Round[], Mirrored[]] = [[], []];
  // Not counted, because Dovecot builds its index when a mailbox is opened for the first time.
  await bare(world, report, mailbox, 'warm-up');
  for (let number = 1; number <= world.scale.mailboxRounds; number += 1) {
    bares.push(await bare(world, report, mailbox, `${number}`));
    mirrors.push(await carillon(world, report, mailbox, `${number}`));
  }
  const pages = mirrors.map(({ firstPageMs }) => firstPageMs);
  const what = `${world.scale.mailboxMessages} messages`;
  const sides = { carillon: mirrors, raw: bares };
  return [
    ...compare(what, 'fetching and parsing alone', sides, { share: 0.5, aim: null, cpu: CPU }),
    {
      what: 'from connecting to the first page',
      measured: round(median(pages), 0),
      needed: 3_000,
      aim: null,
      better: 'less',
      unit: ' ms',
      rounds: pages.map((ms) => round(ms, 0)),
      figures: {},
    },
  ];
}

/** The first sync of a large mailbox, compared with the minimum work of reading it. */
export const mirrorRow: BenchRow = {
  key: KEY,
  title: 'first sync: a mailbox of a real Dovecot against imapflow and postal-mime alone',
  async run(world, report) {
    const servers = await startServers(world);
    const user = await servers.addUser('ada');
    const first = await servers.client(user);
    // The mailbox has a message now.
    await first.mailboxOpen('INBOX');
    await first.logout();
    await fillInbox(servers.dovecot, user.email, world.scale.mailboxMessages);
    const findings = await measure(world, report, { servers, user });
    await servers.stop();
    return findings;
  },
};
