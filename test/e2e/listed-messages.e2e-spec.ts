import request from 'supertest';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../src/platform/base/errors/provider-error.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { ListingMailbox, type ListingMessage } from '../support/listing-mailbox.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

interface View {
  id: string;
  object: string;
  thread_id: string;
  subject: string;
  snippet: string;
  body: string;
  from: { email: string }[];
  files: { filename: string }[];
  version?: number;
  content_pending?: true;
}

const message = (n: number, change: Partial<ListingMessage> = {}): ListingMessage => ({
  providerId: `id-${n}`,
  threadId: `thread-${n < 3 ? 'long' : n}`,
  folderIds: ['INBOX'],
  receivedAt: new Date(Date.UTC(2020, 0, 1 + n)),
  unread: true,
  starred: false,
  mime: Buffer.from(
    `From: bo@x.test\r\nTo: me@sandbox.test\r\nMessage-ID: <${n}@x.test>\r\nSubject: Subject ${n}\r\n` +
      `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n` +
      `--b\r\nContent-Type: text/html\r\n\r\n<p>Marmalade ${n}</p>\r\n` +
      `--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=file${n}.txt\r\n\r\nBytes\r\n--b--\r\n`,
  ),
  ...change,
});

describe('a mailbox that is listed and not read yet', () => {
  let server: TestApp;
  let account: TestAccount;
  let mailbox: ListingMailbox;
  let all: View[];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    account = await createAccount(server.app, await createApplication(server.app));
    mailbox = new ListingMailbox({ history: 'ids' });
    for (let n = 0; n < 6; n += 1)
      mailbox.add(message(n, n === 5 ? { folderIds: ['DRAFTS'] } : {}));
    mailbox.install(server.app);
    onlyRequestsRead();
    await syncPass();
    all = await get('/messages');
  });

  const syncPass = () => syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
  const onlyRequestsRead = () => {
    mailbox.onFetch = (_, priority) => {
      if (priority === 'history') throw new ProviderError('rate-limited', 'the quota is used up');
    };
  };
  const nothingCanBeRead = (code: ProviderErrorCode = 'temporary') => {
    mailbox.onFetch = () => {
      throw new ProviderError(code, 'the provider does not answer', {
        retryAfterSeconds: 7,
      });
    };
  };
  const api = (method: 'get' | 'put' | 'post', path: string) =>
    request(server.url)[method](path).set(account.bearer);
  const get = async (path: string, query: Record<string, unknown> = {}) => {
    const response = await api('get', path).query(query);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const interactive = () => mailbox.fetches.filter(({ priority }) => priority === 'interactive');

  it('is listed, counted and filtered by what is known', async () => {
    expect(all).toHaveLength(5);
    expect(all[0]).toMatchObject({
      subject: '',
      snippet: '',
      body: '',
      from: [],
      files: [],
      content_pending: true,
    });
    expect(await get('/messages', { view: 'count', unread: true })).toEqual({ count: 5 });
    expect(await get('/messages', { in: 'inbox', view: 'ids' })).toHaveLength(5);
    expect(await get('/messages', { from: 'bo@x.test' })).toEqual([]);
    expect(await get('/messages/search', { q: 'marmalade' })).toEqual([]);
    expect(await get('/threads', { view: 'count' })).toEqual({ count: 3 });
    expect(interactive()).toEqual([]);
  });

  it('returns a message with its content when it is requested by its id, and fetches it once', async () => {
    const [{ id }] = all as [View];
    for (let times = 0; times < 2; times += 1) {
      const read: View = await get(`/messages/${id}`);
      expect(read).toMatchObject({ subject: 'Subject 4', snippet: 'Marmalade 4' });
      expect(read.body).toContain('<p>Marmalade 4</p>');
      expect(read.files).toMatchObject([{ filename: 'file4.txt' }]);
      expect(read).not.toHaveProperty('content_pending');
    }
    expect(interactive().map(({ ids }) => ids)).toEqual([['id-4']]);
    expect(await get('/messages/search', { q: 'marmalade' })).toMatchObject([{ id }]);
    expect(await get('/messages', { from: 'bo@x.test', view: 'ids' })).toEqual([id]);
  });

  it('returns several messages with their contents, and fetches them together', async () => {
    const ids = all.slice(0, 3).map(({ id }) => id);
    const read: View[] = await get(`/messages/${ids.join(',')}`);
    expect(read.map(({ subject }) => subject)).toEqual(['Subject 4', 'Subject 3', 'Subject 2']);
    expect(interactive()).toHaveLength(1);
  });

  it('returns the raw text of a message, and keeps its content', async () => {
    const [{ id }] = all as [View];
    const raw = await api('get', `/messages/${id}`).set('Accept', 'message/rfc822');
    expect([raw.status, raw.text ?? String(raw.body)]).toEqual([200, String(message(4).mime)]);
    expect(await get(`/messages/${id}`)).toMatchObject({ subject: 'Subject 4' });
    expect(interactive()).toEqual([]);
  });

  it('lists the files of a message', async () => {
    const [{ id }] = all as [View];
    expect(await get('/files', { message_id: id })).toMatchObject([{ filename: 'file4.txt' }]);
  });

  it('reads the messages of a thread in the expanded view', async () => {
    const long = all.at(-1)?.thread_id ?? '';
    const { messages } = (await get(`/threads/${long}`, { view: 'expanded' })) as {
      messages: View[];
    };
    expect(messages.map(({ subject }) => subject)).toEqual(['Subject 0', 'Subject 1', 'Subject 2']);
    expect(await get(`/threads/${long}`)).toMatchObject({ subject: 'Subject 0' });
    expect(interactive()).toHaveLength(1);
  });

  it('answers with the error of the provider when a message cannot be read now', async () => {
    const [{ id }] = all as [View];
    nothingCanBeRead();
    const response = await api('get', `/messages/${id}`);
    expect(response.status).toBe(503);
    expect(response.body.message).toContain('the provider does not answer');
    nothingCanBeRead('rate-limited');
    const limited = await api('get', `/messages/${id}`);
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '7']);
  });

  it('returns a thread as far as it is known when its messages cannot be read now', async () => {
    const long = all.at(-1)?.thread_id ?? '';
    nothingCanBeRead();
    const { messages } = (await get(`/threads/${long}`, { view: 'expanded' })) as {
      messages: View[];
    };
    expect(messages.map((one) => one.content_pending)).toEqual([true, true, true]);
  });

  it('gets a 404 for a message that the provider no longer has', async () => {
    const [{ id }] = all as [View];
    mailbox.messages.delete('id-4');
    const response = await api('get', `/messages/${id}`);
    expect(response.status).toBe(404);
    await syncPass();
    expect(await get('/messages', { view: 'ids' })).not.toContain(id);
  });

  it('keeps a change of a message that is completed afterwards', async () => {
    const [{ id }] = all as [View];
    const changed = await api('put', `/messages/${id}`).send({ unread: false, starred: true });
    expect(changed.status).toBe(200);
    expect(await get(`/messages/${id}`)).toMatchObject({
      subject: 'Subject 4',
      unread: false,
      starred: true,
    });
  });

  it('reads a draft before it is shown or changed, so that nothing of it is lost', async () => {
    const [draft] = (await get('/drafts')) as [View];
    expect(draft).toMatchObject({ subject: '', content_pending: true });
    const changed = await api('put', `/drafts/${draft.id}`).send({
      version: draft.version,
      subject: 'Another subject',
    });
    expect([changed.status, changed.body.message]).toEqual([200, undefined]);
    expect(changed.body).toMatchObject({
      subject: 'Another subject',
      from: [{ email: 'bo@x.test' }],
    });
    expect(changed.body.body).toContain('<p>Marmalade 5</p>');
  });

  it('replies to a message with its subject and Message-ID', async () => {
    const [{ id, thread_id: thread }] = all as [View];
    const created = await api('post', '/drafts').send({ reply_to_message_id: id, body: 'Yes' });
    expect([created.status, created.body.message]).toEqual([200, undefined]);
    expect(created.body).toMatchObject({
      subject: 'Re: Subject 4',
      thread_id: thread,
      reply_to_message_id: id,
    });
  });

  it('reports completed messages as changed to /delta', async () => {
    const { body } = await api('post', '/delta/latest_cursor');
    mailbox.onFetch = () => undefined;
    await syncPass();
    const delta = (await get('/delta', { cursor: body.cursor, include_types: 'message' })) as {
      deltas: { event: string; attributes: View }[];
    };
    expect(delta.deltas.map(({ event }) => event)).toEqual(
      Array.from({ length: 5 }, () => 'modify'),
    );
    expect(delta.deltas.map(({ attributes }) => attributes.subject).sort()).toEqual(
      [0, 1, 2, 3, 4].map((n) => `Subject ${n}`),
    );
  });
});
