import { expectPromiseKept } from '../support/fault-figures.ts';
import { postMessages, type TestMessage } from '../support/fault-load.ts';
import { Fleet } from '../support/fleet.ts';
import type { FaultAnswer } from '../support/remote-stub/faults.ts';
import { beginStorm, type RemoteStorm } from '../support/remote-storm.ts';
import { RemoteWishes } from '../support/remote-wishes.ts';
import { RemoteWorld } from '../support/remote-world.ts';
import { sorted } from '../support/remote-side.ts';
import { until } from '../support/until.ts';

const MESSAGES = 48;
const STORM_MESSAGES = 40;
/** Share of the requests that fail in a storm. */
const SHARE = 0.15;
/** Kinds of faults in a storm. */
const KINDS = 10;
/** Accounts at each provider. */
const ACCOUNTS = 2;
/** Requests to each provider that are on their way when a worker is killed. */
const HELD = 6;

/** The provider has not done it, has done it and does not answer, and has done it and answers. */
const FATES: readonly FaultAnswer[] = ['drop', 'drop-after-done', 'none'];

describe('Google and Microsoft accounts', () => {
  let world: RemoteWorld;
  let fleet: Fleet;
  /** Whether requests will wait for the kill. */
  let armed = false;

  beforeAll(async () => {
    world = await RemoteWorld.start();
    fleet = await Fleet.start(world, 2, { SEND_SLOTS: '16' });
    await world.connect(fleet.next()!, ACCOUNTS);
  });
  beforeEach(() => world.invariants.begin());
  afterAll(async () => {
    await fleet.endKilling();
    await world.close();
  });

  /** Kills a worker while it sends messages by both, and lets the requests end afterwards. */
  async function killInSends(): Promise<void> {
    const released = Promise.withResolvers<void>();
    for (const side of world.sides)
      for (let n = 0; n < HELD; n += 1)
        side.stub.faults.add({
          match: (request) => side.isSend(request),
          answer: FATES[n % FATES.length]!,
          until: released.promise,
        });
    armed = true;
    await until('messages on their way', async () => {
      await world.hasten();
      return world.sides.every(({ stub }) => stub.faults.pending === 0);
    });
    await fleet.killOne();
    released.resolve();
    await fleet.replaced();
  }

  async function expectNoFailure(): Promise<void> {
    const statuses = await world.sql.query(
      `select status, action, reason from job_status where status <> 'successful'`,
    );
    expect(statuses).toEqual([]);
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
      pace: () => until('requests that wait for the kill', async () => armed),
    });
    await killInSends();
    const accepted = await posting;
    await world.settled({ hasten: 'all', limitMs: 60_000 });
    const count = await expectPromiseKept(world, {
      test: 'workers killed while they send by Google and Microsoft',
      faults: `1 kill, ${HELD * 2} requests`,
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
    world.expectWithinQuotas();
  }, 240_000);

  it('do in a storm of errors and lost responses what their clients ask for, once each', async () => {
    for (const { side, email } of world.accounts)
      for (const n of [1, 2]) await side.deliver(email, `news ${n}`);
    await world.expectMirrored(fleet.next()!);
    const before = (await world.accepted()).length;
    const wishes = world.sides.map(
      (side) => new RemoteWishes(world.accountAt(side), () => fleet.next()!),
    );
    const storms: RemoteStorm[] = world.sides.map((side, n) =>
      beginStorm(side, {
        seed: Number(process.env['SEED'] ?? 1) + n,
        share: SHARE,
        // A lost response to it costs five minutes, which cannot be hastened.
        isExempt: ({ path }) => path.endsWith(':createContact'),
      }),
    );
    const posting = postMessages(world, {
      messages: STORM_MESSAGES,
      server: () => fleet.next(),
      message: (n) => ({ ...message(n), subject: `storm ${n}` }),
      key: 'storm',
    });
    await Promise.all(wishes.map((one) => one.create()));
    const accepted = await posting;
    await world.settled({ hasten: 'all' });
    await expectNoFailure();
    await Promise.all(wishes.map((one) => one.change()));
    await world.settled({ hasten: 'all' });
    for (const storm of storms) storm.end();
    const faults = storms.map((storm) => storm.faults);
    const made = faults.flatMap((one) => Object.values(one)).reduce((sum, n) => sum + n, 0);
    await expectNoFailure();
    await expectPromiseKept(world, {
      test: 'errors and lost responses of Google and Microsoft',
      faults: `${made} responses`,
      accepted,
    });
    expect((await world.accepted()).length - before).toBe(STORM_MESSAGES);
    for (const { account, wanted, mails } of wishes) {
      const { side, email } = account;
      expect([email, side.seen(email)]).toMatchObject([email, wanted]);
      expect(side.meetingMails()).toEqual(sorted(mails));
    }
    expect(faults.map((one) => Object.keys(one).length)).toEqual([KINDS, KINDS]);
    await world.expectMirrored(fleet.next()!);
    world.expectWithinQuotas();
  }, 240_000);
});
