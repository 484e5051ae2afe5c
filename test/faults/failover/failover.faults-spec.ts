import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { postMessages, usualMessage } from '../../support/fault-load.ts';
import { expectPromiseKept } from '../../support/fault-figures.ts';
import {
  arrivedReminders,
  createDueReminders,
  ONCE,
  REMINDERS,
} from '../../support/replication/due-reminders.ts';
import { FailoverWorld } from '../../support/replication/failover-world.ts';
import type { PostgresNode } from '../../support/replication/postgres-node.ts';
import { sized } from '../../support/sized.ts';
import { until } from '../../support/until.ts';

const MESSAGES = sized(100, 800);
/** Messages that are accepted while the standby receives nothing. They are lost by the set-up. */
const IN_LAG = sized(8, 40);
/** How long the old server accepts writes, while messages are due on both. */
const OLD_SERVER_MS = sized(3_000, 20_000);

/** Posts messages for later. Both servers of the pair have them. @returns the ids of their jobs */
async function schedule(failover: FailoverWorld): Promise<string[]> {
  const later = Math.ceil(Date.now() / 1000) + 3_600;
  const accepted = await postMessages(failover.world, {
    messages: MESSAGES,
    server: (n) => failover.server(n),
    message: (n) => ({ ...usualMessage(n), send_at: later }),
  });
  await failover.pair.caughtUp();
  return accepted;
}

/** How long each of two workers reaches another server; at full size, for more than a minute. */
const SPLIT_MS = sized(6_000, 75_000);
/** Makes the messages due one after another, while the workers are apart. */
const DUE_MEANWHILE = `
  update send_job set run_at = now() + after, due_at = now() + after
  from (select id, random() * interval '${sized(6, 40)} s' as after from send_job) due where due.id = send_job.id`;
/** Makes all messages due in three seconds, however long it took to post them. */
const DUE_SOON = `
  update send_job set run_at = now() + interval '3 s', due_at = now() + interval '3 s'`;
const STORED = 'select id from outbox_message';
const storedOn = async (node: PostgresNode): Promise<Set<string>> =>
  new Set((await node.query<{ id: string }>(STORED)).map(({ id }) => id));

const FOUND = `
  select count(distinct job_id) as n from job_attempt where detail like '%found among the sent messages%'`;
const WORKERS = 'select count(*) as n from worker';
const LOST_WORKERS = 'select count(*) as n from lost_worker';
/** Workers that count as dead although their process had registered again before. */
const LOST_ALTHOUGH_MOVED = `
  select count(*) as n from lost_worker l
  join worker w on w.host = l.host and w.pid = l.pid and w.started_at < l.lost_at`;
const AUDITED = `select details from audit_entry where action = 'instance.failed_over'`;

