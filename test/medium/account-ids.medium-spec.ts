import { AccountFills, FILLED_TABLES } from '../../src/app/scheduler/account-fills.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** Tables whose rows belong to an account: a foreign key leads from them to `grant`. */
const TABLES_OF_ACCOUNTS = `
  with recursive owned as (
    select '"grant"'::regclass::oid as id
    union
    select c.conrelid from pg_constraint c join owned o on o.id = c.confrelid where c.contype = 'f')
  select c.relname as name, exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id') as has
  from owned o join pg_class c on c.oid = o.id where not c.relispartition and c.relname <> 'grant' order by 1`;

/** Tables without the column, each with the reason. */
const WITHOUT: Record<string, string> = {
  access_token: 'grant_id is the account',
  message_body: 'a table of the release before, which the next release removes',
};

/** A thread with a message in a folder, as a process of the release before stores them. */
const MAILBOX = `
  with thread as (
    insert into thread (id, account_id, subject, first_message_at, last_message_at)
    values ($2, $1, 'x', now(), now())),
  folder as (
    insert into folder (id, account_id, display_name, created_at, updated_at) values ($4, $1, 'x', now(), now()))
  insert into message (id, account_id, thread_id, date, from_addresses, to_addresses, cc_addresses, bcc_addresses,
    reply_to_addresses, unread, starred, draft, has_attachments, metadata, reference_ids, subject, snippet, participants)
  values ($3, $1, $2, now(), '[]', '[]', '[]', '[]', '[]', true, false, false, true, '{}', '{}', 'x', 'x', '{}')`;
const OTHER_ROWS = [
  'insert into file_data (id, account_id) values ($3, $1)',
  `insert into job_status (id, account_id, action, object, status) values ($3, $1, 'x', 'x', 'pending')`,
  'insert into message_folder (message_id, folder_id, date) values ($3, $4, now())',
  `insert into thread_summary (thread_id, people, message_ids, snippet, has_attachments, length)
   values ($2, '[]', '{}', '', false, 0)`,
  `insert into draft_file (message_id, position, file_id, filename, content_type, content_disposition, size)
   select $3, n, gen_random_uuid(), 'x', 'x', 'x', 0 from generate_series(0, 4) n`,
  `insert into file_chunk (data_id, no, bytes) select $3, n, 'x' from generate_series(0, 4) n`,
  `insert into job_attempt (id, job_id, attempt, started_at, ended_at, outcome)
   values (gen_random_uuid(), $3, 1, now(), now(), 'sent')`,
];

describe('account_id', () => {
  let server: TestApp;
  let database: Database;
  const accounts: string[] = [];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    for (let n = 0; n < 3; n += 1)
      accounts.push((await createAccount(server.app, await createApplication(server.app))).id);
  });
  afterAll(() => server.close());

  /** Stores rows of a mailbox without `account_id`. */
  async function storeMailbox(accountId: string): Promise<void> {
    const values = [accountId, newId(), newId(), newId()];
    await database.query(MAILBOX, values);
    for (const text of OTHER_ROWS) {
      // A statement may not have a parameter that it does not use.
      const used = [...new Set([...text.matchAll(/\$(\d)/g)].map(([, n]) => Number(n)))];
      const renamed = text.replaceAll(
        /\$(\d)/g,
        (_, n: string) => `$${used.indexOf(Number(n)) + 1}`,
      );
      await database.query(
        renamed,
        used.map((n) => values[n - 1]),
      );
    }
  }

  /** Rows of a table by account; null are those without one. */
  async function rowsOf(table: string): Promise<Map<string | null, number>> {
    const rows = await database.query<{ id: string | null; count: number }>(
      `select account_id as id, count(*)::int as count from ${table} group by 1`,
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  const triggers = async (verb: 'enable' | 'disable') => {
    for (const { table } of FILLED_TABLES)
      await database.query(`alter table ${table} ${verb} trigger ${table}_account`);
  };

  const begin = () => database.query('update account_fill set finished_at = null');
  const unfinished = () =>
    database.query<{ table: string; position: string[] | null }>(
      `select table_name as "table", position from account_fill where finished_at is null order by 1`,
    );

  it('is a column of every table whose rows belong to an account', async () => {
    const tables = await database.query<{ name: string; has: boolean }>(TABLES_OF_ACCOUNTS);
    expect(tables.length).toBeGreaterThan(40);
    const without = tables.filter(({ has }) => !has).map(({ name }) => name);
    expect(without).toEqual(Object.keys(WITHOUT));
  });

  it('is found for rows that a process of the release before inserts', async () => {
    const [first = ''] = accounts;
    await storeMailbox(first);
    for (const { table } of FILLED_TABLES)
      expect([...(await rowsOf(table)).keys()]).toEqual([first]);
    await database.query('delete from message');
    await database.query('delete from thread');
    await database.query('delete from file_data');
    await database.query('delete from job_status');
  });

  it('is filled in old rows, each with its own account, also if batches are small and runs are interrupted', async () => {
    await triggers('disable');
    for (const id of accounts) await storeMailbox(id);
    await triggers('enable');
    const [chunks, attempts] = [await rowsOf('file_chunk'), await rowsOf('job_attempt')];
    expect([chunks, attempts]).toEqual([new Map([[null, 15]]), new Map([[null, 3]])]);
    await begin();

    const fills = server.app.get(AccountFills);
    const stop = new AbortController();
    const stopped = fills.run(stop.signal, 2);
    stop.abort();
    await stopped;
    expect((await unfinished()).length).toBeGreaterThan(1);

    await fills.run(undefined, 2);
    expect(await unfinished()).toEqual([]);
    for (const { table } of FILLED_TABLES) {
      const rows = await rowsOf(table);
      expect([table, new Set(rows.keys())]).toEqual([table, new Set(accounts)]);
    }
  });

  it('is filled by a later run in rows that a transaction has locked', async () => {
    await database.query('update file_chunk set account_id = null where no = 1');
    await begin();
    const fills = server.app.get(AccountFills);
    await database.transaction(async (sql) => {
      await sql.query('select from file_chunk where no = 1 order by data_id limit 1 for update');
      await fills.run(undefined, 4);
      expect((await unfinished()).map(({ table }) => table)).toContain('file_chunk');
      expect((await rowsOf('file_chunk')).get(null)).toBe(1);
    });
    await fills.run(undefined, 4);
    expect(await unfinished()).toEqual([]);
    expect((await rowsOf('file_chunk')).has(null)).toBe(false);
  });
});
