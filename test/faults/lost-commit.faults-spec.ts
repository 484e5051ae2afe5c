import { type CrashingPostgres, startCrashingPostgres } from '../support/crashing-postgres.ts';
import { call } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { type Judge, TcpProxy } from '../support/tcp-proxy.ts';
import type { FaultAccount } from '../support/worker-world.ts';

/** The end of a response of PostgreSQL outside a transaction: what went before is committed. */
const COMMITTED = Buffer.from('Z\0\0\0\x05I');
const SUBJECT = 'lost at the commit';

describe('a connection to the database that is lost at the commit', () => {
  let database: CrashingPostgres;
  let world: FaultWorld;
  let network: TcpProxy;
  let server: ServerProcess;
  /** How many responses to commits are still to be lost. */
  let toLose = 0;

  /** Loses the response that confirms the commit of a message. */
  const judge = (): Judge => {
    let stores = false;
    return ({ from, bytes }) => {
      if (from === 'client' && bytes.includes(SUBJECT)) stores = true;
      if (from !== 'server' || !stores || toLose === 0 || !bytes.includes(COMMITTED)) return 'pass';
      toLose -= 1;
      return 'reset';
    };
  };

  beforeAll(async () => {
    database = await startCrashingPostgres();
    network = await TcpProxy.start(database.socketPath, judge);
    world = await FaultWorld.start({ accounts: 1, databaseUrl: database.url });
    const url = new URL(database.url);
    url.hostname = '127.0.0.1';
    url.port = String(network.port);
    server = await world.startServer({ DATABASE_URL: url.href });
  });
  afterAll(async () => {
    await world.close();
    await network.stop();
    await database.close();
  }, 60_000);

  /** Posts a message and loses the first response to its commit; then repeats the request. */
  const postTwice = async (to: string, headers: Record<string, string>) => {
    const post = () =>
      call(server, world.accounts[0] as FaultAccount, 'POST', '/v2/outbox', {
        body: { to: [{ email: to }], subject: SUBJECT },
        headers,
      });
    toLose = 1;
    const answers = [await post(), await post()];
    expect(toLose).toBe(0);
    return answers;
  };
  const copies = async (to: string) =>
    (await world.sink.accepted()).filter(({ recipients }) => recipients.includes(to)).length;

  it('is answered with a 503 that says so; a repetition is harmless with an Idempotency-Key and sends twice without', async () => {
    const unknown = {
      status: 503,
      body: {
        message: expect.stringMatching(
          /^The connection to the database was lost, .* may be stored/,
        ),
      },
    };
    const keyed = await postTwice('with-key@sink.test', { 'Idempotency-Key': 'k-1' });
    expect(keyed).toMatchObject([unknown, { status: 202 }]);
    const plain = await postTwice('without-key@sink.test', {});
    expect(plain).toMatchObject([unknown, { status: 202 }]);
    await world.settled();
    expect([await copies('with-key@sink.test'), await copies('without-key@sink.test')]).toEqual([
      1, 2,
    ]);
  }, 120_000);
});
