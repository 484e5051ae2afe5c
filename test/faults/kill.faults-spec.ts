import { expectPromiseKept } from '../support/fault-figures.ts';
import { postMessages } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import { Fleet } from '../support/fleet.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

const MESSAGES = sized(300, 800);
const SERVERS = 4;
const KILL_EVERY_MS = 1_000;
/** Messages accepted between two kills, however fast the machine is. */
const MESSAGES_PER_KILL = 100;

describe('four servers, one of which is killed every second', () => {
  let world: FaultWorld;
  let fleet: Fleet | undefined;

  beforeAll(async () => {
    // Every fifth account has no Sent folder that could be searched.
    world = await FaultWorld.start({ accounts: 50, withoutSentFolder: (index) => index % 5 === 4 });
    // The mail server stores a message at some point in this time, and answers at its end. A kill
    // between the two leaves an unknown outcome.
    await world.sink.behave({ delayMs: [50, 400] });
  });
  afterAll(async () => {
    await fleet?.endKilling();
    await world.close();
  });

  it('lose no message, and send none twice if the provider has a Sent folder to search', async () => {
    fleet = await Fleet.start(world, SERVERS, { SEND_SLOTS: '16' });
    const servers = fleet;
    const begun = performance.now();
    fleet.beginKilling(KILL_EVERY_MS);
    const accepted = await postMessages(world, {
      messages: MESSAGES,
      callers: 16,
      server: () => servers.next(),
      pace: (n) =>
        until(
          'the time of the next message',
          async () =>
            performance.now() - begun >= (n * KILL_EVERY_MS) / MESSAGES_PER_KILL &&
            servers.kills >= n / MESSAGES_PER_KILL - 2,
          60_000,
        ),
    });
    expect(accepted).toHaveLength(MESSAGES);
    await world.settled({ limitMs: 150_000, hasten: 'unasked' });
    await fleet.endKilling();
    expect(fleet.kills).toBeGreaterThanOrEqual(MESSAGES / MESSAGES_PER_KILL - 2);
    await expectPromiseKept(world, {
      test: 'a server killed with -9 every second',
      faults: `${fleet.kills} kills`,
      accepted,
    });
    expect(new Set(await fleet.stop())).toEqual(new Set([0]));
  }, 300_000);
});
