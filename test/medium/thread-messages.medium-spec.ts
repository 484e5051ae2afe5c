import { Database } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { readThreadMessages } from '../../src/mail/threads/thread-messages.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** A thread with one message. */
const ADD = `
  with thread as (
    insert into thread (id, account_id, subject, first_message_at, last_message_at, message_count)
    values ($2, $1, 'x', now(), now(), 1))
  insert into message (id, account_id, thread_id, date, from_addresses, to_addresses, cc_addresses, bcc_addresses,
    reply_to_addresses, unread, starred, draft, has_attachments, metadata, reference_ids, subject, snippet, participants)
  values ($3, $1, $2, now(), '[]', '[]', '[]', '[]', '[]', true, false, false, true, '{}', '{}', 'x', 'x', '{}')`;

const ADD_FILES = `
  insert into file (id, account_id, message_id, part, filename, content_type, content_disposition, size)
  select gen_random_uuid(), $1, $2, n, n || '.txt', 'text/plain', 'attachment', n from generate_series(1, $3::int) n`;

const ADD_DRAFT_FILE = `
  insert into draft_file (message_id, position, file_id, filename, content_type, content_disposition, size)
  values ($1, 0, $2, 'plan.pdf', 'application/pdf', 'attachment', 5)`;

describe('messages of an expanded page of threads', () => {
  let server: TestApp;
  let account: TestAccount;
  let database: Database;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    account = await createAccount(server.app, await createApplication(server.app));
    database = server.app.get(Database);
  });
  afterAll(() => server.close());

  /** Adds a thread whose only message has files. */
  async function thread(files: number): Promise<{ id: string; messageId: string }> {
    const [id, messageId] = [newId(), newId()];
    await database.query(ADD, [account.id, id, messageId]);
    await database.query(ADD_FILES, [account.id, messageId, files]);
    return { id, messageId };
  }

  const read = (...threads: { id: string }[]) =>
    readThreadMessages(
      database,
      account.id,
      threads.map(({ id }) => id),
    );
  const names = async (one: { id: string }) =>
    (await read(one)).get(one.id)?.[0]?.files.map(({ filename }) => filename);

  it('have their files in order, each message its own', async () => {
    const [two, three] = [await thread(2), await thread(3)];
    const found = await read(two, three);
    expect(found.get(two.id)?.map(({ files }) => files.map(({ size }) => size))).toEqual([[1, 2]]);
    expect(found.get(three.id)?.map(({ files }) => files.map(({ size }) => size))).toEqual([
      [1, 2, 3],
    ]);
  });

  it('show the attached files of a draft in place of those that its mailbox has', async () => {
    const draft = await thread(2);
    await database.query(ADD_DRAFT_FILE, [draft.messageId, newId()]);
    expect(await names(draft)).toEqual(['plan.pdf']);
  });

  it('are not found with the threads of another account', async () => {
    const one = await thread(1);
    const other = await createAccount(server.app, await createApplication(server.app));
    expect(await readThreadMessages(database, other.id, [one.id])).toEqual(new Map());
  });

  it('are read whole in one thread however many files they have, and refused in several', async () => {
    const [long, short] = [await thread(34_000), await thread(1)];
    expect(await names(long)).toHaveLength(34_000);
    await expect(read(long, short)).rejects.toThrow(
      'The requested items are longer than 32 MB together: request fewer at a time',
    );
    const middle = await thread(9_000);
    expect((await read(middle, short)).get(middle.id)?.[0]?.files).toHaveLength(9_000);
  });
});
