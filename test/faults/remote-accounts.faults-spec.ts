import { expectPromiseKept } from '../support/fault-figures.ts';
import { postMessages, type TestMessage } from '../support/fault-load.ts';
import { Fleet } from '../support/fleet.ts';
import type { FaultAnswer } from '../support/remote-stub/faults.ts';
import { RemoteWorld } from '../support/remote-world.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

const MESSAGES = sized(96, 1_000);
const KILLS = sized(2, 8);
/** Accounts at each provider. */
const ACCOUNTS = 2;
/** Requests to each provider that are on their way when a worker is killed. */
const HELD = 9;

/** The provider has not done it, has done it and does not answer, and has done it and answers. */
const FATES: readonly FaultAnswer[] = ['drop', 'drop-after-done', 'none'];

describe('Google and Microsoft accounts', () => {
  let world: RemoteWorld;
  let fleet: Fleet;
  /** How often requests were told to wait for a kill. */
  let armed = 0;

  beforeAll(async () => {
    world = await RemoteWorld.start();
    fleet = await Fleet.start(world, 2, { SEND_SLOTS: '16' });
    await world.connect(fleet.next()!, ACCOUNTS);
  });
  afterAll(async () => {
    await fleet.endKilling();
    await world.close();
  });

  /** Kills a worker while requests of both are on their way, and lets them end afterwards. */
  async function killInRequests(what: string, isOne: (path: string) => boolean): Promise<void> {
    const released = Promise.withResolvers<void>();
    for (const { stub } of world.sides)
      for (let n = 0; n < HELD; n += 1)
        stub.faults.add({
          match: ({ method, path }) => isOne(`${method} ${path}`),
          answer: FATES[n % FATES.length]!,
          until: released.promise,
        });
    armed += 1;
    await until(what, async () => world.sides.every(({ stub }) => stub.faults.pending === 0));
    await fleet.killOne();
    released.resolve();
    await fleet.replaced();
  }

  const message = (n: number): TestMessage => {
    const { side } = world.accounts[n % world.accounts.length]!;
    const others = world.accounts.filter((one) => one.side === side);
    const to = [{ email: others[(n >> 3) % ACCOUNTS]!.email }];
    if (n % 5 === 0) to.push({ email: `to-${n}@elsewhere.test` });
    return { to, subject: `message ${n}`, body: 'Hello' };
  };

  it('lose no message and send none twice when workers are killed while they send', async () => {
    const posting = postMessages(world, {
      messages: MESSAGES,
      server: () => fleet.next(),
      message,
      pace: (n) => until('the kill before this message', async () => armed * MESSAGES > n * KILLS),
    });
    for (let kill = 0; kill < KILLS; kill += 1)
      await killInRequests('messages on their way', (line) =>
        /^POST .*\/(send|sendMail)$/.test(line),
      );
    const accepted = await posting;
    await world.settled({ hasten: 'all', limitMs: 60_000 });
    const count = await expectPromiseKept(world, {
      test: 'workers killed while they send by Google and Microsoft',
      faults: `${KILLS} kills, ${KILLS * HELD * 2} requests`,
      accepted,
    });
    expect(count).toMatchObject({ messages: MESSAGES, accepted: MESSAGES });
    const statuses = await world.sql.query('select distinct status from job_status');
    expect(statuses).toEqual([{ status: 'successful' }]);
    for (const { side, email } of world.accounts) {
      const expected = side.accepted().filter(({ recipients }) => recipients.includes(email));
      const wrong = expected.filter(({ messageId }) => side.received(email, messageId) !== 1);
      expect([email, wrong]).toEqual([email, []]);
    }
    await world.expectMirrored(fleet.next()!);
  }, 240_000);
});
