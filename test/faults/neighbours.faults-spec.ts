import net from 'node:net';
import { expectPromiseKept } from '../support/fault-figures.ts';
import { call } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';
import type { FaultAccount } from '../support/worker-world.ts';

const ACCOUNTS = sized(50, 80);
const PER_ACCOUNT = 50;
const MESSAGES = ACCOUNTS * PER_ACCOUNT;

/**
 * $1 is the number of copies, $2 the due time. Copies every message, with its own ids and
 * Message-ID. The originals become due at $2 too.
 */
const COPY = `
  with copy as materialized (
    select m.id as original, gen_random_uuid() as id,
      replace(m.message_id_header, '<', '<copy-' || n || '.') as header
    from outbox_message m, generate_series(1, $1::int) n),
  status as (
    insert into job_status (id, account_id, action, object, status, send_at, original_send_at, retry_limit_at,
                            message_id, thread_id, created_at, updated_at)
    select c.id, s.account_id, s.action, s.object, 'pending', $2, $2, s.retry_limit_at, gen_random_uuid(),
      gen_random_uuid(), s.created_at, s.updated_at
    from copy c join job_status s on s.id = c.original),
  content as (
    insert into outbox_message (id, account_id, content, envelope, mime, message_id_header)
    select c.id, m.account_id, m.content, m.envelope,
      convert_to(replace(convert_from(m.mime, 'UTF8'), m.message_id_header, c.header), 'UTF8'), c.header
    from copy c join outbox_message m on m.id = c.original),
  moved as (update job_status set send_at = $2, original_send_at = $2),
  queued as (update send_job set run_at = $2, due_at = $2)
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
  select c.id, q.account_id, $2, $2, q.retry_limit_at from copy c join send_job q on q.id = c.original`;

describe(`${MESSAGES} messages due in the same second, over ${ACCOUNTS} accounts`, () => {
  let world: FaultWorld;

  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: ACCOUNTS, deliver: false });
    const [hung] = world.accounts;
    await world.sink.behave({ hang: [hung?.email ?? ''] });
  });
  afterAll(() => world.close(), 30_000);

  it("are all sent while the mail server hangs for one account; that account's messages are sent when the server answers again", async () => {
    // The timeout is longer than the test, so a hanging connection stays open.
    const environment = { SMTP_COMMAND_MS: '600000' };
    const servers = await Promise.all([
      world.startServer(environment),
      world.startServer(environment),
    ]);
    // No message is due until all are copied, however long posting takes.
    const later = Math.ceil(Date.now() / 1000) + 3_600;
    const accepted: string[] = [];
    const poster = async (first: number) => {
      for (let n = first; n < ACCOUNTS; n += 8) {
        const answer = await call(
          servers[n % 2] as ServerProcess,
          world.accounts[n] as FaultAccount,
          'POST',
          '/v2/outbox',
          { body: { to: [{ email: `to-${n}@sink.test` }], subject: 'many', send_at: later } },
        );
        expect(answer?.status).toBe(202);
        accepted.push(String(answer?.body.job_status_id));
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, first) => poster(first)));
    const dueAt = Math.ceil(Date.now() / 1000) + 10;
    await world.sql.query(COPY, [PER_ACCOUNT - 1, new Date(dueAt * 1000)]);

    await until(
      'all other accounts to be served',
      async () => {
        const { accepted: served } = await world.sink.counts();
        return served === (ACCOUNTS - 1) * PER_ACCOUNT;
      },
      120_000,
    );
    const { bySender, hanging } = await world.sink.counts();
    expect(bySender[world.accounts[0]?.email ?? '']).toBeUndefined();
    expect(hanging).toBeGreaterThan(0);
    await until(
      'only the jobs of the hanging account to be left',
      async () => (await world.open()) === PER_ACCOUNT,
    );

    await world.sink.release();
    await world.settled();
    await expectPromiseKept(world, {
      test: `one account of ${ACCOUNTS} hangs, ${MESSAGES} messages in the same second`,
      faults: `${hanging} connections hang`,
      accepted,
    });
    const early = (await world.sink.accepted()).filter(({ at }) => at < dueAt * 1000);
    expect(early).toEqual([]);
  }, 240_000);
});

const SILENT = 24;
const HEALTHY = 4;

describe(`${SILENT} accounts of a mail server that does not answer`, () => {
  let world: FaultWorld;
  let silent: net.Server;
  const connections = new Set<net.Socket>();

  beforeAll(async () => {
    silent = net.createServer((socket) => {
      connections.add(socket.on('error', () => undefined));
      socket.on('close', () => connections.delete(socket));
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as net.AddressInfo;
    const sink = await startSmtpSink();
    world = await FaultWorld.start({
      accounts: SILENT + HEALTHY,
      sink,
      portOf: (index) => (index < SILENT ? port : sink.port),
      deliver: false,
    });
  });
  afterAll(async () => {
    await world.close();
    for (const socket of connections) socket.destroy();
    silent.close();
  }, 30_000);

  it('leave slots for the messages of other servers', async () => {
    // Nothing ends while the test runs: no time limit, and the breaker never stops.
    const server = await world.startServer({ SMTP_CONNECT_MS: '600000', SEND_SLOTS: '16' });
    const post = async (index: number, n: number) => {
      const account = world.accounts[index] as FaultAccount;
      const body = { to: [{ email: `to-${index}@sink.test` }], subject: `number ${n}` };
      const answer = await call(server, account, 'POST', '/v2/outbox', { body });
      expect(answer?.status).toBe(202);
      return String(answer?.body.job_status_id);
    };
    const jobs: string[] = [];
    for (let n = 0; n < 2; n += 1)
      for (let index = 0; index < SILENT; index += 1) jobs.push(await post(index, n));
    await until('the silent server to have its share', async () => connections.size === 8);
    for (let index = SILENT; index < SILENT + HEALTHY; index += 1)
      for (let n = 0; n < 5; n += 1) await post(index, n);
    await until(
      'all messages of the other server',
      async () => (await world.sink.counts()).accepted === HEALTHY * 5,
      30_000,
    );
    expect(connections.size).toBe(8);
    // The other messages of the silent server wait. They have not used up an attempt.
    const waiting = await until('a message that waits', async () => {
      const rows = await world.sql.query<{ reason: string; failures: number }>(
        `select s.reason, j.failures from send_job j join job_status s using (id)
         where j.id = any($1::uuid[]) and s.status = 'delayed' limit 1`,
        [jobs],
      );
      return rows[0];
    });
    expect(waiting).toMatchObject({
      reason: expect.stringMatching(
        /^not sent yet: 8 messages wait for the answer of 127\.0\.0\.1:\d+$/,
      ),
      failures: 0,
    });
  }, 120_000);
});
