import { setTimeout as delay } from 'node:timers/promises';
import { expectPromiseKept } from '../../support/fault-figures.ts';
import { postMessages, usualMessage } from '../../support/fault-load.ts';
import { FaultWorld } from '../../support/fault-world.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/until.ts';

/** Shorter than the eight seconds after which a silent worker counts as dead. */
const SHORT_PAUSE_MS = 6_000;
const MESSAGES = 300;

describe('servers that stand still in the middle of sending', () => {
  let world: FaultWorld;

  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: 20 });
    // Long enough for every pause to find messages on their way.
    await world.sink.behave({ delayMs: [200, 1_500] });
  });
  afterAll(() => world.close(), 30_000);

  /** Messages a process has given to the mail server without knowing yet what became of them. */
  const held = ({ pid }: ServerProcess) =>
    world.count(
      `select count(*) as n from send_job j join worker w on w.id = j.worker_id
       where j.state = 1 and j.handoff_at is not null and w.pid = $1`,
      [pid],
    );

  it('lose and double nothing, whether or not the other servers take over their messages meanwhile', async () => {
    const environment = { SEND_SLOTS: '16' };
    const [brief, long, steady] = await Promise.all([
      world.startServer(environment),
      world.startServer(environment),
      world.startServer(environment),
    ]);
    // Due at the same moment: else the one that is asked first would send them all where posting is slow.
    const dueAt = Math.ceil(Date.now() / 1000) + 10;
    const posting = postMessages(world, {
      messages: MESSAGES,
      callers: 4,
      server: () => steady,
      message: (n) => ({ ...usualMessage(n), send_at: dueAt }),
    });
    await until(
      'both to be in the middle of sending',
      async () => (await held(brief)) > 2 && (await held(long)) > 2,
    );
    brief.pause();
    long.pause();
    const resumed = delay(SHORT_PAUSE_MS).then(() => brief.resume());
    await until(
      'the others to give away what the one holds',
      async () => (await held(long)) === 0,
      60_000,
    );
    // Its messages are being looked up and, where they had not arrived, sent by somebody else when it comes back.
    long.resume();
    await resumed;
    const accepted = await posting;
    await world.settled();
    await expectPromiseKept(world, {
      test: 'servers that stand still for 6 s and for longer than 8 s',
      faults: '2 pauses',
      accepted,
    });
    // Both go on, the one that was given up under a new name.
    await until(
      'all of them to work again',
      async () => (await world.count('select count(*) as n from worker')) === 3,
    );
    expect(await Promise.all([brief.stop(), long.stop(), steady.stop()])).toEqual([0, 0, 0]);
  }, 300_000);
});
