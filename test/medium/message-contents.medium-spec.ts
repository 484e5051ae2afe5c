import request from 'supertest';
import { ContentMove } from '../../src/mail/messages/contents/content-move.ts';
import { readBodies, readHeaders } from '../../src/mail/messages/contents/read-contents.ts';
import { MESSAGES_OF_ACCOUNT } from '../../src/mail/messages/messages.repository.ts';
import { removeMessages } from '../../src/mail/messages/mirror/remove-messages.ts';
import { TextBacklogRunner } from '../../src/mail/search/text-backlog.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { MoveRunner } from '../../src/platform/moves/move-runner.ts';
import { listMoves } from '../../src/platform/moves/table-moves.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const WELCOME = 'Welcome to your sandbox mailbox';

interface Draft {
  id: string;
  version: number;
  body: string;
}

describe('contents of messages', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let ada: TestAccount;
  let statements: { text: string; values: readonly unknown[] }[] | null;

  beforeEach(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    statements = null;
    watchStatements();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, {
      settings: { sample_messages: true },
    });
  });
  afterEach(() => server.close());

  /** Collects what the program sends to PostgreSQL while `statements` is a list. */
  function watchStatements(): void {
    const watch = (sql: Sql): Sql => {
      const query = sql.query.bind(sql);
      sql.query = (text, values = [], options) => {
        statements?.push({ text, values });
        return query(text, values, options);
      };
      return sql;
    };
    const transaction = database.transaction.bind(database);
    database.transaction = (work) => transaction((sql) => work(watch(sql)));
    watch(database);
  }

  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) =>
    request(server.url)[method](path).set(ada.bearer).send(body);
  const sync = () => syncAccount(server.app, server.app.get(MailboxSyncDispatcher), ada.id);
  const move = () => server.app.get(MoveRunner).run();
  const draft = async (body: string): Promise<Draft> =>
    (await call('post', '/drafts', { subject: 'A draft', body }).expect(200)).body;
  const change = (one: Draft, body: string) =>
    call('put', `/drafts/${one.id}`, { version: one.version, body });
  const shownBody = async (id: string): Promise<string> =>
    (await call('get', `/messages/${id}`).expect(200)).body.body;
  const count = async (table: string): Promise<number> =>
    (await database.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n ?? -1;
  /** As after an upgrade, before an operator has started the moves. */
  const notStarted = () =>
    database.query(
      `update table_move set began_at = null, finished_at = null where name = 'message_content'`,
    );
  const started = () =>
    database.query(`update table_move set began_at = now() where name = 'message_content'`);

  it('are the same before, during and after their move', async () => {
    await notStarted();
    await sync();
    const { body: messages } = await call('get', '/messages').expect(200);
    expect(messages).toHaveLength(3);
    const long = await draft('<p>The figures</p>'.repeat(200));
    expect([await count('message_body'), await count('message_content')]).toEqual([4, 0]);
    expect(await move()).toBe(0);

    await started();
    expect(await new ContentMove().step(limited(1))).toBe(1);
    expect([await count('message_body'), await count('message_content')]).toEqual([3, 1]);
    expect((await call('get', '/messages')).body).toEqual(messages);
    expect(await shownBody(long.id)).toBe(long.body);

    expect(await move()).toBe(3);
    expect([await count('message_body'), await count('message_content')]).toEqual([0, 4]);
    expect((await call('get', '/messages')).body).toEqual(messages);
    expect(await shownBody(long.id)).toBe(long.body);
    const [state] = await listMoves(database);
    expect(state).toMatchObject({ name: 'message_content', moved: 3, rowsLeft: 0 });
    expect(state?.finishedAt).toBeInstanceOf(Date);
  });

  /** The pool, with another limit of rows in the statement that chooses them. */
  const limited = (rows: number): Sql => ({
    query: (text, values, options) =>
      database.query(text.replace('limit 100', `limit ${rows}`), values, options),
  });

  it('of new mail go to the new table as soon as the move has begun', async () => {
    await notStarted();
    const old = await draft('old');
    await started();
    await sync();
    expect([await count('message_body'), await count('message_content')]).toEqual([1, 3]);
    expect(await shownBody(old.id)).toBe('old');
    const titles = (await call('get', '/messages')).body.map(
      ({ subject }: { subject: string }) => subject,
    );
    expect(titles).toContain(WELCOME);
  });

  it('of an edited draft are the edited ones, whenever it is edited', async () => {
    await notStarted();
    const one = await draft('first');
    await started();
    const { body: second } = await change(one, 'second').expect(200);
    expect([await count('message_body'), await count('message_content')]).toEqual([0, 1]);
    expect(await shownBody(one.id)).toBe('second');
    await move();
    await change(second, 'third').expect(200);
    expect(await shownBody(one.id)).toBe('third');
  });

  it('of a draft that is edited while it would be moved are moved later', async () => {
    await notStarted();
    const one = await draft('first');
    await draft('another');
    await started();
    await database.transaction(async (sql) => {
      await sql.query('select 1 from message where id = $1 for update', [one.id]);
      expect(await move()).toBe(1);
    });
    expect((await listMoves(database))[0]).toMatchObject({ finishedAt: null });
    await change(one, 'second').expect(200);
    expect(await move()).toBe(0);
    expect(await shownBody(one.id)).toBe('second');
    expect((await listMoves(database))[0]?.finishedAt).toBeInstanceOf(Date);
  });

  it('are moved once if drafts are edited and deleted all the time, and workers move at once', async () => {
    await notStarted();
    const drafts: Draft[] = [];
    for (let number = 0; number < 12; number += 1) drafts.push(await draft(`first ${number}`));
    await started();
    const edits = drafts.map((one, number) =>
      number % 3 === 0
        ? call('delete', `/drafts/${one.id}`).send({ version: one.version }).expect(200)
        : change(one, `second ${number}`).expect(200),
    );
    await Promise.all([...edits, move(), move()]);
    await move();
    expect(await count('message_body')).toBe(0);
    for (const [number, { id }] of drafts.entries())
      if (number % 3 !== 0) expect(await shownBody(id)).toBe(`second ${number}`);
  });

  it.each([
    ['nothing', ''],
    ['5 MB', 'The figures, and more of them. '.repeat(165_000)],
    ['a mark of compressed data', '(\ufffd/\ufffd'.repeat(400)],
  ])('that consist of %s are stored and shown in both forms', async (_what, text) => {
    const shown = Buffer.from(text).toString();
    const first = await draft(text);
    expect((await shownBody(first.id)) === shown).toBe(true);
    await notStarted();
    const second = await draft(text);
    await started();
    expect((await shownBody(second.id)) === shown).toBe(true);
    await move();
    expect((await shownBody(second.id)) === shown).toBe(true);
  });

  it('are deleted with their messages, with the mailbox that the account leaves, and with the account', async () => {
    await sync();
    const one = await draft('first');
    expect(await count('message_content')).toBe(4);
    const owner = { accountId: ada.id, applicationId: application.id };
    await database.transaction((sql) => removeMessages(sql, owner, [one.id], new Date()));
    expect(await count('message_content')).toBe(3);
    await database
      .transaction(async (sql) => {
        for (const text of MESSAGES_OF_ACCOUNT.mirrorDeletions ?? [])
          await sql.query(text, [ada.id]);
        expect(await sql.query('select 1 from message_content')).toEqual([]);
        throw new Error('rolled back');
      })
      .catch((error: Error) => expect(error.message).toBe('rolled back'));
    expect(await count('message_content')).toBe(3);
    await database.query('delete from "grant" where id = $1', [ada.id]);
    expect(await count('message_content')).toBe(0);
  });

  it('that are moved while their message is being deleted are deleted, too', async () => {
    await notStarted();
    const one = await draft('first');
    await started();
    const owner = { accountId: ada.id, applicationId: application.id };
    let removal: Promise<void> | undefined;
    await database.transaction(async (sql) => {
      await new ContentMove().step(sql);
      removal = database.transaction((other) => removeMessages(other, owner, [one.id], new Date()));
      await until('the deletion to wait', async () => {
        const waiting = await database.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%delete from message where%'`,
        );
        return waiting.length > 0;
      });
    });
    await removal;
    expect([await count('message'), await count('message_content')]).toEqual([0, 0]);
  });

  it('are read and written in one partition by every statement', async () => {
    await notStarted();
    const old = await draft('<p>old</p>'.repeat(300));
    await started();
    statements = [];
    await sync();
    await call('get', '/messages').expect(200);
    await call('get', '/messages?limit=100&unread=true').expect(200);
    await call('get', '/delta?limit=10');
    await change(old, 'new').expect(200);
    await readBodies(database, ada.id, [old.id]);
    await readHeaders(database, ada.id, [old.id]);
    await database.query('insert into text_backlog (account_id) values ($1)', [ada.id]);
    await server.app.get(TextBacklogRunner).run();
    await move();
    const seen = new Map(
      statements
        .filter(({ text }) => text.includes('message_content'))
        .map(({ text, values }) => [text, values]),
    );
    statements = null;
    expect(seen.size).toBeGreaterThan(5);
    for (const [text, values] of seen)
      // A row that is inserted finds its partition without a plan.
      expect([text, await partitionsOf(text, values)]).toEqual([
        text,
        text.includes('insert into') ? 0 : 1,
      ]);
  });

  /** How many partitions the plan of a statement opens that is kept for any values. */
  async function partitionsOf(text: string, values: readonly unknown[]): Promise<number> {
    const plan = await database.transaction(async (sql) => {
      await sql.query(`set local plan_cache_mode = force_generic_plan`);
      return sql.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
    });
    const partitions = plan.flatMap(
      (row) => /message_content_(\d+)(?!\d|_pkey)/.exec(row['QUERY PLAN'])?.[1] ?? [],
    );
    return new Set(partitions).size;
  }
});
