import '../support/long-run.ts';
import { postMessages, usualMessage } from '../support/fault-load.ts';
import { FailoverWorld } from '../support/replication/failover-world.ts';
import type { PostgresNode } from '../support/replication/postgres-node.ts';
import { until } from '../support/until.ts';

const MESSAGES = 200;
const DUE_SOON = `
  update send_job set run_at = now() + interval '2 s', due_at = now() + interval '2 s'`;
const OWN_CONNECTIONS = (first: Buffer) => first.includes('user\0postgres\0');

describe('a database that fails over again and again', () => {
  let failover: FailoverWorld;
  afterEach(async () => failover.close());

  /** Posts messages that become due later, until a server has all of them. */
  const schedule = async (key: string, primary: PostgresNode, standby: PostgresNode) => {
    const later = Math.ceil(Date.now() / 1000) + 3_600;
    await postMessages(failover.world, {
      messages: MESSAGES,
      key,
      server: (n) => failover.server(n),
      message: (n) => ({ ...usualMessage(n), send_at: later }),
    });
    await primary.query(DUE_SOON);
    await failover.pair.caughtUp(primary, standby);
    const before = (await failover.world.sink.counts()).accepted;
    await until('a third of the messages to leave', async () => {
      const { accepted } = await failover.world.sink.counts();
      return accepted - before > MESSAGES / 3;
    });
  };
  /** Moves the address; only the connections of the test itself are cut. */
  const moveTo = (node: PostgresNode) => {
    failover.pair.address.aim(node.socketPath);
    failover.pair.address.reset(OWN_CONNECTIONS);
  };

  it('sends no message twice when a frozen primary is replaced twice, wakes up, and a server that was rebuilt takes over again', async () => {
    failover = await FailoverWorld.start();
    const { pair, world } = failover;
    const { primary, standby } = pair;
    const third = await pair.addStandby(standby);
    await schedule('first', primary, third);
    await primary.freeze();
    await pair.failOver();
    moveTo(standby);
    await pair.caughtUp(standby, third);
    await third.promote();
    moveTo(third);
    await standby.left();
    await primary.thaw();
    await primary.left();
    await failover.ready();
    expect(await third.timeline()).toBe(3);
    await world.settled();

    const rebuilt = await pair.addStandby(third);
    await schedule('second', third, rebuilt);
    await rebuilt.promote();
    moveTo(rebuilt);
    await third.left();
    await failover.ready();
    await world.settled();
    const { messages } = await failover.expectNoneDoubled(
      'three promotions in a row, with a frozen primary',
      '3 failovers',
    );
    expect(messages).toBe(2 * MESSAGES);
    for (const old of [primary, standby, third]) expect(await failover.connections(old)).toBe(0);
    expect(await failover.servers.one.stop()).toBe(0);
    expect(await failover.servers.two.stop()).toBe(0);
  }, 300_000);
});
