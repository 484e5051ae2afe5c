import { EVERYWHERE, RARE, seedMailbox, wordOf } from '../../bench/search-sample.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { BACKLOG_MESSAGES } from '../../src/mail/search/text-backlog.ts';
import { parseSearchQuery } from '../../src/mail/search/search-query.ts';
import { type Found, RANKED, SearchRepository } from '../../src/mail/search/search.repository.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const COUNT = 450;
/** In a plan: a scan of the word index that was executed. */
const INDEX_READ =
  /Bitmap Index Scan on search_document_\d+_search_lexemes_idx .*\(actual time=\S+ rows=(\d+)/;

describe("searching one account's mail among other accounts", () => {
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
  const explain = (q: string) =>
    repository.explain(ada.id, parseSearchQuery(q, new Date()), request());

  /**
   * Ids of the messages whose text passes the test, newest first. The text has spaces around its
   * words.
   */
  const matches = async (test: (text: string) => boolean) => {
    const rows = await server.app.get(Database).query<{ id: string; text: string }>(
      `select m.id, m.subject || ' | ' || (m.from_addresses -> 0 ->> 'name') || ' | ' || convert_from(c.body, 'UTF8') as text
       from message m join message_content c on c.account_id = m.account_id and c.message_id = m.id where m.account_id = $1 order by m.date desc, m.id desc`,
      [ada.id],
    );
    return rows
      .filter(({ text }) => test(` ${text.replaceAll(/<\/?p>/g, ' ')} `))
      .map(({ id }) => id);
  };

  it.each([
    RARE,
    `${wordOf(900)} `,
    EVERYWHERE[0],
    `"${EVERYWHERE.join(' ')}"`,
    `from:person-7@elsewhere.test ${wordOf(9)}`,
    `${EVERYWHERE[0]} is:unread in:inbox`,
    `${wordOf(9)} -${wordOf(2)} before:2030-01-01`,
    `${RARE} OR ${wordOf(30)} `,
  ])('uses only indexes for %s', async (q) => {
    const plan = await explain(q);
    expect(plan).toMatch(/search_document_\d+_search_lexemes_idx/);
    expect(plan).not.toMatch(
      /Seq Scan on (message(_search|_body|_content\w*)?|search_document_\d+)\b/,
    );
  });

  it('continues through a mailbox from its last position, however large it is', async () => {
    const plan = await server.app.get(Database).transaction(async (sql) => {
      const run = (text: string) =>
        sql.query<Record<'QUERY PLAN', string>>(text, [], { prepared: false });
      await run(`set local plan_cache_mode = force_generic_plan`);
      await run(`set local enable_seqscan = off`);
      await run(`set local enable_bitmapscan = off`);
      await run(`prepare batch (uuid, timestamptz, uuid, int, int) as ${BACKLOG_MESSAGES}`);
      const rows = await run(
        `explain execute batch ('${ada.id}', now(), '${ada.id}', 200, 1000000)`,
      );
      await run('deallocate batch');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    for (const index of ['message_account_date', 'message_account_drafts'])
      expect(plan).toMatch(
        new RegExp(`Scan (Backward )?using ${index} on.*\\n.*Index Cond: .*ROW\\(date, id\\) <`),
      );
  });

  it('reads no words of other accounts', async () => {
    // The word is too rare in the newest mail to read only that mail.
    const word = wordOf(150);
    const [, rows] = INDEX_READ.exec(await explain(`${word} `)) ?? [];
    expect(Number(rows)).toBe((await matches((text) => text.includes(` ${word} `))).length);
  });

  it('finds old mail although an account whose words have the same prefix has much newer mail', async () => {
    const database = server.app.get(Database);
    const twin = `${newId().slice(0, -6)}${ada.id.slice(-6)}`;
    await database.query(
      `insert into "grant" select (jsonb_populate_record(g, jsonb_build_object('id', $2::text, 'email', 'twin@sandbox.test'))).*
       from "grant" g where id = $1`,
      [ada.id, twin],
    );
    await seedMailbox(database, twin, 3, 2);
    for (const table of ['message', 'search_document'])
      await database.query(
        `update ${table} set date = date - interval '1 year' where account_id = $1`,
        [twin],
      );
    const query = parseSearchQuery(EVERYWHERE[0], new Date());
    const { ids } = await repository.find(twin, query, request());
    expect(ids).toHaveLength(3);
  });

  const has = (...words: string[]) => {
    return (text: string) => words.every((word) => text.includes(` ${word} `));
  };
  it.each([
    ['a word in all messages', `${EVERYWHERE[0]} `, 'read back', RANKED, has(EVERYWHERE[0])],
    ['a word in most messages', `${wordOf(8)} `, 'read back', RANKED, has(wordOf(8))],
    [
      'two such words',
      `${EVERYWHERE[0]} ${wordOf(3)} `,
      'read back',
      RANKED,
      has(EVERYWHERE[0], wordOf(3)),
    ],
    ['a word in many messages, but not enough', `${wordOf(20)} `, 'index', RANKED, has(wordOf(20))],
    ['a word in few messages', `${wordOf(150)} `, 'index', RANKED, has(wordOf(150))],
    [
      'a phrase in all messages',
      `"${EVERYWHERE.join(' ')}"`,
      'read back',
      100,
      has(EVERYWHERE.join(' ')),
    ],
    [
      'a phrase in many messages',
      `"${wordOf(0)} ${wordOf(1)}"`,
      'read back',
      100,
      has(`${wordOf(0)} ${wordOf(1)}`),
    ],
    [
      'a phrase in few messages',
      `"${wordOf(9)} ${wordOf(4)}"`,
      'index',
      100,
      has(`${wordOf(9)} ${wordOf(4)}`),
    ],
    ['a word in most messages of a folder', `${wordOf(8)} in:inbox`, 'index', 100, has(wordOf(8))],
    [
      'a word in few messages of a folder',
      `${wordOf(150)} in:inbox`,
      'index',
      100,
      has(wordOf(150)),
    ],
  ])('finds the newest messages with %s', async (_, q, way, most, test) => {
    const wanted = await matches(test);
    const page = { limit: most, offset: 0 };
    const { ids, more } = await repository.find(ada.id, parseSearchQuery(q, new Date()), {
      ...request(),
      page,
    });
    expect(new Set(ids)).toEqual(new Set(wanted.slice(0, most)));
    expect(more).toBe(wanted.length >= most);
    const plan = await repository.explain(ada.id, parseSearchQuery(q, new Date()), {
      ...request(),
      page,
    });
    expect(INDEX_READ.test(plan)).toBe(way === 'index');
  });

  it('uses the index when the newest mail of a folder has too few matches', async () => {
    const q = `${EVERYWHERE[0]} in:nowhere`;
    expect(await find(q)).toEqual({ ids: [], more: false });
    expect(await explain(q)).toMatch(INDEX_READ);
  });

  it('uses the index for pages larger than it can read back', async () => {
    const page = { limit: 1_000, offset: 0 };
    const q = parseSearchQuery(EVERYWHERE[0], new Date());
    const { ids, more } = await repository.find(ada.id, q, { ...request(), page });
    expect({ count: ids.length, more }).toEqual({ count: COUNT, more: false });
    expect(await repository.explain(ada.id, q, { ...request(), page })).toMatch(INDEX_READ);
  });

  it.each(['is:unread', '-from:person-7@elsewhere.test', 'before:2030-01-01 in:inbox'])(
    'reads back from the newest message for %s',
    async (q) =>
      expect(await explain(q)).toMatch(/Index (Only )?Scan\S* .*(message_account_|message_folder)/),
  );

  it('returns each thread once, and all of them', async () => {
    const { ids } = await find(EVERYWHERE[0], 'threads');
    expect(ids).toHaveLength(40);
    expect(new Set(ids).size).toBe(40);
    const { ids: all, more } = await repository.find(
      ada.id,
      parseSearchQuery(EVERYWHERE[0], new Date()),
      {
        ...request('threads', 8),
        page: { limit: 1_000, offset: 0 },
      },
    );
    expect({ count: all.length, more }).toEqual({ count: COUNT / 3, more: false });
  });

  it('accepts every combination of operators, quotes and unusual characters', async () => {
    const pieces = [
      '"',
      "'",
      '\\',
      ':*',
      '-',
      '(',
      ')',
      ' OR ',
      'from:',
      'subject:"',
      '<->',
      '\0',
      '\ud800',
      'é',
      '会议',
      'a',
      'Bo@x.test',
      '*',
      '!',
      '&',
      '|',
      ' ',
      '\u0301',
      '\u00ad',
      'is:unread',
      'in:inbox',
      'before:2026',
      'a-b',
      '.',
      'has:attachment',
    ];
    for (let number = 0; number < 400; number += 1) {
      const random = () => pieces[Math.floor(Math.random() * pieces.length)];
      const q = Array.from({ length: 1 + (number % 12) }, random).join('');
      const found = find(q, number % 2 === 0 ? 'messages' : 'threads');
      await expect(found.catch((error: Error) => `${q}: ${error.message}`)).resolves.toHaveProperty(
        'ids',
      );
    }
  });
});
