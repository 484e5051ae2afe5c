import request from 'supertest';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { refuseCredentials, rowsOf, subscribe } from '../support/connect.ts';
import { mimeOf, Replica } from '../support/contract-tools.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';

describe('PUT /messages/{id}', () => {
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await subscribe(server, application, ['message.updated', 'job.failed']);
  });
  afterAll(() => server.close());

  const put = (account: TestAccount, id: string, body: object) =>
    request(server.url).put(`/messages/${id}`).set(account.bearer).send(body);
  const get = async (account: TestAccount, path: string) =>
    (await request(server.url).get(path).set(account.bearer)).body;
  const outcome = (account: TestAccount, id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await get(account, `/job-statuses/${id}`);
      return job.status === 'pending'
        ? false
        : (job as { status: string; reason?: string; action: string });
    });

  /** Creates a mirrored account with one message. */
  async function mailbox(subject = 'Hello', overrides: Parameters<typeof createAccount>[2] = {}) {
    const account = await createAccount(server.app, application, { mirrored: true, ...overrides });
    const header = await deliver(server, account, [`Subject: ${subject}`, '', 'Good day.']);
    const message = await until('the message', async () => (await get(account, '/messages'))[0]);
    return { account, header, id: message.id as string };
  }
  async function connectedOf(account: TestAccount) {
    const connected = await server.app.get(ProviderAccounts).find(account.id);
    if (!connected) throw new Error('no such account');
    return connected;
  }
  const replicaOf = async (account: TestAccount) =>
    new Replica(
      server.app.get(ConnectorRegistry).requireMail('sandbox'),
      await connectedOf(account),
    );
  const folderId = async (account: TestAccount, name: string) =>
    (
      await rowsOf<{ id: string }>(
        server,
        `select id from folder where account_id = $1 and name = $2`,
        [account.id, name],
      )
    )[0]?.id ?? '';

  it('shows the change at once, writes it to the provider, and keeps it after the next sync pass', async () => {
    const { account, header, id } = await mailbox();
    const archive = await folderId(account, 'archive');
    const response = await put(account, id, { unread: false, starred: true, folder_id: archive });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      id,
      object: 'message',
      unread: false,
      starred: true,
      folder: { id: archive, name: 'archive' },
      job_status_id: expect.any(String),
    });
    expect(await outcome(account, response.body.job_status_id)).toMatchObject({
      status: 'successful',
      action: 'update_message',
      object: 'message',
      id,
    });
    const replica = await replicaOf(account);
    await replica.follow();
    expect(replica.withText(header)).toMatchObject([
      { unread: false, starred: true, folderIds: ['archive'] },
    ]);
    await deliver(server, account, ['Subject: Another', '', 'Look!']);
    await until('another sync pass', async () => (await get(account, '/messages')).length === 2);
    expect(await get(account, `/messages/${id}`)).toMatchObject({
      unread: false,
      starred: true,
      folder: { id: archive },
    });
    expect(await get(account, `/messages?in=archive&view=ids`)).toEqual([id]);
  });

  it('changes only the given fields, also by PATCH and by older field names', async () => {
    const { account, id } = await mailbox();
    const trash = await folderId(account, 'trash');
    const response = await request(server.url)
      .patch(`/messages/${id}`)
      .set(account.bearer)
      .send({ folder: trash, label_ids: [], labels: [] });
    expect(response.body).toMatchObject({
      unread: true,
      starred: false,
      folder: { name: 'trash' },
    });
    expect(await outcome(account, response.body.job_status_id)).toMatchObject({
      status: 'successful',
    });
  });

  it('does nothing if no field is given, or only empty folders and labels', async () => {
    const { account, id } = await mailbox();
    const before = await get(account, `/messages/${id}`);
    const state = () =>
      rowsOf(
        server,
        `select (select count(*)::int from change where account_id = $1 and object_id = $2) as changes, m.updated_at,
           (select count(*)::int from job_status where account_id = $1) as jobs
         from message m where m.id = $2`,
        [account.id, id],
      );
    const stored = await state();
    for (const body of [
      {},
      { folder_id: null },
      { folder: {} },
      { folder: { id: null, name: null } },
      { label_ids: null, labels: null },
      { subject: 'ignored', folder_id: null, folder: {}, label_ids: [] },
    ]) {
      const response = await put(account, id, body);
      expect([body, response.status, response.body]).toEqual([body, 200, before]);
    }
    expect(await state()).toEqual(stored);
  });

  it('takes the folder as an object, unless folder_id names another one', async () => {
    const { account, id } = await mailbox();
    const read = await get(account, `/messages/${id}`);
    const [trash, archive] = await Promise.all(
      ['trash', 'archive'].map((name) => folderId(account, name)),
    );
    const all = { ...read, starred: true };
    expect((await put(account, id, all).expect(200)).body).toMatchObject({
      starred: true,
      folder: { name: 'inbox' },
    });
    const moved = { ...all, folder: { id: trash, name: 'trash', display_name: 'Trash' } };
    expect((await put(account, id, moved).expect(200)).body.folder).toMatchObject({ id: trash });
    const both = await put(account, id, { ...moved, folder_id: archive }).expect(200);
    expect(both.body.folder).toMatchObject({ id: archive });
  });

  it('stores metadata only here, and sends no webhook for metadata', async () => {
    const { account, id } = await mailbox();
    const response = await put(account, id, { metadata: { team: 'sales' } });
    expect(response.body).toMatchObject({ metadata: { team: 'sales' }, unread: true });
    expect(await outcome(account, response.body.job_status_id)).toMatchObject({
      status: 'successful',
    });
    const webhookEvents = await rowsOf(server, `select 1 from webhook_event where dedupe like $1`, [
      `message:${id}:updated:%`,
    ]);
    expect(webhookEvents).toEqual([]);
    await put(account, id, { starred: true }).expect(200);
    const [event] = await rowsOf<{ body: Buffer }>(
      server,
      `select body from webhook_event where dedupe like $1`,
      [`message:${id}:updated:%`],
    );
    expect(JSON.parse(String(event?.body)).deltas[0]).toMatchObject({
      type: 'message.updated',
      object_data: {
        id,
        attributes: { thread_id: expect.any(String), received_date: expect.any(Number) },
      },
    });
  });

  it('does not move a message back if the client sends the folder that it had read', async () => {
    const { account, header, id } = await mailbox();
    const inbox = await folderId(account, 'inbox');
    const replica = await replicaOf(account);
    await replica.follow();
    const providerId = replica.withText(header)[0]?.providerId ?? '';
    const response = await put(account, id, { unread: false, folder_id: inbox });
    const port = server.app.get(ConnectorRegistry).requireMailbox('sandbox');
    await port.setFolders(await connectedOf(account), providerId, ['archive']);
    await outcome(account, response.body.job_status_id);
    await until(
      'the sync pass',
      async () => (await get(account, `/messages/${id}`)).folder.name === 'archive',
    );
    expect(await get(account, `/messages/${id}`)).toMatchObject({ unread: false });
  });

  describe('labels', () => {
    const labelled = () =>
      mailbox('Labelled', {
        organizationUnit: 'label',
        settings: { organization_unit: 'label', sample_messages: false },
      });
    const names = (message: { labels: { name: string }[] }) =>
      message.labels.map(({ name }) => name).sort();

    it('follow the same rules as folders', async () => {
      const { account, header, id } = await labelled();
      const ids = async (...wanted: string[]) =>
        Promise.all(wanted.map((name) => folderId(account, name)));
      const steps: [string[], string[]][] = [
        [
          ['inbox', 'important', 'all'],
          ['all', 'important', 'inbox'],
        ],
        [['important'], ['all', 'important']],
        [
          ['important', 'trash'],
          ['important', 'trash'],
        ],
        [
          ['important', 'trash', 'inbox'],
          ['all', 'important', 'inbox'],
        ],
      ];
      for (const [wanted, expected] of steps) {
        const response = await put(account, id, { label_ids: await ids(...wanted) });
        expect(names(response.body)).toEqual(expected);
        expect(response.body.folder).toBeUndefined();
        expect(await outcome(account, response.body.job_status_id)).toMatchObject({
          status: 'successful',
        });
        const replica = await replicaOf(account);
        await replica.follow();
        expect(replica.withText(header)[0]?.folderIds.toSorted()).toEqual(expected);
      }
    });

    it('may be sent as objects, and as an empty list next to an empty folder', async () => {
      const { account, id } = await labelled();
      const read = await get(account, `/messages/${id}`);
      const important = await folderId(account, 'important');
      const labels = [...read.labels, { id: important, name: 'important' }];
      const { body } = await put(account, id, { ...read, labels }).expect(200);
      expect(names(body)).toEqual([...names(read), 'important'].sort());
      const whole = { folder_id: null, folder: {}, label_ids: [], starred: true };
      const kept = await put(account, id, whole).expect(200);
      expect([kept.body.starred, names(kept.body)]).toEqual([true, names(body)]);
    });

    it('are refused in combinations that do not exist', async () => {
      const { account, id } = await labelled();
      const [trash, spam, drafts, all] = await Promise.all(
        ['trash', 'spam', 'drafts', 'all'].map((name) => folderId(account, name)),
      );
      for (const body of [
        { label_ids: [] },
        { label_ids: [trash, spam] },
        { label_ids: [drafts, all] },
        { label_ids: [UNKNOWN] },
        { label_ids: ['none'] },
        { labels: [] },
        { labels: [{ name: 'trash' }] },
        { folder_id: trash },
      ])
        expect([body, (await put(account, id, body)).status]).toEqual([body, 400]);
    });
  });

  it('refuses wrong fields by name, and changes nothing', async () => {
    const { account, id } = await mailbox();
    const stranger = await createAccount(server.app, application);
    const drafts = await folderId(account, 'drafts');
    const inbox = await folderId(account, 'inbox');
    const before = await get(account, `/messages/${id}`);
    for (const [body, word] of [
      [{ unread: 'yes' }, 'unread'],
      [{ starred: null }, 'starred'],
      [{ folder: { name: 'trash' } }, 'folder'],
      [{ folder: ['none'] }, 'folder'],
      [{ folder: { id: UNKNOWN } }, 'folder'],
      [{ folder_id: UNKNOWN }, 'folder_id'],
      [{ folder_id: 'none' }, 'folder_id'],
      [{ folder_id: drafts }, 'folder_id'],
      [{ label_ids: [inbox] }, 'label_ids'],
      [{ metadata: { a: 1 } }, 'metadata'],
    ] as const) {
      const response = await put(account, id, body);
      expect([body, response.status, response.body.message]).toEqual([
        body,
        400,
        expect.stringContaining(word),
      ]);
    }
    for (const other of [UNKNOWN, 'none']) expect((await put(account, other, {})).status).toBe(404);
    expect((await put(stranger, id, { unread: false })).status).toBe(404);
    expect(await get(account, `/messages/${id}`)).toEqual(before);
    expect(await get(account, '/job-statuses')).toEqual([]);
  });

  it('needs a scope that allows the change, and credentials that the provider accepts', async () => {
    const scoped = async (scope: string[], body: object) => {
      const { account, id } = await mailbox('Scoped', { scope: scope as never });
      return (
        await put(
          account,
          id,
          body === MOVE ? { folder_id: await folderId(account, 'trash') } : body,
        )
      ).status;
    };
    const MOVE = {};
    expect(await scoped(['email.modify'], { unread: false })).toBe(200);
    expect(await scoped(['email.read_only', 'email.folders_and_labels'], MOVE)).toBe(200);
    expect(await scoped(['email.read_only', 'email.folders_and_labels'], { unread: false })).toBe(
      403,
    );
    expect(await scoped(['email.read_only'], MOVE)).toBe(403);
    const { account, id } = await mailbox();
    await refuseCredentials(server, account.id);
    expect((await put(account, id, { unread: false })).status).toBe(403);
  });

  describe('a change that the provider rejects', () => {
    it('is reverted, and its job reports the reason', async () => {
      const { account, id } = await mailbox('[sandbox:rejected] Stubborn');
      const before = await get(account, `/messages/${id}`);
      const archive = await folderId(account, 'archive');
      const response = await put(account, id, { unread: false, starred: true, folder_id: archive });
      expect(response.body).toMatchObject({ unread: false, folder: { name: 'archive' } });
      expect(await outcome(account, response.body.job_status_id)).toMatchObject({
        status: 'failed',
        reason: '400 The mail server rejects this content',
      });
      expect(await get(account, `/messages/${id}`)).toEqual(before);
    });

    it('is not reverted where a later change has replaced it', async () => {
      const { account, id } = await mailbox('[sandbox:rejected+1] Stubborn once');
      const [first, second] = [
        await put(account, id, { unread: false, starred: true }),
        await put(account, id, { unread: false }),
      ];
      expect(await outcome(account, first.body.job_status_id)).toMatchObject({ status: 'failed' });
      expect(await outcome(account, second.body.job_status_id)).toMatchObject({
        status: 'successful',
      });
      expect(await get(account, `/messages/${id}`)).toMatchObject({
        unread: false,
        starred: false,
      });
    });

    it('twice leaves the message in its original state', async () => {
      const { account, id } = await mailbox('[sandbox:rejected] Stubborn for ever');
      const first = await put(account, id, { starred: true });
      const second = await put(account, id, { starred: true });
      for (const { body } of [first, second])
        expect(await outcome(account, body.job_status_id)).toMatchObject({ status: 'failed' });
      expect(await get(account, `/messages/${id}`)).toMatchObject({ starred: false });
    });
  });

  it('ends in the same state here and at the provider after many simultaneous changes', async () => {
    const { account, header, id } = await mailbox();
    const [archive, inbox] = [await folderId(account, 'archive'), await folderId(account, 'inbox')];
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        put(account, id, {
          unread: n % 2 === 0,
          starred: n % 3 === 0,
          folder_id: n % 2 ? archive : inbox,
        }),
      ),
    );
    for (const { body } of responses)
      expect(await outcome(account, body.job_status_id)).toMatchObject({ status: 'successful' });
    const replica = await replicaOf(account);
    await replica.follow();
    const [copy] = replica.withText(header);
    expect(mimeOf(copy)).toBeDefined();
    await until('the mirror to match the provider', async () => {
      const message = await get(account, `/messages/${id}`);
      return (
        message.unread === copy?.unread &&
        message.starred === copy?.starred &&
        copy?.folderIds[0] === message.folder.name
      );
    });
  });
});
