import { countBriefly, withinSeconds } from '../../src/operator/search/search-limit.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

describe('searches of operators', () => {
  let test: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    test = await createTestDatabase();
    const limits = { max: 2, statementTimeoutMs: 15_000, applicationName: 'test' };
    database = new Database({ url: test.url, ...limits });
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const wait = (seconds: number) => (sql: Sql) =>
    sql.query('select pg_sleep($1), 1 as n', [seconds]);

  it('end after their time in all, although each statement alone takes less', async () => {
    const search = withinSeconds(database, 0.3, 'add an account', async (sql) => {
      for (let statement = 0; statement < 3; statement += 1) await wait(0.14)(sql);
    });
    await expect(search).rejects.toThrow(
      'The search was stopped after 0.3 seconds, because no index fits this filter: add an account',
    );
  });

  it('that only count return null then, and the connection keeps its own limit', async () => {
    const counted = countBriefly(database, async (sql) => {
      for (let statement = 0; statement < 3; statement += 1) await wait(0.4)(sql);
      return 3;
    });
    expect(await counted).toBeNull();
    expect(await database.query('show statement_timeout')).toEqual([{ statement_timeout: '15s' }]);
  });

  it('count one more than is shown, so that the head can say "more than"', async () => {
    expect(await countBriefly(database, async (_, most) => most)).toBe(10_001);
  });
});
