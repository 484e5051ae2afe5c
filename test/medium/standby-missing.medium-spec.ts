import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';
import { readMetrics } from '../support/metrics-page.ts';
import { readyOf } from '../support/operators-view.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const WAITING = `select 1 from pg_stat_activity where wait_event = 'SyncRep'`;

describe('a synchronous standby that is missing before anything is written', () => {
  let postgres: EmbeddedPostgres;
  let client: pg.Client;
  let server: TestApp;
  beforeAll(async () => {
    postgres = await startEmbeddedPostgres({ settings: { fsync: 'off' } });
    await migrate(postgres.url);
    server = await startTestApp({ ROLES: 'api', DATABASE_URL: postgres.url });
    client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.query('alter system reset synchronous_standby_names');
    await client.query('select pg_reload_conf()');
    await client.end();
    // The process remembers that no commit ends, and suites after this one run in it, too.
    await until('commits to end', async () => (await readyOf(server)).status === 200);
    await server.close();
    await postgres.stop();
  });

  it('counts as commits that wait, although no commit is begun', async () => {
    await client.query(`alter system set synchronous_standby_names = 'nobody'`);
    await client.query('select pg_reload_conf()');
    await until('the metric to rise', async () => {
      const page = await readMetrics(server);
      return (page.get('carillon_database_commit_wait_seconds') ?? 0) > 4;
    });
    expect((await client.query(WAITING)).rows).toEqual([]);
    expect(await readyOf(server)).toMatchObject({
      status: 503,
      failing: { standby: 'commits wait for a synchronous standby that is not connected' },
    });
  });
});
