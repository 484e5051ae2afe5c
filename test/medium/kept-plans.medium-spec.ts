import { seedLists } from '../../bench/lists-sample.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const MESSAGES = 600;
/** PostgreSQL plans a prepared statement this often for its values before it may keep a plan. */
const PLANNED_FOR_VALUES = 5;
const REQUESTS = 12;

interface Runs {
  kept: number;
  planned: number;
}

const RUNS = `
  select statement, generic_plans::int as kept, custom_plans::int as planned from pg_prepared_statements`;

/** Planning such a statement takes longer than running it. */
describe('statements of frequent requests', () => {
  let server: TestApp;
  let database: Database;
  let bearer: Record<string, string>;

  beforeAll(async () => {
    // With a single connection, that connection knows about every statement.
    server = await startTestApp({ ROLES: 'api', DATABASE_POOL: '1' });
    database = server.app.get(Database);
    const application = await createApplication(server.app);
    const account = await createAccount(server.app, application);
    ({ bearer } = account);
    await seedLists(database, account.id, MESSAGES, false);
    await database.query('analyze', [], { prepared: false });
  });
  afterAll(() => server.close());

  /** How often each statement was run with a kept plan, and how often it was planned. */
  async function runs(): Promise<Map<string, Runs>> {
    const rows = await database.query<Runs & { statement: string }>(RUNS, [], { prepared: false });
    return new Map(rows.map(({ statement, kept, planned }) => [statement, { kept, planned }]));
  }

  it.each([
    '/messages?limit=10',
    '/messages',
    '/messages?limit=10&offset=50',
    '/messages?view=ids',
    '/threads?limit=10',
    '/events?limit=10',
    '/job-statuses?limit=10',
    '/contacts?limit=10',
  ])('keep their plans: GET %s', async (path) => {
    const before = await runs();
    for (let number = 0; number < REQUESTS; number += 1) {
      const response = await fetch(`${server.url}${path}`, { headers: bearer });
      await response.arrayBuffer();
      expect(response.status).toBe(200);
    }
    const used = [...(await runs())]
      .map(([statement, now]) => {
        const { kept, planned } = before.get(statement) ?? { kept: 0, planned: 0 };
        return { statement, kept: now.kept - kept, planned: now.planned - planned };
      })
      .filter(({ kept, planned }) => kept + planned >= REQUESTS);
    // The statement that finds the token, and the list.
    expect(used.length).toBeGreaterThanOrEqual(2);
    expect(used.filter(({ planned }) => planned > PLANNED_FOR_VALUES)).toEqual([]);
  });
});
