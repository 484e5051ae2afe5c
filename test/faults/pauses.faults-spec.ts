import { setTimeout as delay } from 'node:timers/promises';
import { expectPromiseKept } from '../support/fault-figures.ts';
import { postMessages, usualMessage } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';

/** Shorter than the eight seconds after which a silent worker counts as dead. */
const SHORT_PAUSE_MS = 6_000;
const MESSAGES = 300;

describe('servers that are paused in the middle of sending', () => {
  let world: FaultWorld;

  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: 20 });
    // Slow enough that messages are being handed off at every pause.
    await world.sink.behave({ delayMs: [200, 1_500] });
  });
  afterAll(() => world.close(), 30_000);

  /** Messages that a process has handed off and whose outcome it does not know yet. */
  const handedOff = ({ pid }: ServerProcess) =>
    world.count(
      `select count(*) as n from send_job j join worker w on w.id = j.worker_id
       where j.state = 1 and j.handoff_at is not null and w.pid = $1`,
      [pid],
    );

  it('lose and duplicate nothing, whether or not other servers take over their messages', async () => {
    const environment = { SEND_SLOTS: '16' };
    const [brief, long, steady] = await Promise.all([
      world.startServer(environment),
      world.startServer(environment),
      world.startServer(environment),
    ]);
    // All messages are due at the same time. Otherwise, where posting is slow, the first server to
    // claim would send them all.
    const dueAt = Math.ceil(Date.now() / 1000) + 10;
    const posting = postMessages(world, {
      messages: MESSAGES,
      callers: 4,
      server: () => steady,
      message: (n) => ({ ...usualMessage(n), send_at: dueAt }),
    });
    await until(
      'both servers to be in the middle of sending',
      async () => (await handedOff(brief)) > 2 && (await handedOff(long)) > 2,
    );
    brief.pause();
    long.pause();
    const resumed = delay(SHORT_PAUSE_MS).then(() => brief.resume());
    await until(
      'the other servers to take over the rows of the paused one',
      async () => (await handedOff(long)) === 0,
      60_000,
    );
    // When the paused server resumes, other workers have settled its messages by look-ups, and have
    // sent those that had not arrived.
    long.resume();
    await resumed;
    const accepted = await posting;
    await world.settled();
    await expectPromiseKept(world, {
      test: 'servers that stand still for 6 s and for longer than 8 s',
      faults: '2 pauses',
      accepted,
    });
    // Both continue. The server that counted as dead has registered as a new worker.
    await until(
      'all servers to work again',
      async () => (await world.count('select count(*) as n from worker')) === 3,
    );
    expect(await Promise.all([brief.stop(), long.stop(), steady.stop()])).toEqual([0, 0, 0]);
  }, 300_000);
});