describe('a database that fails over to its standby', () => {
  let failover: FailoverWorld;
  afterEach(async () => failover.close());

  it('sends no message and no reminder twice when the standby had not yet received that it was sent, loses only what was accepted since then, and counts no worker as dead', async () => {
    failover = await FailoverWorld.start();
    const { pair, world } = failover;
    const accepted = await schedule(failover);
    await createDueReminders(failover, 3);
    await pair.primary.query(DUE_SOON);
    await pair.caughtUp();
    pair.replication.block();
    const acceptedInLag = await postMessages(world, {
      messages: IN_LAG,
      key: 'lag',
      server: (n) => failover.server(n),
      message: (n) => ({ ...usualMessage(n), to: [{ email: `lag-${n}@sink.test` }] }),
    });
    await until('the reminders and half of the messages to leave', async () => {
      const reminders = await arrivedReminders(failover);
      return (
        isDeepStrictEqual(reminders, ONCE) && (await world.sink.counts()).accepted > MESSAGES / 2
      );
    });
    await pair.primary.freeze();
    const sent = (await world.accepted()).filter(
      ({ recipients }) => !/^(guest|lag)-/.test(recipients[0] ?? ''),
    ).length;
    await pair.failOver();
    pair.moveAddress({ cut: true });
    await failover.ready();
    await world.settled();

    await failover.expectNoneDoubled('an asynchronous standby, seconds behind', '1 failover');
    expect(await storedOn(pair.standby)).toEqual(new Set(accepted));
    expect(new Set(acceptedInLag).size).toBe(IN_LAG);
    const arrivedOfLag = (await world.accepted())
      .flatMap(({ recipients }) => recipients)
      .filter((email) => email.startsWith('lag-'));
    expect(arrivedOfLag).toHaveLength(new Set(arrivedOfLag).size);
    expect(await world.count(FOUND)).toBeGreaterThan(sent / 2);
    await until('the reminders to be recorded as sent', async () => {
      const n = await world.count(`select count(*) as n from reminder where status = 'sent'`);
      return n === REMINDERS;
    });
    expect(await arrivedReminders(failover)).toEqual(ONCE);
    await until('every job to be reported', async () => {
      const reported = world.receiver.posted.map(({ body }) => body.toString()).join('');
      return accepted.every((id) => reported.includes(id));
    });
    await until(
      'former registrations to be removed',
      async () => (await world.count(WORKERS)) === 2,
    );
    expect(await world.count(LOST_ALTHOUGH_MOVED)).toBe(0);
    expect(await failover.deaths()).toBe(await world.count(LOST_WORKERS));
    const [entry] = await world.sql.query<{ details: Record<string, unknown> }>(AUDITED);
    expect(entry?.details).toMatchObject({ from: 1, to: 2, synchronous: false });
    expect(failover.servers.one.output() + failover.servers.two.output()).toMatch(
      /the database failed over: timeline 2 after 1; up to \d+ s may be missing/,
    );
  }, 240_000);

  it('loses nothing when commits wait for the standby', async () => {
    failover = await FailoverWorld.start({ synchronous: true });
    const { pair, world } = failover;
    let posted = 0;
    const load = postMessages(world, {
      messages: MESSAGES,
      callers: 4,
      server: (n) => failover.server(n),
      pace: (n) => ((posted = n), delay(50)),
    });
    await until('some messages', async () => posted > MESSAGES / 3);
    await pair.primary.crash();
    await pair.failOver();
    pair.moveAddress({ cut: true });
    const accepted = await load;
    await world.settled();
    await expectPromiseKept(world, {
      test: 'a synchronous standby takes over',
      faults: '1 failover',
      accepted,
    });
    const [entry] = await world.sql.query<{ details: Record<string, unknown> }>(AUDITED);
    expect(entry?.details).toMatchObject({ from: 1, to: 2, synchronous: true, rows: 0 });
  }, 240_000);

  it('uses no server that was replaced, although it accepts writes again', async () => {
    failover = await FailoverWorld.start();
    const { pair, world } = failover;
    const accepted = await schedule(failover);
    await pair.primary.freeze();
    await pair.failOver();
    pair.moveAddress({ cut: true });
    await failover.ready();

    await pair.primary.thaw();
    for (const server of [pair.primary, pair.standby]) await server.query(DUE_SOON);
    pair.address.aim(pair.primary.socketPath);
    pair.address.reset(FailoverWorld.of('one'));
    await until('the old server to be refused', async () =>
      failover.servers.one.output().includes('a connection was refused'),
    );
    await delay(OLD_SERVER_MS);
    expect(await failover.connections(pair.primary)).toBe(0);
    pair.address.aim(pair.standby.socketPath);
    await failover.ready();
    await world.settled();
    await failover.expectNoneDoubled('the old primary accepts writes again', '1 failover');
    expect(await world.count('select count(*) as n from outbox_message')).toBe(accepted.length);
  }, 240_000);

  it('sends no message twice that both servers know, while one of two workers reaches only the old one', async () => {
    failover = await FailoverWorld.start();
    const { pair, world } = failover;
    const accepted = await schedule(failover);
    await pair.primary.query(DUE_MEANWHILE);
    await pair.caughtUp();
    await pair.failOver();
    const isOne = FailoverWorld.of('one');
    pair.address.aim((first) => (isOne(first) ? pair.primary : pair.standby).socketPath);
    pair.address.reset();
    await delay(SPLIT_MS);
    const each = [pair.primary, pair.standby].map((node) => failover.connections(node));
    expect(Math.min(...(await Promise.all(each)))).toBeGreaterThan(0);
    pair.address.aim(pair.standby.socketPath);
    await failover.ready();
    await world.settled();
    await failover.expectNoneDoubled('each of two workers reaches another server', '1 failover');
    expect(await world.count('select count(*) as n from outbox_message')).toBe(accepted.length);
    // Otherwise each server has sent what the other has not.
    expect(await world.count(FOUND)).toBeGreaterThan(accepted.length / 4);
  }, 300_000);

  it('is followed by every connection within two seconds when its address moves and the old server lives on, which accepts nothing from then on', async () => {
    failover = await FailoverWorld.start();
    const { pair, world } = failover;
    let posted = 0;
    const load = postMessages(world, {
      messages: MESSAGES,
      callers: 4,
      server: (n) => failover.server(n),
      pace: (n) => ((posted = n), delay(100)),
    });
    await until('some messages', async () => posted > MESSAGES / 3);
    await pair.failOver();
    pair.moveAddress({ cut: false });
    await pair.primary.left();
    const onOldServer = await storedOn(pair.primary);
    const accepted = await load;
    await world.settled();
    const { messages } = await failover.expectNoneDoubled(
      'an address moves, old connections stay',
      '1 failover',
    );
    await failover.ready();
    expect(await failover.connections(pair.primary)).toBe(0);
    expect(await storedOn(pair.primary)).toEqual(onOldServer);
    const onNewServer = await storedOn(pair.standby);
    const onlyOnOldServer = accepted.filter((id) => !onNewServer.has(id));
    expect(onlyOnOldServer.filter((id) => !onOldServer.has(id))).toEqual([]);
    expect(messages).toBeGreaterThan(MESSAGES / 2);
  }, 240_000);

  it('is followed within two seconds by a process that was started while the standby was away', async () => {
    failover = await FailoverWorld.start();
    const { pair } = failover;
    await pair.standbyLeaves();
    await failover.restart('two');
    // It looks a second after its start, whether it knows of a standby or not.
    await delay(2_000);
    await pair.failOver();
    pair.moveAddress({ cut: false });
    await pair.primary.left();
    await failover.ready();
    expect(await failover.connections(pair.primary)).toBe(0);
  }, 240_000);
});
