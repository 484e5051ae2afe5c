import request from 'supertest';
import { seedMailbox, wordOf, EVERYWHERE, RARE } from '../../bench/search-sample.ts';
import { AccountListeners } from '../../src/accounts/grants/account-listeners.ts';
import { emptyForMailbox } from '../../src/accounts/grants/moves/mailbox-move.ts';
import { type Searchable, searchDocument } from '../../src/formats/text/search-document.ts';
import { readBodies } from '../../src/mail/messages/contents/read-contents.ts';
import { removeMessages } from '../../src/mail/messages/mirror/remove-messages.ts';
import { MOVE_OF_DOCUMENTS } from '../../src/mail/messages/search-documents/move-documents.ts';
import { parseSearchQuery } from '../../src/mail/search/search-query.ts';
import { SearchRepository } from '../../src/mail/search/search.repository.ts';
import {
  dateDocuments,
  storeDocuments,
} from '../../src/mail/messages/search-documents/store-document.ts';
import { Database, idsOf, type Sql } from '../../src/platform/database/sql.ts';
import { MoveRunner } from '../../src/platform/moves/move-runner.ts';
import { beginMoves } from '../../src/platform/moves/table-moves.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const QUERIES = [
  'zeppelin',
  'zepp',
  'zepp*',
  '"is late"',
  '"late is"',
  '-late zeppelin',
  'from:bo',
  'from:bo.tanaka@mail.example.test',
  'to:ada',
  'subject:plans',
  'filename:budget',
  'creme',
  'Crème',
  'zeppelin OR weather',
  'zeppelin in:inbox',
  'zeppelin is:unread before:2099-01-01',
  '-from:bo',
  'late -subject:plans has:attachment',
];

const MAILS = [
  ['Subject: Plans for the zeppelin', 'From: Bo Tanaka <bo.tanaka@mail.example.test>', 'is late'],
  ['Subject: Re: Plans', 'From: Ada <ada@elsewhere.test>', 'The zeppelin is late. Crème brûlée'],
  ['Subject: Weather', 'From: Cleo <cleo@elsewhere.test>', 'A zeppelin, and late, is creme'],
];

