import { FaultWorld } from '../../support/fault-world.ts';
import { call } from '../../support/fault-load.ts';
import { type TestAccount } from '../../support/factories.ts';
import { describeWith } from '../../support/mail-servers/installed.ts';
import { type MetricsPage, parseMetrics, total } from '../../support/metrics-page.ts';
import { judge } from '../../support/promtool.ts';
import { ReplicatedPostgres } from '../../support/replication/replicated-postgres.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/until.ts';

interface Route {
  from: string;
  problem?: string;
}

const READS = 'carillon_database_reads_total';

describe('two servers that read from a standby', () => {
  let pair: ReplicatedPostgres;
  let world: FaultWorld;
  let servers: [ServerProcess, ServerProcess];
  let account: TestAccount;
  let healthy: MetricsPage;
  let diverted: MetricsPage;

  beforeAll(async () => {
    pair = await ReplicatedPostgres.start();
    world = await FaultWorld.start({ accounts: 1, databaseUrl: pair.primary.url });
    const start = () => world.startServer({ DATABASE_READ_URL: pair.standby.url });
    servers = await Promise.all([start(), start()]);
    account = world.calendarAccount as TestAccount;
    await readFrom('standby');
  });
  afterAll(async () => {
    await world.close();
    await pair.close();
  });

  const ready = async ({ url }: ServerProcess) =>
    (await (await fetch(`${url}/health/ready`)).json()) as { status: string; reads: Route };
  const readFrom = (from: string) =>
    until(`both servers to read from the ${from}`, async () =>
      (await Promise.all(servers.map(ready))).every(({ reads }) => reads.from === from),
    );
  const page = async ({ url }: ServerProcess) =>
    parseMetrics(await (await fetch(`${url}/metrics`)).text());
  const answered = async (route: string) =>
    (await Promise.all(servers.map(page))).reduce(
      (n, each) => n + total(each, READS, { route }),
      0,
    );

  /** Reads with one server, and expects a response of 200. */
  const get = async (server: ServerProcess, path: string) => {
    const response = await fetch(`${server.url}${path}`, { headers: account.bearer });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  /**
   * Creates a contact with one server and changes it with the other. Reads it after each write with
   * the server that has not written.
   * @returns what the reads have missed
   */
  const writeAndRead = async (n: number): Promise<unknown[]> => {
    const [first, second] = n % 2 === 0 ? servers : servers.toReversed();
    const [writer, reader] = [first as ServerProcess, second as ServerProcess];
    const created = await call(writer, account, 'POST', '/contacts', {
      body: { given_name: `before ${n}` },
    });
    const path = `/contacts/${String(created?.body['id'])}`;
    const before = await get(reader, path);
    const body = { given_name: `after ${n}`, emails: [{ type: 'work', email: `${n}@a.test` }] };
    const changed = await call(reader, account, 'PUT', path, { body });
    const [after, list] = await Promise.all([
      get(writer, path),
      get(writer, `/contacts?email=${n}@a.test&view=ids`),
    ]);
    const seen = {
      statuses: [created?.status, before.status, changed?.status, after.status],
      names: [before.body['given_name'], after.body['given_name']],
      listed: list.body,
    };
    const expected = {
      statuses: [200, 200, 200, 200],
      names: [`before ${n}`, `after ${n}`],
      listed: [created?.body['id']],
    };
    return JSON.stringify(seen) === JSON.stringify(expected) ? [] : [seen];
  };
  const missed = async (from: number, to: number) => {
    const all: unknown[] = [];
    for (let n = from; n < to; n += 1) all.push(...(await writeAndRead(n)));
    return all;
  };

  it('show each write to a client of either server, 400 times', async () => {
    const before = await answered('standby');
    expect(await missed(0, 200)).toEqual([]);
    expect((await answered('standby')) - before).toBeGreaterThan(0);
    healthy = await page(servers[0]);
  });

  it('show each write while commits wait for replay, and when they wait no longer', async () => {
    await pair.primary.set('synchronous_commit', 'remote_apply');
    await pair.setSynchronous(true);
    expect(await missed(200, 230)).toEqual([]);
    const going = missed(230, 260);
    await pair.setSynchronous(false);
    await pair.primary.set('synchronous_commit', null);
    expect(await going).toEqual([]);
  });

  it('show each write, and answer each request, while the standby pauses, crashes and returns', async () => {
    const stop = new AbortController();
    const all: unknown[] = [];
    const going = (async () => {
      for (let n = 300; !stop.signal.aborted; n += 1) all.push(...(await writeAndRead(n)));
    })();
    await pair.standby.query('select pg_wal_replay_pause()');
    await readFrom('primary');
    expect(await ready(servers[0])).toMatchObject({
      status: 'ready',
      reads: { from: 'primary', problem: 'lags behind by more than 50 ms' },
    });
    diverted = await page(servers[0]);
    await pair.standby.query('select pg_wal_replay_resume()');
    await readFrom('standby');
    await pair.standby.crash();
    await readFrom('primary');
    await pair.standby.start();
    await readFrom('standby');
    await pair.standby.freeze();
    await readFrom('primary');
    await pair.standby.thaw();
    await readFrom('standby');
    stop.abort();
    await going;
    expect(all).toEqual([]);
    const output = servers[0].output();
    expect(output.match(/reads go to the primary: the standby/g)?.length).toBeGreaterThan(2);
  });

  it('list messages, threads, files, folders, events and search results from the standby', async () => {
    await readFrom('standby');
    const paths = [
      '/messages',
      '/messages?view=count',
      '/threads?view=expanded',
      '/files',
      '/folders',
      '/events',
      '/contacts',
      '/messages/search?q=hello',
      '/threads/search?q=hello',
    ];
    for (const path of paths)
      await until(`the standby to answer ${path}`, async () => {
        const before = await answered('standby');
        expect([path, (await get(servers[0], path)).status]).toEqual([path, 200]);
        return (await answered('standby')) > before;
      });
    for (const path of ['/delta/latest_cursor', '/account']) {
      const before = await answered('standby');
      const method = path.startsWith('/delta') ? 'POST' : 'GET';
      await fetch(`${servers[0].url}${path}`, { method, headers: account.bearer });
      expect([path, await answered('standby')]).toEqual([path, before]);
    }
  });

  describeWith(['promtool'], 'the alert', () => {
    it('reports reads that the standby should answer', async () => {
      expect(await judge('CarillonReadsDiverted', healthy, diverted)).toBe('');
    });
  });
});
