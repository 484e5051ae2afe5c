import request from 'supertest';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { refuseCredentials, rowsOf } from '../support/connect.ts';
import { Replica } from '../support/contract-tools.ts';
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

interface Folder {
  id: string;
  name: string | null;
  display_name: string;
  job_status_id: string;
}

describe.each(['folder', 'label'] as const)('/%ss', (unit) => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  const path = `/${unit}s`;
  const standard = unit === 'folder' ? 6 : 7;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await account();
  });

  async function account(
    overrides: Parameters<typeof createAccount>[2] = {},
  ): Promise<TestAccount> {
    const created = await createAccount(server.app, application, {
      organizationUnit: unit,
      settings: { organization_unit: unit, sample_messages: false },
      mirrored: true,
      ...overrides,
    });
    await until('the folders', async () => {
      const rows = await rowsOf(server, `select 1 from folder where account_id = $1`, [created.id]);
      return rows.length === standard;
    });
    return created;
  }
  const api = (
    method: 'get' | 'post' | 'put' | 'delete',
    address: string,
    body?: object,
    by = ada,
  ) => request(server.url)[method](address).set(by.bearer).send(body);
  const ok = async <T = Folder>(...parameters: Parameters<typeof api>): Promise<T> => {
    const response = await api(...parameters);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const outcome = (id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await ok<{ status: string; reason?: string; action: string }>(
        'get',
        `/job-statuses/${id}`,
      );
      return job.status === 'pending' ? false : job;
    });
  const done = async ({ job_status_id: id }: Pick<Folder, 'job_status_id'>) =>
    expect(await outcome(id)).toMatchObject({ status: 'successful' });
  const own = async () =>
    (await ok<Folder[]>('get', path))
      .filter(({ name }) => name === null)
      .map((folder) => folder.display_name);
  async function atProvider() {
    const connected = await server.app.get(ProviderAccounts).find(ada.id);
    if (!connected) throw new Error('no such account');
    const replica = new Replica(
      server.app.get(ConnectorRegistry).requireMail('sandbox'),
      connected,
    );
    await replica.follow();
    return replica;
  }
  const ownAtProvider = async () =>
    (await atProvider()).folders
      .filter(({ name }) => name === null)
      .map(({ displayName }) => displayName)
      .sort();

  it("lists, counts and reads the provider's folders", async () => {
    const folders = await ok<Folder[]>('get', path);
    expect(folders).toHaveLength(standard);
    expect(folders[0]).toEqual({
      id: expect.any(String),
      object: unit,
      account_id: ada.id,
      name: expect.any(String),
      display_name: expect.any(String),
    });
    expect(await ok('get', `${path}?view=count`)).toEqual({ count: standard });
    expect(await ok('get', `${path}?view=expanded`)).toEqual(await ok('get', path));
    expect(await ok('get', `${path}?view=ids&limit=2&offset=1`)).toEqual(
      folders.slice(1, 3).map(({ id }) => id),
    );
    expect(await ok('get', `${path}/${folders[0]?.id}`)).toEqual(folders[0]);
    expect((await api('get', `${path}/${UNKNOWN}`)).status).toBe(404);
  });

  it('creates, renames and deletes a folder, here at once and then at the provider', async () => {
    const created = await ok('post', path, { display_name: ' Projects ' });
    expect(created).toMatchObject({ object: unit, name: null, display_name: 'Projects' });
    const child = await ok('post', path, { name: 'Projects/2026' });
    expect(await own()).toEqual(['Projects', 'Projects/2026']);
    await done(created);
    await done(child);
    expect(await ownAtProvider()).toEqual(['Projects', 'Projects/2026']);
    const renamed = await ok('put', `${path}/${created.id}`, { display_name: 'Work' });
    expect(renamed).toMatchObject({ id: created.id, display_name: 'Work' });
    expect(await own()).toEqual(['Work', 'Work/2026']);
    await done(renamed);
    expect(await ownAtProvider()).toEqual(['Work', 'Work/2026']);
    for (const { id } of [child, created]) await done(await ok('delete', `${path}/${id}`));
    expect(await own()).toEqual([]);
    expect(await ownAtProvider()).toEqual([]);
    const log = await rowsOf<{ event: string }>(
      server,
      `select event from change where account_id = $1 and object = $2 and object_id = $3 order by seq`,
      [ada.id, unit, created.id],
    );
    expect(log.map(({ event }) => event)).toEqual(['create', 'modify', 'delete']);
    expect(
      await rowsOf(server, `select 1 from folder where account_id = $1`, [ada.id]),
    ).toHaveLength(standard);
  });

  it('is named by display_name, or else by name', async () => {
    const created = await ok('post', path, { name: 'Bills' });
    expect(created).toMatchObject({ name: null, display_name: 'Bills' });
    const byName = await ok('put', `${path}/${created.id}`, { name: 'Invoices' });
    expect(byName).toMatchObject({ name: null, display_name: 'Invoices' });
    const names = { name: 'Old', display_name: 'Receipts' };
    const both = await ok('put', `${path}/${created.id}`, names);
    expect(both).toMatchObject({ display_name: 'Receipts' });
    const whole = await ok('put', `${path}/${created.id}`, { ...both, display_name: 'Paid' });
    for (const job of [created, byName, both, whole])
      expect((await outcome(job.job_status_id)).status).toBe('successful');
    expect(await ownAtProvider()).toEqual(['Paid']);
    const refused = await api('put', `${path}/${created.id}`, { name: 'sent' });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringMatching(/^name: sent is a standard name.*display_name/),
    ]);
  });

  it('stays as it is without another name', async () => {
    const { id } = await ok('post', path, { display_name: 'Same' });
    const mine = await ok('get', `${path}/${id}`);
    const [standardOne] = (await ok<Folder[]>('get', path)).filter(({ name }) => name === 'inbox');
    const jobs = await ok<object[]>('get', '/job-statuses');
    for (const body of [{}, { display_name: null, name: null }, { display_name: 'Same', name: '' }])
      expect(await ok('put', `${path}/${id}`, body)).toEqual(mine);
    expect(await ok('put', `${path}/${standardOne?.id}`, { ...standardOne })).toEqual(standardOne);
    expect(await ok<object[]>('get', '/job-statuses')).toHaveLength(jobs.length);
  });

  it('applies quick successive changes in their order', async () => {
    const created = await ok('post', path, { display_name: 'First' });
    const renamed = await ok('put', `${path}/${created.id}`, { display_name: 'Second' });
    const next = await ok('post', path, { display_name: 'First' });
    const end = await ok('delete', `${path}/${created.id}`);
    const again = await ok('post', path, { display_name: 'Second' });
    for (const { job_status_id: id } of [created, renamed, next, end, again])
      expect(['successful', 'cancelled']).toContain((await outcome(id)).status);
    expect(await ownAtProvider()).toEqual(['First', 'Second']);
    expect((await own()).sort()).toEqual(['First', 'Second']);
    const rows = await rowsOf<{ provider_id: string | null }>(
      server,
      `select provider_id from folder where account_id = $1`,
      [ada.id],
    );
    expect(rows).toHaveLength(standard + 2);
    expect(rows.every(({ provider_id: id }) => id !== null)).toBe(true);
  });

  it('creates one folder per name, ignoring case, even for simultaneous requests', async () => {
    const responses = await Promise.all(
      ['Twin', 'twin', 'TWIN'].map((name) => api('post', path, { display_name: name })),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 400, 400,
    ]);
    // Programs search the text for "already exists".
    for (const { status, body } of responses)
      if (status === 400) expect(body.message).toMatch(/^display_name: .* already exists$/);
    expect(await own()).toHaveLength(1);
  });

  it('shows folders that another mail program creates, renames and deletes', async () => {
    const connected = await server.app.get(ProviderAccounts).find(ada.id);
    if (!connected) throw new Error('no such account');
    const mailbox = server.app.get(ConnectorRegistry).requireMailbox('sandbox');
    const { providerId } = await mailbox.createFolder(connected, 'Elsewhere');
    await until('the folder', async () => (await own()).includes('Elsewhere'));
    await mailbox.renameFolder(connected, providerId, 'Somewhere');
    await until('the new name of the folder', async () => (await own()).includes('Somewhere'));
    await mailbox.deleteFolder(connected, providerId);
    await until('the deletion of the folder', async () => (await own()).length === 0);
  });

  it('moves messages into a folder that the provider has not created yet', async () => {
    const header = await deliver(server, ada, ['Subject: x', '', 'x']);
    const [message] = await until('the message', async () => {
      const found = await ok<{ id: string }[]>('get', '/messages');
      return found.length > 0 && found;
    });
    const created = await ok('post', path, { display_name: 'Fresh' });
    const body = unit === 'folder' ? { folder_id: created.id } : { label_ids: [created.id] };
    const moved = await ok('put', `/messages/${message?.id}`, body);
    await done(moved);
    const replica = await atProvider();
    expect(replica.withText(header)[0]?.folderIds).toContain(replica.named('Fresh')?.providerId);
    expect(await ok('get', `/messages?in=Fresh&view=ids`)).toEqual([message?.id]);
    const removal = await api('delete', `${path}/${created.id}`);
    expect(removal.status).toBe(unit === 'folder' ? 400 : 200);
    if (unit === 'label') await done(removal.body);
    expect(await ok('get', '/messages?view=ids')).toEqual([message?.id]);
  });

  it('deletes a folder only after its messages have been moved out', async () => {
    const header = await deliver(server, ada, ['Subject: x', '', 'x']);
    const [message] = await until('the message', async () => {
      const found = await ok<{ id: string }[]>('get', '/messages');
      return found.length > 0 && found;
    });
    const inbox = (await ok<Folder[]>('get', path)).find(({ name }) => name === 'inbox')?.id;
    const put = (id: string | undefined) =>
      ok(
        'put',
        `/messages/${message?.id}`,
        unit === 'folder' ? { folder_id: id } : { label_ids: [id] },
      );
    for (let times = 0; times < 3; times += 1) {
      const created = await ok('post', path, { display_name: 'Short' });
      await done(await put(created.id));
      const [moved, deleted] = [await put(inbox), await ok('delete', `${path}/${created.id}`)];
      await done(moved);
      await done(deleted);
      expect((await atProvider()).withText(header)).toHaveLength(1);
    }
    expect(await ok('get', '/messages?view=ids')).toEqual([message?.id]);
  });

  it('refuses wrong names and standard folders, and changes nothing', async () => {
    const folders = await ok<Folder[]>('get', path);
    const inbox = folders.find(({ name }) => name === 'inbox')?.id;
    const before = await ok('post', path, { display_name: 'Mine' });
    for (const body of [
      {},
      { display_name: '' },
      { display_name: ' ' },
      { display_name: 5 },
      { display_name: null },
      { display_name: 'a//b' },
      { display_name: '/a' },
      { display_name: 'a\nb' },
      { display_name: 'x'.repeat(256) },
      { display_name: 'INBOX' },
      { display_name: 'mine' },
    ]) {
      const response = await api('post', path, body);
      expect([body, response.status, response.body.message]).toEqual([
        body,
        400,
        expect.stringContaining('display_name'),
      ]);
    }
    expect((await api('put', `${path}/${inbox}`, { display_name: 'Mailbox' })).status).toBe(400);
    expect((await api('delete', `${path}/${inbox}`)).status).toBe(400);
    expect((await api('put', `${path}/${before.id}`, { display_name: 'Inbox' })).status).toBe(400);
    for (const id of [UNKNOWN, 'none']) {
      expect((await api('put', `${path}/${id}`, { display_name: 'x' })).status).toBe(404);
      expect((await api('delete', `${path}/${id}`)).status).toBe(404);
    }
    expect(await own()).toEqual(['Mine']);
  });

  it('names the right endpoint when an account has labels instead of folders, or folders instead of labels', async () => {
    const other = unit === 'folder' ? '/labels' : '/folders';
    for (const [method, address] of [
      ['get', other],
      ['get', `${other}/${UNKNOWN}`],
      ['post', other],
      ['put', `${other}/${UNKNOWN}`],
      ['delete', `${other}/${UNKNOWN}`],
    ] as const) {
      const response = await api(method, address, { display_name: 'x' });
      expect([method, response.status, response.body.message]).toEqual([
        method,
        404,
        expect.stringContaining(`use ${path}`),
      ]);
    }
  });

  it('needs a scope that allows the change, and credentials that the provider accepts', async () => {
    const reader = await account({ scope: ['email.read_only'] as never });
    expect((await api('get', path, undefined, reader)).status).toBe(200);
    expect((await api('post', path, { display_name: 'x' }, reader)).status).toBe(403);
    const sorter = await account({ scope: ['email.folders_and_labels'] as never });
    expect((await api('post', path, { display_name: 'x' }, sorter)).status).toBe(200);
    await refuseCredentials(server, ada.id);
    expect((await api('post', path, { display_name: 'x' })).status).toBe(403);
  });

  describe('when the provider rejects a change', () => {
    it('removes a folder that could not be created', async () => {
      const { job_status_id: job, id } = await ok('post', path, {
        display_name: '[sandbox:rejected]',
      });
      expect(await outcome(job)).toMatchObject({
        status: 'failed',
        reason: '400 The mail server rejects this content',
      });
      expect((await api('get', `${path}/${id}`)).status).toBe(404);
    });

    it('restores the old name of a folder, unless a newer rename succeeds', async () => {
      const folder = await ok('post', path, { display_name: 'Good' });
      await done(folder);
      const first = await ok('put', `${path}/${folder.id}`, { display_name: '[sandbox:rejected]' });
      expect(await outcome(first.job_status_id)).toMatchObject({ status: 'failed' });
      expect(await own()).toEqual(['Good']);
      await done(await ok('put', `${path}/${folder.id}`, { display_name: 'Better' }));
      expect(await own()).toEqual(['Better']);
      expect(await ownAtProvider()).toEqual(['Better']);
    });

    it('shows a folder again that could not be deleted', async () => {
      const folder = await ok('post', path, { display_name: '[sandbox:delete-rejected]' });
      await done(folder);
      const removal = await ok('delete', `${path}/${folder.id}`);
      expect(await outcome(removal.job_status_id)).toMatchObject({ status: 'failed' });
      expect(await ok('get', `${path}/${folder.id}`)).toMatchObject({
        display_name: '[sandbox:delete-rejected]',
      });
    });
  });
});
