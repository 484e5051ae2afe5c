import { EVERYWHERE, RARE, seedMailbox, wordOf } from '../../bench/search-sample.ts';
import { Database } from '../../src/database/sql.ts';
import { BACKLOG_MESSAGES } from '../../src/search/search-backlog.ts';
import { parseSearchQuery } from '../../src/search/search-query.ts';
import { type Found, SearchRepository } from '../../src/search/search.repository.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const COUNT = 450;

describe('searching a mailbox beside others', () => {
  let server: TestApp;
  let repository: SearchRepository;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    repository = server.app.get(SearchRepository);
    const application = await createApplication(server.app);
    const database = server.app.get(Database);
    for (let number = 0; number < 2; number += 1) {
      ada = await createAccount(server.app, application);
      await seedMailbox(database, ada.id, COUNT, number);
    }
    await database.query('analyze', [], { prepared: false });
  });
  afterAll(() => server.close());

  const request = (found: Found = 'messages', reach = 1) => {
    return { found, page: { limit: 40, offset: 0 }, now: new Date(), reach };
  };
  const find = (q: string, found?: Found, reach?: number) =>
    repository.find(ada.id, parseSearchQuery(q, new Date()), request(found, reach));
  const explain = (q: string) => repository.explain(ada.id, parseSearchQuery(q, new Date()), request());

  it.each([
    RARE,
    `${wordOf(900)} `,
    EVERYWHERE[0],
    `"${EVERYWHERE.join(' ')}"`,
    `from:person-7@elsewhere.test ${wordOf(9)}`,
    `${EVERYWHERE[0]} is:unread in:inbox`,
    `${wordOf(9)} -${wordOf(2)} before:2030-01-01`,
    `${RARE} OR ${wordOf(30)} `,
  ])('looks %s up in the index, and reads no table as a whole', async (q) => {
    const plan = await explain(q);
    expect(plan).toContain('message_search_document');
    expect(plan).not.toMatch(/Seq Scan on message(_search|_body)?\b/);
  });

  it('goes through a mailbox from where it has got to, however large it is', async () => {
    const plan = await server.app.get(Database).transaction(async (sql) => {
      const run = (text: string) => sql.query<Record<'QUERY PLAN', string>>(text, [], { prepared: false });
      await run(`set local plan_cache_mode = force_generic_plan`);
      await run(`set local enable_seqscan = off`);
      await run(`set local enable_bitmapscan = off`);
      await run(`prepare batch (uuid, timestamptz, uuid, int, int) as ${BACKLOG_MESSAGES}`);
      const rows = await run(`explain execute batch ('${ada.id}', now(), '${ada.id}', 200, 1000000)`);
      await run('deallocate batch');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    for (const index of ['message_account_date', 'message_account_drafts'])
      expect(plan).toMatch(
        new RegExp(`Scan (Backward )?using ${index} on.*\\n.*Index Cond: .*ROW\\(date, id\\) <`),
      );
  });

  it('does not meet the words of others', async () => {
    const plan = await explain(EVERYWHERE[0]);
    const [, rows] =
      /Bitmap Index Scan on message_search_document .*actual time=\S+ rows=(\d+)/.exec(plan) ?? [];
    expect(Number(rows)).toBe(COUNT);
  });

  it.each(['is:unread', '-from:person-7@elsewhere.test', 'before:2030-01-01 in:inbox'])(
    'reads back from the newest message for %s',
    async (q) =>
      expect(await explain(q)).toMatch(/Index (Only )?Scan\S* .*(message_account_|message_folder)/),
  );

  it('gives each thread once, as many as there are', async () => {
    const { ids } = await find(EVERYWHERE[0], 'threads');
    expect(ids).toHaveLength(40);
    expect(new Set(ids).size).toBe(40);
    const { ids: all, more } = await repository.find(ada.id, parseSearchQuery(EVERYWHERE[0], new Date()), {
      ...request('threads', 8),
      page: { limit: 1_000, offset: 0 },
    });
    expect({ count: all.length, more }).toEqual({ count: COUNT / 3, more: false });
  });

  it('takes every query that can be written', async () => {
    const pieces = ['"', "'", '\\', ':*', '-', '(', ')', ' OR ', 'from:', 'subject:"', '<->', '\0', '\ud800', 'é', '会议', 'a', 'Bo@x.test', '*', '!', '&', '|', ' ', '\u0301', '\u00ad', 'is:unread', 'in:inbox', 'before:2026', 'a-b', '.', 'has:attachment']; // prettier-ignore
    for (let number = 0; number < 400; number += 1) {
      const random = () => pieces[Math.floor(Math.random() * pieces.length)];
      const q = Array.from({ length: 1 + (number % 12) }, random).join('');
      const found = find(q, number % 2 === 0 ? 'messages' : 'threads');
      await expect(found.catch((error: Error) => `${q}: ${error.message}`)).resolves.toHaveProperty('ids');
    }
  });
});
