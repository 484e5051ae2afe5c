import { seedLists } from '../../bench/lists-sample.ts';
import { listsOf, type Values, wholeOf } from '../../bench/lists-queries.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { expectThreadsRefreshed } from '../support/threads.ts';

const COUNT = 600;
/** Tables with too many rows to read completely. The folders of one account are few. */
const LARGE = [
  'message',
  'message_body',
  String.raw`message_content_\d+`,
  'message_folder',
  'thread',
  'thread_summary',
  'thread_person',
  'file',
  'contact',
  'contact_key',
];

/**
 * Covers every list that the bench measures. The tables are small, so sequential scans are
 * forbidden: any that remains in a plan shows a missing index.
 */
describe('mail lists of an account among other accounts', () => {
  let server: TestApp;
  let ada: TestAccount;
  let plans: string[] | null = null;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    const application = await createApplication(server.app);
    const database = server.app.get(Database);
    for (const labels of [false, true, false]) {
      const account = await createAccount(server.app, application, {
        organizationUnit: labels ? 'label' : 'folder',
      });
      await seedLists(database, account.id, COUNT, labels);
      if (labels) ada = account;
    }
    await database.query('analyze', [], { prepared: false });
    explainAll(database);
  });
  afterAll(() => server.close());

  /** Also records the plan of every statement. */
  function explainAll(database: Database): void {
    const query = database.query.bind(database);
    database.query = async <R extends object>(
      ...[text, values, options]: Parameters<Sql['query']>
    ) => {
      if (plans && /^\s*(?:select|with)/.test(text)) {
        const rows = await database.transaction(async (sql) => {
          await sql.query('set local enable_seqscan = off');
          return sql.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values, {
            prepared: false,
          });
        });
        plans?.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      return query<R>(text, values, options);
    };
  }

  async function plansOf(path: string, values: Values): Promise<string> {
    plans = [];
    const response = await fetch(`${server.url}${path}?${new URLSearchParams(values)}`, {
      headers: ada.bearer,
    });
    const seen = plans.join('\n');
    plans = null;
    // An unread response would keep its connection open and the server from closing.
    await response.arrayBuffer();
    expect([path, values, response.status]).toEqual([path, values, 200]);
    return seen;
  }

  it('return threads that agree with their messages', () =>
    expectThreadsRefreshed(server.app.get(Database)));

  it.each(['/messages', '/threads', '/drafts', '/files'])(
    'never scan a whole table for %s',
    async (path) => {
      const asked = [
        ...(listsOf(ada.email, COUNT)[path] ?? []),
        ...(wholeOf(ada.email)[path] ?? []),
      ];
      expect(asked.length).toBeGreaterThan(1);
      const scan = new RegExp(`Seq Scan on (?:${LARGE.join('|')})\\b`);
      const whole: Values[] = [];
      for (const values of asked) if (scan.test(await plansOf(path, values))) whole.push(values);
      expect(whole).toEqual([]);
    },
  );

  it('find threads of frequent participants by reading in order', async () => {
    const database = server.app.get(Database);
    const { id, bearer } = await createAccount(server.app, await createApplication(server.app));
    await seedLists(database, id, 8_000, false);
    const people = Array.from({ length: 25 }, (_, number) => `${number + 1}@elsewhere.test`);
    const wanted = await database.query<{ id: string }>(
      `select t.id from thread t where t.account_id = $1 and t.message_count > 0
         and exists (select 1 from message m, jsonb_array_elements(
                       m.from_addresses || m.to_addresses || m.cc_addresses || m.bcc_addresses) a
                     where m.thread_id = t.id and not m.draft and a ->> 'email' = any($2::text[]))
       order by t.last_message_at desc, t.id desc`,
      [id, people],
    );
    const found = async (values: Values) => {
      const query = new URLSearchParams({ any_email: people.join(','), view: 'ids', ...values });
      const response = await fetch(`${server.url}/threads?${query}`, { headers: bearer });
      return response.json();
    };
    const ids = wanted.map((thread) => thread.id);
    plans = [];
    expect(await found({})).toEqual(ids.slice(0, 100));
    expect(plans.at(-1)).toMatch(/EXISTS\(SubPlan/);
    plans = null;
    expect(await found({ offset: '30', limit: '50' })).toEqual(ids.slice(30, 80));
    expect(await found({ offset: '1000', limit: '1000' })).toEqual(ids.slice(1_000, 2_000));
  });
});
