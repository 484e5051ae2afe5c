import { storedPart } from '../support/stored-part.ts';
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import request from 'supertest';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { FilesRepository } from '../../src/mail/files/files.repository.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { providerThreadOf } from '../../src/mail/threading/provider-threads.ts';
import type {
  Connector,
  MailChanges,
  SyncPassRequest,
  RemoteMessage,
} from '../../src/providers/port/connector.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { fakeLease } from '../support/engine-steps.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** A result of `listChanges`. Missing fields get defaults. */
type Answer = Partial<Omit<MailChanges, 'cursor'>>;

const FOLDERS = [
  { providerId: 'INBOX', name: 'inbox', displayName: 'INBOX' },
  { providerId: 'Archive', name: 'archive', displayName: 'Archive' },
  { providerId: 'Drafts', name: 'drafts', displayName: 'Drafts' },
];

/**
 * Tests the mirror over a port with scripted results, which no real server can be made to return.
 */
describe('the mirror', () => {
  let server: TestApp;
  let database: Database;
  let dispatcher: MailboxSyncDispatcher;
  let account: TestAccount;
  let requests: SyncPassRequest[];
  let cursor = 0;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    dispatcher = server.app.get(MailboxSyncDispatcher);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    const application = await createApplication(server.app);
    account = await createAccount(server.app, application);
    requests = [];
  });

  /** Runs sync passes until the results are used up. */
  async function syncPass(...answers: Answer[]) {
    return syncBatches(Infinity, ...answers);
  }
  /** Runs a sync pass with at most `most` batches. */
  async function syncBatches(most: number, ...answers: Answer[]) {
    let goes = most;
    const left = [...answers];
    const mail = {
      listChanges: async (_: unknown, asked: SyncPassRequest): Promise<MailChanges> => {
        requests.push(asked);
        const answer = left.shift();
        if (answer) cursor += 1;
        return {
          cursor: String(cursor),
          more: left.length > 0,
          present: left.length === 0,
          folders: asked.cursor === null ? FOLDERS : null,
          renamed: [],
          messages: [],
          removed: [],
          ...answer,
        };
      },
    };
    server.app
      .get(ConnectorRegistry)
      .replace({ name: 'sandbox', mail, mailbox: {} } as unknown as Connector);
    return outcomeOf(
      await syncAccount(
        server.app,
        dispatcher,
        account.id,
        fakeLease({ trusted: () => goes-- > 0 }),
      ),
    );
  }
  const mime = (headers: Record<string, string>, body = 'Hello') =>
    Buffer.from(
      `${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n${body}\r\n`,
    );
  const message = (providerId: string, overrides: Partial<RemoteMessage> = {}): RemoteMessage => ({
    providerId,
    folderIds: [providerId.split('/')[0] ?? ''],
    receivedAt: new Date('2026-01-02T03:04:05Z'),
    unread: true,
    starred: false,
    content: {
      kind: 'mime',
      mime: mime({ 'Message-ID': `<${providerId}@x>`, Subject: providerId, From: 'a@x.test' }),
    },
    ...overrides,
  });
  const replyTo = (providerId: string, answered: string) => ({
    kind: 'mime' as const,
    mime: mime({
      'Message-ID': `<${providerId}@x>`,
      'In-Reply-To': `<${answered}@x>`,
      Subject: providerId,
    }),
  });
  const copyOf = (original: string, providerId: string, overrides: Partial<RemoteMessage> = {}) =>
    message(providerId, { content: message(original).content, ...overrides });

  interface Row {
    id: string;
    provider_id: string;
    thread_id: string;
    subject: string;
    unread: boolean;
    starred: boolean;
    folders: string[];
    headers: string | null;
  }
  const rows = () =>
    database.query<Row>(
      `select m.*, convert_from(c.headers, 'UTF8') as headers, array(select f.display_name from message_folder mf join folder f on f.id = mf.folder_id
                         where mf.message_id = m.id order by 1) as folders
       from message m join message_content c on c.account_id = m.account_id and c.message_id = m.id where m.account_id = $1 order by subject, provider_id`,
      [account.id],
    );
  const logged = async () =>
    (
      await database.query<{ change: string }>(
        `select object || ' ' || event as change from change where account_id = $1 order by seq`,
        [account.id],
      )
    ).map(({ change }) => change);
  const folders = () =>
    database.query<{ id: string; provider_id: string | null; display_name: string }>(
      `select id, provider_id, display_name from folder where account_id = $1 order by display_name`,
      [account.id],
    );
  const failures = () =>
    database.query<{ provider_id: string; reason: string; times: number }>(
      `select provider_id, reason, times from sync_failure where account_id = $1 order by provider_id`,
      [account.id],
    );
  async function openJob(
    action: string,
    objectId: string,
    payload: Record<string, unknown>,
  ): Promise<string> {
    const id = randomUUID();
    await database.query(
      `insert into provider_job (id, account_id, action, object_id, payload, run_at, due_at)
       values ($1, $2, $3, $4, $5, now() + interval '1 h', now())`,
      [id, account.id, action, objectId, JSON.stringify(payload)],
    );
    return id;
  }

  describe('a message that moves', () => {
    it('keeps its id, thread and files when the move is reported as one change', async () => {
      await syncPass({ messages: [message('INBOX/1'), message('INBOX/2')] });
      const [before] = await rows();
      const length = (await logged()).length;
      await syncPass({
        messages: [copyOf('INBOX/1', 'Archive/7', { unread: false })],
        removed: ['INBOX/1'],
      });
      const [after] = await rows();
      expect(after).toMatchObject({
        id: before?.id,
        thread_id: before?.thread_id,
        provider_id: 'Archive/7',
        folders: ['Archive'],
        unread: false,
      });
      expect((await logged()).slice(length)).toEqual(['thread modify', 'message modify']);
    });

    it('keeps its id when it is removed first and appears later in the same run', async () => {
      await syncPass({ messages: [message('INBOX/1')] });
      const [before] = await rows();
      await syncPass({ removed: ['INBOX/1'] }, {}, { messages: [copyOf('INBOX/1', 'Archive/1')] });
      expect(await rows()).toMatchObject([{ id: before?.id, folders: ['Archive'] }]);
    });

    it('keeps its id when its folder is created again, over several runs', async () => {
      const numbers = Array.from({ length: 120 }, (_, n) => n);
      await syncPass({ messages: numbers.map((n) => message(`INBOX/1.${n}`)) });
      const before = await rows();
      const length = (await logged()).length;
      const mail = (from: number, to: number) =>
        numbers.slice(from, to).map((n) => copyOf(`INBOX/1.${n}`, `INBOX/2.${n}`));
      // All messages are removed at once, and appear again one after another.
      await syncBatches(
        2,
        { removed: numbers.map((n) => `INBOX/1.${n}`), messages: mail(0, 40), present: true },
        { messages: mail(40, 80), present: true },
        {},
      );
      await syncPass({ messages: mail(80, 120) });
      const after = await rows();
      expect(after.map(({ id }) => id).sort()).toEqual(before.map(({ id }) => id).sort());
      expect(after.every(({ provider_id }) => provider_id.startsWith('INBOX/2.'))).toBe(true);
      expect((await logged()).slice(length)).toEqual([]);
    });

    it('is deleted in the end if it does not appear again', async () => {
      await syncPass({ messages: [message('INBOX/1'), message('INBOX/2')] });
      await syncPass({ removed: ['INBOX/1'] }, {}, {});
      expect((await rows()).map(({ subject }) => subject)).toEqual(['INBOX/2']);
      expect(await database.query('select 1 from vanished_message')).toEqual([]);
    });

    it('is matched one to one by its content when it has no Message-ID', async () => {
      const nameless = { kind: 'mime' as const, mime: mime({ Subject: 'same' }) };
      await syncPass({
        messages: [
          message('INBOX/1', { content: nameless }),
          message('INBOX/2', { content: nameless }),
          message('INBOX/3', {
            content: { kind: 'mime', mime: mime({ Subject: 'same' }, 'but different') },
          }),
        ],
      });
      const before = await rows();
      await syncPass({
        messages: [
          message('Archive/1', { content: nameless }),
          message('Archive/2', { content: nameless }),
        ],
        removed: ['INBOX/1', 'INBOX/3'],
      });
      const after = await rows();
      expect(after).toHaveLength(3);
      const kept = after
        .filter(({ id }) => before.some((one) => one.id === id))
        .map((row) => row.provider_id);
      expect(kept).toHaveLength(2);
      expect(kept).toContain('INBOX/2');
    });
  });

  describe('a draft that another program edits', () => {
    const draft = (providerId: string, body: string, overrides: Partial<RemoteMessage> = {}) =>
      message(providerId, {
        content: {
          kind: 'mime',
          mime: mime({ 'Message-ID': '<draft@x>', Subject: 'Plan', To: 'b@x.test' }, body),
        },
        ...overrides,
      });
    const withFile = (providerId: string, text: string) =>
      message(providerId, {
        content: {
          kind: 'mime',
          mime: mime(
            {
              'Message-ID': '<draft@x>',
              Subject: 'Plan',
              To: 'b@x.test',
              'Content-Type': 'multipart/mixed; boundary=b',
            },
            `--b\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=m.txt\r\n\r\nSoup.\r\n--b--`,
          ),
        },
      });
    interface Draft {
      id: string;
      version: number;
      body: string;
      files: { id: string; filename: string }[];
    }
    const drafts = async (): Promise<Draft[]> => {
      const response = await request(server.url).get('/drafts').set(account.bearer).expect(200);
      return response.body as Draft[];
    };

    it('keeps its id and shows the new text, with a new version', async () => {
      await syncPass({ messages: [draft('Drafts/1', 'Dinner at seven')] });
      const [before] = await drafts();
      const length = (await logged()).length;
      await syncPass({ messages: [draft('Drafts/2', 'Dinner at eight')], removed: ['Drafts/1'] });
      const after = await drafts();
      expect(after).toMatchObject([{ id: before?.id, version: 1 }]);
      expect(after[0]?.body).toContain('Dinner at eight');
      expect((await logged()).slice(length)).toEqual(['draft modify']);
    });

    it('is compared if the provider keeps its id, and stays as it is if only its flags changed', async () => {
      await syncPass({ messages: [draft('Drafts/1', 'Dinner at seven')] });
      const same = { mayBeEdited: true, unread: false };
      await syncPass({ messages: [draft('Drafts/1', 'Dinner  at\r\nseven', same)] });
      expect(await drafts()).toMatchObject([{ version: 0, unread: false }]);
      await syncPass({ messages: [draft('Drafts/1', 'Dinner at eight', same)] });
      const [after] = await drafts();
      expect(after).toMatchObject({ version: 1 });
      expect(after?.body).toContain('eight');
    });

    it('has the files of the new text only', async () => {
      await syncPass({ messages: [withFile('Drafts/1', 'See the menu')] });
      expect(await drafts()).toMatchObject([{ files: [{ filename: 'm.txt' }] }]);
      await syncPass({ messages: [withFile('Drafts/2', 'The menu')], removed: ['Drafts/1'] });
      expect(await drafts()).toMatchObject([{ version: 1, files: [{ filename: 'm.txt' }] }]);
      await syncPass({ messages: [draft('Drafts/3', 'No menu')], removed: ['Drafts/2'] });
      expect(await drafts()).toMatchObject([{ version: 2, files: [] }]);
    });

    it('is what was sent, if the other program sends it with a last change', async () => {
      await syncPass({ messages: [draft('Drafts/1', 'Dinner at seven')] });
      const [before] = await drafts();
      await syncPass({ messages: [draft('Archive/1', 'Dinner at nine')], removed: ['Drafts/1'] });
      const sent = await request(server.url).get(`/messages/${before?.id}`).set(account.bearer);
      expect(sent.body).toMatchObject({ object: 'message' });
      expect((sent.body as Draft).body).toContain('nine');
    });

    it('keeps a change of the API that is still to be written', async () => {
      await syncPass({ messages: [draft('Drafts/1', 'Dinner at seven')] });
      const [before] = await drafts();
      await request(server.url)
        .put(`/drafts/${before?.id}`)
        .set(account.bearer)
        .send({ version: 0, body: 'Dinner at ten' })
        .expect(200);
      await syncPass({ messages: [draft('Drafts/1', 'Dinner at eight', { mayBeEdited: true })] });
      expect(await drafts()).toMatchObject([{ version: 1, body: 'Dinner at ten' }]);
    });
  });

  describe('threads of the provider', () => {
    const threads = async () =>
      Object.fromEntries((await rows()).map(({ subject, thread_id }) => [subject, thread_id]));

    it('decide the threads of messages that arrive in any order and in several batches', async () => {
      await syncPass(
        {
          messages: [
            message('INBOX/5', { threadId: 'T1' }),
            message('INBOX/4', { threadId: 'T2', content: replyTo('INBOX/4', 'INBOX/5') }),
          ],
        },
        {
          messages: [
            message('INBOX/3', { threadId: 'T1' }),
            message('INBOX/2', { threadId: 'T2' }),
            message('INBOX/1', { threadId: null, content: replyTo('INBOX/1', 'INBOX/2') }),
          ],
        },
      );
      const of = await threads();
      expect(of['INBOX/3']).toBe(of['INBOX/5']);
      expect(of['INBOX/2']).toBe(of['INBOX/4']);
      expect(of['INBOX/1']).toBe(of['INBOX/2']);
      expect(of['INBOX/4']).not.toBe(of['INBOX/5']);
      expect(await providerThreadOf(database, account.id, of['INBOX/5'] ?? '')).toBe('T1');
      expect(await providerThreadOf(database, account.id, of['INBOX/4'] ?? '')).toBe('T2');
    });

    it('are learned for a message that the mirror has already', async () => {
      await syncPass({ messages: [message('INBOX/1')] });
      await syncPass({ messages: [message('INBOX/1', { threadId: 'T1', content: null })] });
      await syncPass({ messages: [message('INBOX/2', { threadId: 'T1' })] });
      const of = await threads();
      expect(of['INBOX/2']).toBe(of['INBOX/1']);
    });

    it('are unknown for a thread whose messages came without one', async () => {
      await syncPass({ messages: [message('INBOX/1')] });
      const [one] = await rows();
      expect(await providerThreadOf(database, account.id, one?.thread_id ?? '')).toBeNull();
    });
  });

  describe('folders', () => {
    it('keeps the messages of a renamed folder whose messages keep their ids', async () => {
      const folder = { providerId: 'Before', name: null, displayName: 'Before' };
      await syncPass({
        folders: [...FOLDERS, folder],
        messages: [message('Before/1'), message('INBOX/1')],
      });
      const before = await rows();
      await syncPass({
        folders: [...FOLDERS, { providerId: 'After', name: null, displayName: 'After' }],
        renamed: [{ from: 'Before', to: 'After', messagePrefix: null }],
      });
      const after = await rows();
      expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
      expect(after.map(({ provider_id }) => provider_id).sort()).toEqual(['Before/1', 'INBOX/1']);
      expect(after.map((row) => row.folders)).toEqual([['After'], ['INBOX']]);
    });

    it('keeps a renamed folder and its messages, even when two folders swap names', async () => {
      await syncPass({
        folders: [...FOLDERS, { providerId: 'A', name: null, displayName: 'A' }],
        messages: [message('A/1'), message('Archive/1')],
      });
      const [before, ids] = [await folders(), (await rows()).map(({ id }) => id)];
      await syncPass({
        renamed: [
          { from: 'A', to: 'Archive', messagePrefix: { from: 'A/', to: 'Archive/' } },
          { from: 'Archive', to: 'A', messagePrefix: { from: 'Archive/', to: 'A/' } },
        ],
        folders: [
          FOLDERS[0]!,
          FOLDERS[2]!,
          { providerId: 'Archive', name: null, displayName: 'Archive' },
          { providerId: 'A', name: 'archive', displayName: 'A' },
        ],
        messages: [message('A/1', { content: null, starred: true })],
      });
      const idOf = (list: typeof before, name: string) =>
        list.find(({ display_name }) => display_name === name)?.id;
      const after = await folders();
      expect(idOf(after, 'Archive')).toBe(idOf(before, 'A'));
      expect(idOf(after, 'A')).toBe(idOf(before, 'Archive'));
      const moved = await rows();
      expect(moved.map(({ id }) => id)).toEqual(ids);
      expect(moved.map(({ provider_id, starred }) => [provider_id, starred])).toEqual([
        ['Archive/1', false],
        ['A/1', true],
      ]);
    });

    it('recognises a new folder at the provider as the one created through the API', async () => {
      await syncPass({});
      const id = randomUUID();
      await database.query(
        `insert into folder (id, account_id, display_name, created_at, updated_at) values ($1, $2, 'Mine', now(), now())`,
        [id, account.id],
      );
      await openJob('create_folder', id, {});
      await syncPass({ folders: FOLDERS });
      expect((await folders()).map((folder) => folder.id)).toContain(id);
      await syncPass({
        folders: [...FOLDERS, { providerId: 'Mine', name: null, displayName: 'Mine' }],
      });
      expect((await folders()).find((folder) => folder.id === id)?.provider_id).toBe('Mine');
    });

    it('does not restore a folder that is being deleted', async () => {
      const mine = { providerId: 'Mine', name: null, displayName: 'Mine' };
      await syncPass({ folders: [...FOLDERS, mine] });
      await database.query(`delete from folder where account_id = $1 and provider_id = 'Mine'`, [
        account.id,
      ]);
      await openJob('delete_folder', randomUUID(), { providerId: 'Mine' });
      await syncPass({ folders: [...FOLDERS, mine] });
      expect((await folders()).map(({ display_name }) => display_name)).not.toContain('Mine');
    });
  });

  it('applies the changes of a sync pass whose cursor has not moved', async () => {
    await syncPass({ messages: [message('INBOX/1'), message('INBOX/2')] });
    cursor -= 1;
    await syncPass({
      messages: [message('INBOX/1', { content: null, starred: true, unread: false })],
      removed: ['INBOX/2'],
    });
    expect(await rows()).toMatchObject([{ provider_id: 'INBOX/1', starred: true, unread: false }]);
  });

  it('removes the messages of a deleted folder, even when the sync pass that reported it was not stored', async () => {
    const mine = { providerId: 'Mine', name: null, displayName: 'Mine' };
    await syncPass({
      folders: [...FOLDERS, mine],
      messages: [message('Mine/1'), message('Mine/2')],
    });
    const gone = { folders: FOLDERS, removed: ['Mine/1', 'Mine/2'] };
    // The pass stores the folders first, then fails to read a message.
    await expect(
      syncPass({ ...gone, messages: [message('INBOX/9', { content: null })] }),
    ).rejects.toThrow();
    // The provider can no longer report what was in the folder.
    await syncPass({ folders: FOLDERS });
    expect(await rows()).toEqual([]);
  });

  it('keeps a message of a deleted folder that is also in another folder', async () => {
    const mine = { providerId: 'Mine', name: null, displayName: 'Mine' };
    await syncPass({ folders: [...FOLDERS, mine], messages: [message('Mine/1')] });
    const [before] = await rows();
    await syncPass({
      folders: FOLDERS,
      removed: ['Mine/1'],
      messages: [copyOf('Mine/1', 'Archive/1')],
    });
    await syncPass({});
    expect(await rows()).toMatchObject([{ id: before?.id, folders: ['Archive'] }]);
    expect(await database.query('select 1 from vanished_message')).toEqual([]);
  });

  it("shows a requested change while it is being written, and keeps the provider's state for later", async () => {
    await syncPass({ messages: [message('INBOX/1')] });
    const [row] = await rows();
    await database.query('update message set unread = false where id = $1', [row?.id]);
    const job = await openJob('update_message', row?.id ?? '', {
      unread: false,
      before: { unread: true },
    });
    await syncPass({
      messages: [message('INBOX/1', { content: null, unread: true, starred: true })],
    });
    expect(await rows()).toMatchObject([{ unread: false, starred: true }]);
    await syncPass({
      messages: [message('INBOX/1', { content: null, unread: false, starred: true })],
    });
    const [open] = await database.query<{ payload: object }>(
      'select payload from provider_job where id = $1',
      [job],
    );
    expect(open?.payload).toEqual({ unread: false, before: { unread: false } });
  });

  it('does not remove a message while it is being changed', async () => {
    await syncPass({ messages: [message('INBOX/1')] });
    const [row] = await rows();
    const job = await openJob('update_message', row?.id ?? '', { folders: [], before: {} });
    await syncPass({ removed: ['INBOX/1'] });
    expect(await rows()).toHaveLength(1);
    await database.query('delete from provider_job where id = $1', [job]);
    await syncPass({});
    expect(await rows()).toEqual([]);
  });

  describe('unreadable and extreme messages', () => {
    it('are stored with their known fields, and the failure is recorded', async () => {
      const nested = Array.from(
        { length: 300 },
        (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
      ).join('\r\n');
      await syncPass({
        messages: [
          message('INBOX/1', { content: { kind: 'unreadable', reason: 'the server says NO' } }),
          message('INBOX/2', {
            content: { kind: 'mime', mime: Buffer.from(`Subject: too deep\r\n${nested}`) },
          }),
          message('INBOX/3'),
        ],
      });
      expect((await rows()).map(({ subject }) => subject)).toEqual(['', 'INBOX/3', 'too deep']);
      expect(await failures()).toMatchObject([
        { provider_id: 'INBOX/1', reason: 'the server says NO', times: 1 },
        { provider_id: 'INBOX/2', times: 1 },
      ]);
    });

    it('are skipped after they have killed their worker', async () => {
      await syncPass({});
      await database.query(
        `update sync_job set reading = 'INBOX/2', crashes = 2 where account_id = $1`,
        [account.id],
      );
      await syncPass({ messages: [message('INBOX/1'), message('INBOX/2'), message('INBOX/3')] });
      expect((await rows()).map(({ subject }) => subject)).toEqual(['', 'INBOX/1', 'INBOX/3']);
      expect(await failures()).toMatchObject([{ provider_id: 'INBOX/2' }]);
      expect(requests.at(-1)?.limit).toBeLessThan(100);
      const [job] = await database.query('select reading from sync_job where account_id = $1', [
        account.id,
      ]);
      expect(job).toEqual({ reading: null });
    });

    it('are stored even if texts are longer than an index entry', async () => {
      // Random text, so that it cannot be compressed.
      const long = (count: number) =>
        Array.from({ length: count }, () => String.fromCodePoint(0x4e00 + randomInt(20_000))).join(
          '',
        );
      const word = (text: string) => `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;
      const ids = (count: number) =>
        Array.from({ length: count }, () => `<${randomBytes(240).toString('hex')}@x>`);
      const addresses = Array.from(
        { length: 120 },
        () => `${word(long(200))} <${long(315)}@x.test>`,
      );
      const part = () =>
        `--b\r\nContent-Type: text/x-${randomBytes(2_000).toString('hex')}\r\nContent-ID: <${long(600)}>\r\n` +
        `Content-Disposition: attachment; filename*=utf-8''${encodeURIComponent(long(1_100))}\r\n\r\nx\r\n`;
      const headers = {
        'Message-ID': ids(1).join(''),
        'In-Reply-To': ids(1).join(''),
        References: ids(100).join(' '),
        Subject: `Re: ${word(long(12_000))}`,
        From: `${word(long(1_000))} <${long(60)}@${long(180)}.test>`,
        To: [`<${long(3_000)}@x.test>`, ...addresses].join(', '),
        Cc: addresses.join(', '),
        'Content-Type': 'multipart/mixed; boundary=b',
      };
      const text = `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${Array.from({ length: 500 }, () => long(70)).join(' ')}\r\n`;
      const body = `${text}${Array.from({ length: 60 }, part).join('')}--b--`;
      await syncPass({
        messages: [message('INBOX/1', { content: { kind: 'mime', mime: mime(headers, body) } })],
      });
      expect(await failures()).toEqual([]);
      const [file] = await database.query<{ filename: string }>(
        'select filename from file where part = 0 and account_id = $1',
        [account.id],
      );
      expect(file?.filename).toHaveLength(1_000);
      const filter = { filename: file?.filename };
      const page = { limit: 10, offset: 0, view: 'count' } as const;
      expect(await server.app.get(FilesRepository).list(account.id, filter, page, 'all')).toEqual({
        view: 'count',
        count: 1,
      });
    });

    it('are read even with 16,000 parts and 50 MB', async () => {
      const parts = `${'--b\r\nContent-Type: text/plain; name=x.txt\r\nContent-Disposition: attachment\r\n\r\nx\r\n'.repeat(16_000)}--b--\r\n`;
      const big = Buffer.alloc(50 * 1024 * 1024, `${'QUJD'.repeat(19)}\r\n`);
      const head = (type: string) => Buffer.from(`Subject: ${type}\r\nContent-Type: ${type}\r\n`);
      await syncPass({
        messages: [
          message('INBOX/1', {
            content: {
              kind: 'mime',
              mime: Buffer.concat([
                head('multipart/mixed; boundary=b'),
                Buffer.from(`\r\n${parts}`),
              ]),
            },
          }),
          message('INBOX/2', {
            content: {
              kind: 'mime',
              mime: Buffer.concat([
                head('application/octet-stream'),
                Buffer.from('Content-Transfer-Encoding: base64\r\n\r\n'),
                big,
              ]),
            },
          }),
        ],
      });
      expect((await rows()).map(({ subject }) => subject)).toEqual([
        'application/octet-stream',
        'multipart/mixed; boundary=b',
      ]);
      expect(await failures()).toMatchObject([
        { provider_id: 'INBOX/1', reason: expect.stringContaining('too many parts') },
      ]);
    });
  });

  describe('change log entries', () => {
    const since = async (length: number) => (await logged()).slice(length).toSorted();
    const withFile = mime(
      {
        'Message-ID': '<f@x>',
        Subject: 'menu',
        From: 'a@x.test',
        'Content-Type': 'multipart/mixed; boundary=b',
      },
      '--b\r\nContent-Type: text/plain\r\n\r\nSee.\r\n--b\r\nContent-Type: text/plain; name=m.txt\r\nContent-Disposition: attachment; filename=m.txt\r\n\r\nSoup.\r\n--b--',
    );

    it('cover files together with their message, and a thread with its first and last message', async () => {
      await syncPass({ messages: [] });
      const length = (await logged()).length;
      await syncPass({
        messages: [message('INBOX/1', { content: { kind: 'mime', mime: withFile } })],
      });
      expect(await since(length)).toEqual([
        'contact create',
        'file create',
        'message create',
        'thread create',
      ]);
      await syncPass({ removed: ['INBOX/1'] });
      expect(await since(length + 4)).toEqual(['file delete', 'message delete', 'thread delete']);
    });

    it('are a removal and a creation when a draft becomes a message, and the reverse', async () => {
      await syncPass({ messages: [message('Drafts/1')] });
      const length = (await logged()).length;
      expect(await logged()).not.toContain('thread create');
      await syncPass({ messages: [copyOf('Drafts/1', 'Archive/1')], removed: ['Drafts/1'] });
      expect(await since(length)).toEqual(['draft delete', 'message create', 'thread create']);
      await syncPass({ messages: [copyOf('Drafts/1', 'Drafts/2')], removed: ['Archive/1'] });
      expect(await since(length + 3)).toEqual(['draft create', 'message delete', 'thread delete']);
    });
  });

  it('stores the parts of a large message that could be fetched, and of every message the header lines that are read later', async () => {
    await syncPass({
      messages: [
        message('INBOX/1', {
          content: {
            kind: 'parts',
            parts: {
              headers: Buffer.from(
                'Subject: =?utf-8?q?gro=C3=9F?=\r\nList-Id: \xe9\r\n\t<x>\r\nX-A: b\r\n\r\n',
                'latin1',
              ),
              root: storedPart('', 'Content-Type: multipart/mixed; boundary=b', {
                children: [
                  storedPart('1', 'Content-Type: text/plain', {
                    content: Buffer.from('1 < 2'),
                    size: 5,
                  }),
                  storedPart('2.1', 'Content-Type: application/zip; name=a.zip', { size: 5e12 }),
                ],
              }),
            },
          },
        }),
        message('INBOX/2', { content: { kind: 'mime', mime: mime({ Subject: 'small' }) } }),
      ],
    });
    expect((await rows()).map(({ subject, headers }) => [subject, headers])).toEqual([
      ['groß', 'List-Id: é\n\t<x>'],
      ['small', ''],
    ]);
    expect(
      await database.query('select section, part, size from file where account_id = $1', [
        account.id,
      ]),
    ).toEqual([{ section: '2.1', part: 0, size: 2 ** 31 - 1 }]);
  });

  it('merges two threads when a message proves that they are one', async () => {
    const answer = (id: string, headers: Record<string, string>) =>
      message(id, {
        content: { kind: 'mime', mime: mime({ 'Message-ID': `<${id}>`, Subject: id, ...headers }) },
      });
    await syncPass({
      messages: [answer('INBOX/3', { 'In-Reply-To': '<unseen>' }), answer('INBOX/1', {})],
    });
    expect(new Set((await rows()).map((row) => row.thread_id)).size).toBe(2);
    await syncPass({
      messages: [
        message('INBOX/2', {
          content: {
            kind: 'mime',
            mime: mime({ 'Message-ID': '<unseen>', References: '<INBOX/1>' }),
          },
        }),
      ],
    });
    expect(new Set((await rows()).map((row) => row.thread_id)).size).toBe(1);
    expect((await logged()).slice(-4)).toEqual([
      'thread modify',
      'thread delete',
      'message modify',
      'message create',
    ]);
    expect(
      await database.query('select 1 from thread where account_id = $1', [account.id]),
    ).toHaveLength(1);
  });

  describe('when a draft is written into a thread during a sync pass', () => {
    /** Begins a draft, runs the sync pass as far as it gets, and commits the draft. */
    async function during(
      threadId: string | undefined,
      run: () => Promise<unknown>,
    ): Promise<string[]> {
      let looked: Promise<unknown> | undefined;
      await database.transaction(async (sql) => {
        await sql.query(
          `insert into message
           select (jsonb_populate_record(m, jsonb_build_object(
             'id', $2::text, 'provider_id', null, 'draft', true, 'subject', 'draft', 'message_id_header', '<draft@x>'))).*
           from message m where thread_id = $1 limit 1`,
          [threadId, randomUUID()],
        );
        looked = run();
        await until('the sync pass to wait', async () => {
          const waiting = await database.query(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          );
          return waiting.length > 0;
        });
      });
      await looked;
      const kept = await database.query<{ subject: string }>(
        `select m.subject from message m join thread t on t.id = m.thread_id where m.account_id = $1 order by m.subject`,
        [account.id],
      );
      return kept.map(({ subject }) => subject);
    }

    it("keeps the draft's thread when the last other message is removed", async () => {
      await syncPass({ messages: [message('INBOX/1')] });
      const [row] = await rows();
      expect(await during(row?.thread_id, () => syncPass({ removed: ['INBOX/1'] }))).toEqual([
        'draft',
      ]);
    });

    it("keeps the draft's thread when it is merged into another one", async () => {
      await syncPass({
        messages: [message('INBOX/1', { receivedAt: new Date(0) }), message('INBOX/2')],
      });
      const row = (await rows()).find(({ subject }) => subject === 'INBOX/2');
      const proof = message('INBOX/3', {
        content: {
          kind: 'mime',
          mime: mime({
            'Message-ID': '<3@x>',
            Subject: 'INBOX/3',
            References: '<INBOX/1@x> <INBOX/2@x>',
          }),
        },
      });
      expect(await during(row?.thread_id, () => syncPass({ messages: [proof] }))).toEqual([
        'INBOX/1',
        'INBOX/2',
        'INBOX/3',
        'draft',
      ]);
    });
  });

  it('sets the account to running as soon as recent mail is mirrored, before older mail', async () => {
    await database.query(`update "grant" set sync_state = 'initializing' where id = $1`, [
      account.id,
    ]);
    const states: string[] = [];
    const state = async () => {
      const [row] = await database.query<{ state: string }>(
        'select sync_state as state from "grant" where id = $1',
        [account.id],
      );
      states.push(row?.state ?? '');
    };
    const answers: Answer[] = [{ present: false, more: true }, { present: true, more: true }, {}];
    for (const answer of answers) {
      const lease = { goes: 1 };
      const mail = {
        listChanges: async (_: unknown, asked: SyncPassRequest) => ({
          cursor: String((cursor += 1)),
          more: false,
          present: true,
          folders: asked.cursor === null ? FOLDERS : null,
          renamed: [],
          messages: [],
          removed: [],
          ...answer,
        }),
      };
      server.app.get(ConnectorRegistry).replace({ name: 'sandbox', mail } as unknown as Connector);
      await syncAccount(
        server.app,
        dispatcher,
        account.id,
        fakeLease({ trusted: () => lease.goes-- > 0 }),
      );
      await state();
    }
    expect(states).toEqual(['downloading', 'running', 'running']);
  });

  it('requests no mail older than the horizon, and ignores changes to older mail', async () => {
    const config = server.app.get<AppConfig>(APP_CONFIG);
    const { horizonDays } = config.sync;
    config.sync.horizonDays = 10;
    try {
      await syncPass({
        messages: [message('INBOX/1', { content: null, receivedAt: new Date(0) })],
      });
    } finally {
      config.sync.horizonDays = horizonDays;
    }
    const days = (Date.now() - (requests[0]?.since?.getTime() ?? 0)) / 86_400_000;
    expect(Math.round(days)).toBe(10);
    expect(await rows()).toEqual([]);
  });
});