/** The search of an account, as a person would use it, and the two tables of its documents. */
describe('search documents that move to the table with partitions', () => {
  let server: TestApp;
  let application: TestApplication;
  let database: Database;
  let ada: TestAccount;

  beforeEach(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    application = await createApplication(server.app);
    // As an upgrade leaves the database.
    await database.query(
      `update table_move set began_at = null, finished_at = null where name = 'search_document'`,
    );
    ada = await createAccount(server.app, application);
    for (const [subject = '', from = '', text = ''] of MAILS)
      await deliver(server, ada, [
        subject,
        from,
        'Content-Type: text/plain; name="budget_v2.pdf"; charset=utf-8',
        '',
        text,
      ]);
    await sync();
  });
  afterEach(() => server.close());

  const sync = (account = ada) =>
    syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
  const get = (path: string) => request(server.url).get(path).set(ada.bearer);
  const find = async (q: string): Promise<string[]> => {
    const { body, status } = await get('/messages/search').query({ q });
    expect({ q, status }).toEqual({ q, status: 200 });
    return (body as { subject: string }[]).map(({ subject }) => subject);
  };
  const findAll = async () => {
    const found: Record<string, string[]> = {};
    for (const q of QUERIES) found[q] = await find(q);
    return found;
  };
  const count = async (table: string): Promise<number> =>
    (await database.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n ?? -1;
  const counts = async () => [await count('message_search'), await count('search_document')];
  const idOf = async (subject: string): Promise<string> => {
    const [row] = await database.query<{ id: string }>(
      'select id from message where account_id = $1 and subject = $2',
      [ada.id, subject],
    );
    if (!row) throw new Error(`no message ${subject}`);
    return row.id;
  };
  const begin = () => beginMoves(database);
  const move = () => server.app.get(MoveRunner).run();
  /** Holds the lock of a message while `work` runs, so that its document cannot be moved. */
  const holding = async <T>(subject: string, work: () => Promise<T>): Promise<T> => {
    const id = await idOf(subject);
    return database.transaction(async (sql) => {
      await sql.query('select 1 from message where id = $1 for update', [id]);
      return work();
    });
  };

  it('are found before, during and after the move, each once and in the same order', async () => {
    const before = await findAll();
    expect(before['zeppelin']).toHaveLength(3);
    expect(before['"is late"']).toHaveLength(2);
    expect(await move()).toBe(0);
    expect(await counts()).toEqual([3, 0]);

    await begin();
    await holding('Re: Plans', async () => {
      await move();
      expect(await counts()).toEqual([1, 2]);
      expect(await findAll()).toEqual(before);
    });
    await move();
    expect(await counts()).toEqual([0, 3]);
    expect(await findAll()).toEqual(before);
  });

  it('have the form in which new documents are stored', async () => {
    await begin();
    await move();
    const moved = await database.query('select message_id, date, document from search_document');
    const rows = await database.query<Omit<Searchable, 'body'> & { id: string }>(
      `select m.id, m.subject, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as cc, m.bcc_addresses as bcc,
         coalesce((select jsonb_agg(jsonb_build_object('filename', f.filename)) from file f where f.message_id = m.id), '[]') as files
       from message m`,
    );
    const bodies = await readBodies(database, ada.id, idsOf(rows));
    const messages = rows.map((row) => ({ ...row, body: bodies.get(row.id) ?? '' }));
    await database.query('delete from search_document');
    await database.transaction((sql) => storeDocuments(sql, ada.id, messages));
    const stored = await database.query('select message_id, date, document from search_document');
    expect(moved).toHaveLength(3);
    expect(new Set(stored)).toEqual(new Set(moved));
  });

  it('are kept by the foreign key of the old table and by no key of the new one, and deleted with their messages', async () => {
    await begin();
    await holding('Weather', async () => {
      await move();
    });
    for (const subject of ['Weather', 'Re: Plans']) {
      const id = await idOf(subject);
      await database.transaction((sql) =>
        removeMessages(sql, { accountId: ada.id, applicationId: application.id }, [id], new Date()),
      );
    }
    expect(await counts()).toEqual([0, 1]);
    expect(await find('zeppelin')).toEqual(['Plans for the zeppelin']);
  });

  it('are deleted with their account, and when the account moves to another mailbox', async () => {
    await begin();
    await holding('Weather', async () => {
      await move();
    });
    const accountId = ada.id;
    await database.transaction((sql) =>
      emptyForMailbox(sql, server.app.get(AccountListeners), {
        applicationId: application.id,
        accountId,
        at: new Date(),
      }),
    );
    expect(await counts()).toEqual([0, 0]);
    await sync();
    expect(await counts()).toEqual([0, 3]);
    await database.query('delete from "grant" where id = $1', [accountId]);
    expect(await counts()).toEqual([0, 0]);
  });

  it('of new mail and of edits are written to the new table once the move has begun', async () => {
    const draft = await request(server.url)
      .post('/drafts')
      .set(ada.bearer)
      .send({ subject: 'Balloon', body: 'first' });
    expect(await counts()).toEqual([4, 0]);
    await begin();
    await deliver(server, ada, ['Subject: News', '', 'zeppelin']);
    await sync();
    expect(await counts()).toEqual([4, 1]);
    await request(server.url)
      .put(`/drafts/${draft.body.id}`)
      .set(ada.bearer)
      .send({ version: draft.body.version, body: 'second' })
      .expect(200);
    expect(await counts()).toEqual([3, 2]);
    expect(await find('second in:drafts')).toEqual(['Balloon']);
    expect(await find('first in:drafts')).toEqual([]);
    expect(await find('zeppelin')).toHaveLength(4);
    const date = new Date('2020-01-02T00:00:00Z');
    for (const subject of ['Weather', 'News'])
      await dateDocuments(database, ada.id, [{ id: await idOf(subject), date }]);
    for (const table of ['message_search', 'search_document'])
      expect(await database.query(`select 1 from ${table} where date = $1`, [date])).toHaveLength(
        1,
      );
  });

  it('stay where they are when a worker dies in the middle of a step, and the next one moves them', async () => {
    const before = await findAll();
    await begin();
    const dying = database.transaction(async (sql) => {
      expect(await MOVE_OF_DOCUMENTS.step(sql)).toBe(3);
      const [own] = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
      await database.query('select pg_terminate_backend($1)', [own?.pid]);
      await sql.query('select 1');
    });
    await expect(dying).rejects.toThrow(/terminat|connection error/i);
    expect(await counts()).toEqual([3, 0]);
    expect(await findAll()).toEqual(before);
    expect(await move()).toBe(3);
    expect(await counts()).toEqual([0, 3]);
    expect(await findAll()).toEqual(before);
  });

  it('end in one table, with the last text, when they are edited and deleted while they move', async () => {
    const body = (text: string) => ({ from: [], to: [], cc: [], bcc: [], files: [], body: text });
    const other = await createAccount(server.app, application);
    await seedMailbox(database, other.id, 120, 1);
    const messages = await database.query<{ id: string; subject: string }>(
      'select id, subject from message where account_id = $1 order by id',
      [other.id],
    );
    await database.query('delete from search_document where account_id = $1', [other.id]);
    await database.transaction((sql) =>
      storeDocuments(
        sql,
        other.id,
        messages.map((one) => ({ ...one, ...body('before') })),
      ),
    );
    expect(await counts()).toEqual([123, 0]);
    await begin();
    const owner = { accountId: other.id, applicationId: application.id };
    const edit = async ({ id, subject }: { id: string; subject: string }, index: number) =>
      database.transaction(async (sql) => {
        await sql.query('select 1 from message where id = $1 for update', [id]);
        if (index % 3 === 0) await removeMessages(sql, owner, [id], new Date());
        else await storeDocuments(sql, other.id, [{ id, subject, ...body('afterwards') }]);
      });
    const edits = async () => {
      for (const [index, message] of messages.entries()) await edit(message, index);
    };
    const moves = async () => {
      while ((await count('message_search')) > 0) await move();
    };
    await Promise.all([edits(), moves()]);
    expect(await counts()).toEqual([0, 3 + 80]);
    const words = await database.query<{ n: number }>(
      `select count(*)::int as n from search_document where account_id = $1 and document @@ 'afterwards'`,
      [other.id],
    );
    expect(words).toEqual([{ n: 80 }]);
  });

  describe('plans of statements', () => {
    /** Numbers of the partitions that a plan reads or could read. */
    const partitionsOf = (plan: string): string[] => [
      ...new Set(
        [...plan.matchAll(/Scan .*\bsearch_document_(\d+)/g)].map(([, number]) => number ?? ''),
      ),
    ];

    it.each([
      [RARE],
      [`${wordOf(900)} `],
      [EVERYWHERE[0]],
      [`"${EVERYWHERE.join(' ')}"`],
      [`from:person-7@elsewhere.test ${wordOf(9)}`],
      [`${EVERYWHERE[0]} is:unread in:inbox`],
      [`${wordOf(9)} -${wordOf(2)} before:2030-01-01`],
      [`${RARE} OR is:unread`],
      [`-${RARE}`],
    ])('a search for %s reads one partition', async (q) => {
      const request = {
        found: 'messages',
        page: { limit: 40, offset: 0 },
        now: new Date(),
        reach: 1,
      } as const;
      const repository = server.app.get(SearchRepository);
      const plan = await repository.explain(ada.id, parseSearchQuery(q, new Date()), request);
      expect(partitionsOf(plan)).toHaveLength(1);
    });

    it.each(['force_custom_plan', 'force_generic_plan'])(
      'storing, dating and deleting read one partition with %s',
      async (mode) => {
        await begin();
        const id = await idOf('Weather');
        const plans: string[] = [];
        const document = {
          id,
          subject: 'x',
          from: [],
          to: [],
          cc: [],
          bcc: [],
          body: '',
          files: [],
        };
        await database.transaction(async (real) => {
          await real.query(`set local plan_cache_mode = ${mode}`, [], { prepared: false });
          const sql: Sql = {
            async query<R extends object>(text: string, values?: readonly unknown[]) {
              if (text.includes('search_document d') || text.includes('from search_document')) {
                const rows = await real.query<Record<'QUERY PLAN', string>>(
                  `explain (analyze, costs off) ${text}`,
                  values,
                  { prepared: false },
                );
                plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
              }
              return real.query<R>(text, values);
            },
          };
          await storeDocuments(sql, ada.id, [document]);
          await dateDocuments(sql, ada.id, [{ id, date: new Date() }]);
          await removeMessages(
            sql,
            { accountId: ada.id, applicationId: application.id },
            [id],
            new Date(),
          );
        });
        expect(plans).toHaveLength(3);
        for (const plan of plans) expect(partitionsOf(plan)).toHaveLength(1);
      },
    );
  });

  it('hold every word once for all fields, and once more for each header', () => {
    const document = searchDocument({
      subject: 'Late',
      from: [{ name: 'Bo', email: 'Bo' }],
      to: [],
      cc: [],
      bcc: [],
      body: 'late',
      files: [],
    });
    expect(document.trim().split(' ').toSorted()).toEqual([
      "'Fbo':12B",
      "'Slate':1A",
      "'bo':12B",
      "'late':1A,23",
    ]);
  });
});
