import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { expectThreadsRefreshed } from '../support/threads.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';

interface Thread {
  id: string;
  subject: string;
  version: number;
  message_ids: string[];
  draft_ids: string[];
  folders: { id: string; name: string }[];
  labels: { id: string; name: string }[];
}

describe('/threads', () => {
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await subscribe(server, application, ['message.updated']);
  });
  afterAll(() => server.close());

  const api = (
    account: TestAccount,
    method: 'get' | 'put' | 'patch' | 'post' | 'delete',
    path: string,
  ) => request(server.url)[method](path).set(account.bearer);
  const get = async (account: TestAccount, path: string, query: Record<string, unknown> = {}) => {
    const response = await api(account, 'get', path).query(query);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const subjects = async (account: TestAccount, query: Record<string, unknown> = {}) =>
    ((await get(account, '/threads', query)) as Thread[]).map(({ subject }) => subject);
  const folderId = async (account: TestAccount, name: string): Promise<string> => {
    const unit = account === lea ? '/labels' : '/folders';
    const folders = (await get(account, unit)) as { id: string; name: string }[];
    return folders.find((one) => one.name === name)?.id ?? '';
  };
  const outcome = (account: TestAccount, id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await get(account, `/job-statuses/${id}`);
      return job.status === 'pending' ? false : (job as { status: string; action: string });
    });

  let ada: TestAccount;
  let lea: TestAccount;
  /**
   * Of `ada`: a thread with three messages (one reply is hers) and a draft. Two more threads are a
   * message with an attachment and a message to more recipients.
   */
  let lunch: Thread;

  async function fill(account: TestAccount) {
    const first = await deliver(server, account, [
      'Subject: Lunch',
      'Cc: Cy <cy@x.test>',
      '',
      'Shall we?',
    ]);
    await deliver(server, account, [
      'Subject: Re: Lunch',
      `In-Reply-To: ${first}`,
      'Bcc: dee@x.test',
      '',
      'Where?',
    ]);
    await deliver(server, account, [
      'Subject: Menu',
      'Content-Type: text/plain; name="menu.txt"',
      'Content-Disposition: attachment; filename="menu.txt"',
      '',
      'Soup',
    ]);
    await until('the messages', async () => (await get(account, '/messages')).length === 3);
  }
  const threadOf = async (account: TestAccount, subject: string): Promise<Thread> =>
    (await get(account, '/threads', { subject }))[0];

  beforeAll(async () => {
    ada = await createAccount(server.app, application, {
      mirrored: true,
      settings: { sample_messages: false },
    });
    lea = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label', sample_messages: false },
    });
    await Promise.all([ada, lea].map(fill));
    const { message_ids } = await threadOf(ada, 'Lunch');
    await api(ada, 'post', '/v2/outbox')
      .send({
        to: [{ email: 'somebody@elsewhere.test' }],
        body: 'At <b>one</b>',
        reply_to_message_id: message_ids[1],
      })
      .expect(202);
    await until('the reply', async () => (await threadOf(ada, 'Lunch')).message_ids.length === 3);
    await api(ada, 'post', '/drafts')
      .send({ body: 'Or at two', reply_to_message_id: message_ids[1] })
      .expect(200);
    await api(ada, 'post', '/drafts').send({ subject: 'Draft only' }).expect(200);
    lunch = await threadOf(ada, 'Lunch');
  });

  it('returns a thread with its messages, folders and participants', async () => {
    expect(await get(ada, `/threads/${lunch.id}`)).toEqual(lunch);
    expect(lunch).toEqual({
      id: lunch.id,
      object: 'thread',
      account_id: ada.id,
      subject: 'Lunch',
      participants: [
        { email: 'somebody@elsewhere.test', name: 'Somebody' },
        { email: ada.email, name: expect.any(String) },
        { email: 'cy@x.test', name: 'Cy' },
        { email: 'dee@x.test', name: '' },
      ],
      first_message_timestamp: expect.any(Number),
      last_message_timestamp: expect.any(Number),
      last_message_received_timestamp: expect.any(Number),
      last_message_sent_timestamp: expect.any(Number),
      snippet: 'At one',
      unread: true,
      starred: false,
      has_attachments: false,
      version: expect.any(Number),
      folders: [
        expect.objectContaining({ name: 'inbox', display_name: expect.any(String) }),
        expect.objectContaining({ name: 'sent' }),
      ],
      message_ids: [expect.any(String), expect.any(String), expect.any(String)],
      draft_ids: [expect.any(String)],
    });
    const menu = await threadOf(ada, 'Menu');
    expect(menu).toMatchObject({
      has_attachments: true,
      last_message_sent_timestamp: null,
      folders: [{ name: 'inbox' }],
      draft_ids: [],
    });
  });

  it('expands messages and drafts without their bodies', async () => {
    const thread = await get(ada, `/threads/${lunch.id}`, { view: 'expanded' });
    expect(thread).not.toHaveProperty('message_ids');
    expect(thread.messages.map(({ id }: { id: string }) => id)).toEqual(lunch.message_ids);
    expect(thread.drafts).toMatchObject([{ id: lunch.draft_ids[0], object: 'draft', version: 0 }]);
    const { body, ...message } = await get(ada, `/messages/${lunch.message_ids[0]}`);
    expect(body).toEqual(expect.stringContaining('Shall'));
    expect(thread.messages[0]).toEqual(message);
    const listed = await get(ada, '/threads', { view: 'expanded', subject: 'Lunch' });
    expect(listed).toEqual([thread]);
  });

  it('lists threads with messages in every view, newest message first', async () => {
    const all = await subjects(ada);
    expect(all.toSorted()).toEqual(['Lunch', 'Menu']);
    expect(await get(ada, '/threads', { view: 'ids', limit: 1, offset: 1 })).toEqual([
      (await threadOf(ada, all[1] ?? '')).id,
    ]);
    expect(await get(ada, '/threads', { view: 'count', limit: 0 })).toEqual({ count: 2 });
    const timestamps = ((await get(ada, '/threads')) as { last_message_timestamp: number }[]).map(
      (thread) => thread.last_message_timestamp,
    );
    expect(timestamps).toEqual(timestamps.toSorted((a, b) => b - a));
  });

  it.each<[Record<string, unknown>, string[]]>([
    [{ from: 'Somebody@Elsewhere.test' }, ['Lunch', 'Menu']],
    [{ to: 'somebody@elsewhere.test' }, ['Lunch']],
    [{ cc: 'cy@x.test' }, ['Lunch']],
    [{ cc: 'dee@x.test' }, []],
    [{ bcc: 'dee@x.test' }, ['Lunch']],
    [{ from: 'somebody@elsewhere.test', cc: 'cy@x.test', bcc: 'dee@x.test' }, ['Lunch']],
    [{ any_email: 'nobody@x.test,cy@x.test' }, ['Lunch']],
    [{ any_email: ['nobody@x.test'] }, []],
    [{ in: 'inbox' }, ['Lunch', 'Menu']],
    [{ in: 'sent' }, ['Lunch']],
    [{ in: 'Drafts' }, ['Lunch']],
    [{ in: 'nowhere' }, []],
    [{ folder_id: 'sent' }, ['Lunch']],
    [{ label_id: ['sent', 'nowhere'] }, ['Lunch']],
    [{ not_in: 'sent' }, ['Menu']],
    [{ not_in: 'drafts' }, ['Menu']],
    [{ not_in: 'nowhere' }, ['Lunch', 'Menu']],
    [{ unread: 'true' }, ['Lunch', 'Menu']],
    [{ unread: 'false' }, []],
    [{ starred: 'TRUE' }, []],
    [{ starred: 'false' }, ['Lunch', 'Menu']],
    [{ filename: 'menu.txt' }, ['Menu']],
    [{ filename: 'menu' }, []],
    [{ subject: 'Lunch' }, ['Lunch']],
    [{ subject: 'Re: Lunch' }, []],
    [{ thread_id: 'not an id' }, []],
    [{ thread_id: UNKNOWN }, []],
    [{ started_after: 1 }, ['Lunch', 'Menu']],
    [{ started_before: 1 }, []],
    [{ last_message_after: 4_000_000_000 }, []],
    [{ last_message_before: 4_000_000_000 }, ['Lunch', 'Menu']],
    [{ last_updated_after: 1, last_updated_before: 4_000_000_000 }, ['Lunch', 'Menu']],
    [{ last_updated_timestamp: 1 }, []],
    [
      {
        in: 'inbox',
        not_in: 'sent',
        unread: 'true',
        filename: 'menu.txt',
        from: 'somebody@elsewhere.test',
      },
      ['Menu'],
    ],
    [{ limit: 0 }, []],
  ])('returns the right threads for %j', async (query, expected) => {
    expect((await subjects(ada, query)).toSorted()).toEqual(expected);
    const { count } = await get(ada, '/threads', { ...query, view: 'count' });
    if (query['limit'] === undefined) expect(count).toBe(expected.length);
  });

  it('finds threads by the second in which they changed', async () => {
    const [row] = await rowsOf<{ at: number }>(
      server,
      'select floor(extract(epoch from updated_at))::int as at from thread where id = $1',
      [lunch.id],
    );
    expect(await subjects(ada, { last_updated_timestamp: row?.at, subject: 'Lunch' })).toEqual([
      'Lunch',
    ]);
    expect(await subjects(ada, { last_updated_after: row?.at, subject: 'Lunch' })).toEqual([]);
    expect(
      await subjects(ada, { last_updated_timestamp: row?.at, last_updated_before: row?.at }),
    ).toEqual([]);
  });

  it.each([
    [{ view: 'short' }, /view/],
    [{ unread: 'yes' }, /unread/],
    [{ limit: -1 }, /limit/i],
    [{ limit: 1001 }, /1000/],
    [{ subject: 'x'.repeat(256) }, /subject.*255/],
    [{ from: 'x'.repeat(256) }, /from.*255/],
    [{ in: 'x'.repeat(256) }, /in.*255/],
    [{ started_after: 'tomorrow' }, /started_after/],
    [{ last_updated_timestamp: '1e99' }, /last_updated_timestamp/],
    [
      { any_email: Array.from({ length: 26 }, (_, n) => `${n}@x.test`).join(',') },
      /Too many emails/,
    ],
  ])('refuses %j', async (query, message) => {
    const { status, body } = await api(ada, 'get', '/threads').query(query);
    expect([status, body.type, body.message]).toEqual([
      400,
      'invalid_request_error',
      expect.stringMatching(message),
    ]);
  });

  it('joins no message to the thread of another account that has the message it replies to', async () => {
    const settings = { sample_messages: false };
    const bo = await createAccount(server.app, application, { mirrored: true, settings });
    const cy = await createAccount(server.app, application, { mirrored: true, settings });
    const has = (account: TestAccount) =>
      until('the message', async () => (await get(account, '/messages'))[0]);
    const first = await deliver(server, bo, ['Subject: Plan', '', 'Shall we?']);
    const plan = await has(bo);
    await deliver(server, cy, ['Subject: Re: Plan', `In-Reply-To: ${first}`, '', 'Yes']);
    const reply = await has(cy);
    expect(reply).toMatchObject({ reply_to_message_id: null });
    expect(await get(cy, `/threads/${reply.thread_id}`)).toMatchObject({ message_ids: [reply.id] });
    expect(await get(bo, `/threads/${plan.thread_id}`)).toMatchObject({ message_ids: [plan.id] });
  });

  it('answers 404 for unknown threads, and 405 for unsupported methods', async () => {
    const [bo] = [await createAccount(server.app, application)];
    const drafted = ((await get(ada, '/drafts')) as { thread_id: string; subject: string }[]).find(
      ({ subject }) => subject === 'Draft only',
    );
    for (const id of [UNKNOWN, 'nothing', drafted?.thread_id]) {
      await api(ada, 'get', `/threads/${id}`).expect(404);
      await api(ada, 'put', `/threads/${id}`).send({ unread: false }).expect(404);
    }
    await api(bo, 'get', `/threads/${lunch.id}`).expect(404);
    await api(bo, 'put', `/threads/${lunch.id}`).send({ unread: false }).expect(404);
    const { body } = await api(ada, 'delete', `/threads/${lunch.id}`).expect(405);
    expect(body.type).toBe('api_error');
  });

  describe('PUT', () => {
    it.each([
      [{ subjects: 'No' }, /subjects/],
      [{ metadata: {} }, /metadata/],
      [{ unread: 'false' }, /unread/],
      [{ folder: 5 }, /folder/],
      [{ folder: { id: UNKNOWN } }, /Couldn't find folder/],
      [{ labels: [{ id: UNKNOWN }] }, /this account has folders/],
      [{ folder_id: UNKNOWN }, /Couldn't find folder/],
      [{ label_ids: [UNKNOWN] }, /this account has folders/],
      [[{}], /object/i],
    ])('refuses %j and changes nothing', async (body, message) => {
      const before = await get(ada, `/threads/${lunch.id}`);
      const response = await api(ada, 'put', `/threads/${lunch.id}`).send(body);
      expect([response.status, response.body.message]).toEqual([
        400,
        expect.stringMatching(message),
      ]);
      expect(await get(ada, `/threads/${lunch.id}`)).toEqual(before);
    });

    it('changes all messages, leaves drafts and sent messages in their folders, and writes the changes to the provider', async () => {
      const archive = await folderId(ada, 'archive');
      const before = await get(ada, `/threads/${lunch.id}`);
      const { body } = await api(ada, 'put', `/threads/${lunch.id}`)
        .send({ unread: false, starred: true, folder_id: archive, label_ids: [] })
        .expect(200);
      expect(body).toMatchObject({
        id: lunch.id,
        unread: false,
        starred: true,
        job_status_id: expect.any(String),
      });
      expect(body.folders.map(({ name }: { name: string }) => name).sort()).toEqual([
        'archive',
        'sent',
      ]);
      expect(body.version).toBeGreaterThan(before.version);
      expect(
        await get(ada, '/messages', { thread_id: lunch.id, starred: 'false', view: 'count' }),
      ).toEqual({
        count: 0,
      });
      expect(await get(ada, '/messages', { in: 'archive', view: 'count' })).toEqual({ count: 2 });
      const [last] = (await get(ada, '/messages', { in: 'sent' })) as { id: string }[];
      expect(await outcome(ada, body.job_status_id)).toMatchObject({
        status: 'successful',
        action: 'update_message',
        object: 'message',
        id: last?.id,
      });
      await until('all jobs to succeed', async () => {
        const jobs = (await get(ada, '/job-statuses')) as { action: string; status: string }[];
        const own = jobs.filter(({ action }) => action === 'update_message');
        return own.length === 3 && own.every(({ status }) => status === 'successful');
      });
      await deliver(server, ada, ['Subject: Another look', '', 'Look!']);
      await until(
        'another sync pass',
        async () => (await subjects(ada, { subject: 'Another look' })).length === 1,
      );
      expect(await get(ada, `/threads/${lunch.id}`)).toMatchObject({
        unread: false,
        starred: true,
        version: body.version,
      });
      const webhookEvents = await rowsOf<{ id: string }>(
        server,
        `select convert_from(body, 'UTF8')::jsonb #>> '{deltas,0,object_data,id}' as id from webhook_event where type = 'message.updated'`,
        [],
      );
      expect(webhookEvents.map(({ id }) => id).sort()).toEqual([...lunch.message_ids].sort());
      expect(
        await rowsOf(
          server,
          `select 1 from change where object = 'thread' and object_id = $1 and event = 'modify'`,
          [lunch.id],
        ),
      ).not.toEqual([]);
    });

    it('returns the thread when nothing changes, and accepts PATCH', async () => {
      const before = await get(ada, `/threads/${lunch.id}`);
      const jobs = await get(ada, '/job-statuses');
      for (const body of [{}, { folder_id: null, folder: {}, label_ids: [] }]) {
        expect((await api(ada, 'patch', `/threads/${lunch.id}`).send(body)).body).toEqual(before);
        expect((await api(ada, 'put', `/threads/${lunch.id}`).send(body)).body).toEqual(before);
      }
      expect(await get(ada, '/job-statuses')).toEqual(jobs);
    });

    it('ignores what a client has read and sends back, and takes a folder as an object', async () => {
      const read = await get(ada, `/threads/${lunch.id}`);
      const stale = { ...read, version: 1, snippet: 'Old', message_ids: [], folders: [] };
      const { body } = await api(ada, 'put', `/threads/${lunch.id}`)
        .send({ ...stale, unread: true })
        .expect(200);
      expect(body).toMatchObject({
        subject: read.subject,
        snippet: read.snippet,
        message_ids: read.message_ids,
        folders: read.folders,
        unread: true,
      });
      const trash = await folderId(ada, 'trash');
      const moved = await api(ada, 'put', `/threads/${lunch.id}`)
        .send({ folder: { id: trash, name: 'trash' } })
        .expect(200);
      expect(moved.body.folders.map(({ name }: { name: string }) => name).sort()).toEqual([
        'sent',
        'trash',
      ]);
    });

    it('needs the same scopes as changes of messages', async () => {
      const mover = await createAccount(server.app, application, {
        scope: ['email.folders_and_labels', 'email.read_only'],
      });
      const { body } = await api(mover, 'put', `/threads/${UNKNOWN}`)
        .send({ unread: true })
        .expect(403);
      expect(body.message).toMatch(/unread/);
      await api(mover, 'put', `/threads/${UNKNOWN}`).send({ folder_id: UNKNOWN }).expect(404);
    });

    it('follows the rules of labels, and does not spread labels that are sent back unchanged', async () => {
      const thread = await threadOf(lea, 'Lunch');
      expect(thread).not.toHaveProperty('folders');
      const names = async (id = thread.id) =>
        (await get(lea, `/threads/${id}`)).labels.map(({ name }: { name: string }) => name).sort();
      const ids = (...wanted: string[]) => Promise.all(wanted.map((name) => folderId(lea, name)));
      const put = (body: object, id = thread.id) => api(lea, 'put', `/threads/${id}`).send(body);
      await api(lea, 'put', `/messages/${thread.message_ids[0]}`)
        .send({ label_ids: await ids('inbox', 'all', 'important') })
        .expect(200);
      const read = (await get(lea, `/threads/${thread.id}`)).labels.map(
        ({ id }: { id: string }) => id,
      );
      await put({ unread: false, label_ids: read }).expect(200);
      expect(await get(lea, '/messages', { in: 'important', view: 'ids' })).toEqual([
        thread.message_ids[0],
      ]);
      await put({ label_ids: await ids('trash') }).expect(200);
      expect(await names()).toEqual(['trash']);
      expect(await get(lea, '/messages', { in: 'trash', view: 'count' })).toEqual({ count: 2 });
      await put({ label_ids: await ids('inbox') }).expect(200);
      expect(await names()).toEqual(['all', 'inbox']);
      for (const [wanted, message] of [
        [['trash', 'spam'], /only one of/],
        [['inbox', 'sent'], /sent cannot be changed/],
      ] as const) {
        const { status, body } = await put({ label_ids: await ids(...wanted) });
        expect([status, body.message]).toEqual([400, expect.stringMatching(message)]);
      }
      expect((await put({ label_ids: [] })).status).toBe(400);
      const whole = await get(lea, `/threads/${thread.id}`);
      await put({ ...whole, folder_id: null, label_ids: [], starred: true }).expect(200);
      expect(await names()).toEqual(['all', 'inbox']);
      const [important] = await ids('important');
      const labels = [...whole.labels, { id: important, name: 'important' }];
      await put({ ...whole, labels }).expect(200);
      expect(await names()).toEqual(['all', 'important', 'inbox']);
      expect((await put({ folder_id: UNKNOWN })).body.message).toMatch(/this account has labels/);
    });
  });

  it('matches its messages after every kind of change', () =>
    expectThreadsRefreshed(server.app.get(Database)));
});
