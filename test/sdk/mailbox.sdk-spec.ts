import Nylas from 'nylas';
import draftModule from 'nylas/lib/models/draft.js';
import fileModule from 'nylas/lib/models/file.js';
import folderModule from 'nylas/lib/models/folder.js';
import messageModule from 'nylas/lib/models/message.js';
import { deliver } from '../support/deliver.ts';
import { rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { default: Draft } = draftModule;
const { default: File } = fileModule;
const { default: Message } = messageModule;
const { default: Folder, Label } = folderModule;

/** Runs the mailbox calls of the unchanged official client. */
describe('nylas@6.11.1, mailboxes', () => {
  let server: TestApp;
  let ada: TestAccount;
  let lea: TestAccount;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    lea = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label', sample_messages: false },
    });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    for (const account of [ada, lea])
      await deliver(server, account, [
        'Subject: Hello',
        'Content-Type: text/plain; name="a.txt"',
        'Content-Disposition: attachment; filename="a.txt"',
        '',
        'Good day.',
      ]);
  });
  afterAll(() => server.close());

  const first = (client: ReturnType<typeof Nylas.with>) =>
    until('the message', async () => (await client.messages.list({ in: 'inbox' }))[0]);

  it('saves flags and folders of messages', async () => {
    const client = Nylas.with(ada.token);
    const message = await first(client);
    const folder = new Folder(client, { displayName: 'Filed' });
    await folder.save();
    expect(folder.id).toBeTruthy();
    folder.displayName = 'Filed away';
    await folder.save();
    message.unread = false;
    message.folder = folder;
    await message.save();
    const saved = await client.messages.find(message.id ?? '');
    expect(saved).toMatchObject({ unread: false, starred: false });
    expect(saved.folder?.displayName).toBe('Filed away');
    saved.starred = true;
    await saved.save();
    expect((await client.messages.find(message.id ?? '')).folder?.displayName).toBe('Filed away');
    const empty = new Folder(client, { displayName: 'Empty' });
    await empty.save();
    await client.folders.delete(empty.id ?? '');
    expect((await client.folders.list()).map(({ displayName }) => displayName)).not.toContain(
      'Empty',
    );
  });

  it('reads the response to a move with a token that may move messages but not read them', async () => {
    const account = await createAccount(server.app, application, { mirrored: true });
    await deliver(server, account, ['Subject: Hello', '', 'Good day.']);
    const client = Nylas.with(account.token);
    const message = await first(client);
    const folder = new Folder(client, { displayName: 'Filed' });
    await folder.save();
    await rowsOf(server, `update "grant" set scope = '{email.folders_and_labels}' where id = $1`, [
      account.id,
    ]);
    const moved = new Message(client, { to: [], folder });
    moved.id = message.id;
    await moved.save();
    expect(moved).toMatchObject({
      id: message.id,
      accountId: account.id,
      threadId: message.threadId,
    });
    expect(moved.folder?.id).toBe(folder.id);
    expect(moved.subject).toBeUndefined();
  });

  it('saves labels of messages', async () => {
    const client = Nylas.with(lea.token);
    const message = await first(client);
    const label = new Label(client, { displayName: 'Mine' });
    await label.save();
    message.labels = [...(message.labels ?? []), label];
    await message.save();
    const names = (await client.messages.find(message.id ?? '')).labels?.map(
      ({ displayName }) => displayName,
    );
    expect(names).toContain('Mine');
    await client.labels.delete(label.id ?? '');
    expect((await client.labels.list()).map(({ displayName }) => displayName)).not.toContain(
      'Mine',
    );
  });

  it('saves and deletes drafts', async () => {
    const client = Nylas.with(ada.token);
    const draft = new Draft(client, {
      subject: 'Draft',
      to: [{ email: 'bo@example.test', name: 'Bo' }],
    });
    await draft.save();
    expect(draft.version).toBe(0);
    draft.subject = 'Better';
    await draft.save();
    expect(draft.version).toBe(1);
    const [found] = await client.drafts.list();
    expect(found).toMatchObject({ id: draft.id, subject: 'Better' });
    await client.drafts.delete(draft.id ?? '', { version: draft.version });
    expect(await client.drafts.list()).toEqual([]);
  });

  it('uploads, lists, downloads and deletes files, and saves drafts with them', async () => {
    const client = Nylas.with(ada.token);
    const data = Buffer.from('Some content of our own.');
    const file = new File(client, {
      filename: 'own.txt',
      data,
      contentType: 'text/plain',
      size: data.length,
    });
    await file.upload();
    expect(file).toMatchObject({ id: expect.any(String), filename: 'own.txt', size: data.length });
    expect(await client.files.list({ filename: 'own.txt' })).toMatchObject([{ id: file.id }]);
    expect((await client.files.find(file.id ?? '')).messageIds).toEqual([]);
    const draft = new Draft(client, { subject: 'With a file', to: [], files: [file] });
    await draft.save();
    expect(draft.files).toMatchObject([{ id: file.id, filename: 'own.txt' }]);
    draft.subject = 'Still with a file';
    await draft.save();
    const found = await client.drafts.find(draft.id ?? '');
    expect(found.files).toMatchObject([{ id: file.id, size: data.length }]);
    await expect(client.files.delete(file.id ?? '')).rejects.toThrow('attachment');
    found.files = [];
    await found.save();
    expect((await client.drafts.find(draft.id ?? '')).files).toEqual([]);
    const bytes = (await file.download()) as { body: Buffer };
    expect(String(bytes.body)).toBe(String(data));
    await client.files.delete(file.id ?? '');
    await expect(client.files.find(file.id ?? '')).rejects.toThrow('find file');
  });

  it('downloads files', async () => {
    const client = Nylas.with(ada.token);
    const [file] = await client.files.list({ filename: 'a.txt' });
    expect(file?.size).toBeGreaterThan(0);
    const bytes = (await file?.download()) as { body?: Buffer } | Buffer | undefined;
    const body = Buffer.isBuffer(bytes) ? bytes : bytes?.body;
    expect(String(body)).toContain('Good day.');
  });
});
