import { fileURLToPath } from 'node:url';
import { expectPromiseKept } from '../support/fault-figures.ts';
import { postMessages, usualMessage } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import { until } from '../support/until.ts';

const SHIFTED_CLOCK = fileURLToPath(new URL('../support/shifted-clock.ts', import.meta.url));
const MESSAGES = 80;

/** Milliseconds since 1970, read from one of our ids (UUIDv7). */
const instantOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('two servers, one of them with a clock that is ten minutes wrong', () => {
  let world: FaultWorld;

  beforeEach(async () => {
    world = await FaultWorld.start({ accounts: 20 });
  });
  afterEach(() => world.close(), 30_000);

  it.each([
    ['fast', 10],
    ['slow', -10],
  ])(
    'send nothing early, late or twice when that clock is %s',
    async (name, minutes) => {
      const environment = { SEND_SLOTS: '4' };
      const servers = await Promise.all([
        world.startServer(environment),
        world.startServer(
          { ...environment, CLOCK_SHIFT_MS: String(minutes * 60_000) },
          { nodeArguments: ['--import', SHIFTED_CLOCK] },
        ),
      ]);
      // The first server to claim takes all the rows it can. So the mail server is slow until both
      // servers have claimed some.
      await world.sink.behave({
        delayMs: [100, 200],
        hang: world.accounts.map(({ email }) => email),
      });
      const senders = new Set<number>();
      const both = until('both servers to send', async () => {
        const rows = await world.sql.query<{ pid: number }>(
          'select distinct w.pid from send_job j join worker w on w.id = j.worker_id where j.state = 1',
        );
        for (const { pid } of rows) senders.add(pid);
        return senders.size === 2;
      }).finally(() => world.sink.release());
      const dueAt = Math.ceil(Date.now() / 1000) + 3;
      const posting = postMessages(world, {
        messages: MESSAGES,
        server: (n) => servers[(n >> 1) % 2],
        // Half of the messages are due at once, half of them later.
        message: (n) => ({
          ...usualMessage(n),
          ...(n % 2 === 0 ? {} : { send_at: dueAt + (n % 3) }),
        }),
      });
      const [accepted] = await Promise.all([posting, both]);
      // Each process makes ids with its own clock, so half of the ids prove that one clock is
      // wrong.
      const offMs = accepted.map((id) => Math.abs(instantOf(id) - Date.now()));
      expect(offMs.filter((ms) => ms > 500_000)).toHaveLength(MESSAGES / 2);
      await world.settled();
      const early = (await world.sink.accepted()).filter(({ subject, at }) => {
        const n = Number(subject.replace(/\D/g, ''));
        return n % 2 === 1 && at < (dueAt + (n % 3)) * 1000;
      });
      expect(early).toEqual([]);
      await expectPromiseKept(world, {
        test: `a clock ten minutes ${name}`,
        faults: '1 clock',
        accepted,
      });
    },
    240_000,
  );
});
