import request from 'supertest';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { rowsOf } from '../support/connect.ts';
import { mimeOf, Replica } from '../support/contract-tools.ts';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';
const MB = 1024 * 1024;

interface File {
  id: string;
  filename: string;
  size: number;
  content_disposition?: string;
}
interface Draft {
  id: string;
  version: number;
  job_status_id: string;
  files: File[];
}

describe('drafts with files', () => {
  let server: TestApp;
  let ada: TestAccount;
  let bo: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    bo = await createAccount(server.app, application);
    await until('the folders', async () => (await api('get', '/folders?view=ids')).body.length > 0);
  });
  afterAll(() => server.close());

  const api = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) =>
    request(server.url)[method](path).set(ada.bearer).send(body);
  const ok = async <T = Draft>(...parameters: Parameters<typeof api>): Promise<T> => {
    const response = await api(...parameters);
    expect([response.status, response.body?.message]).toEqual([200, undefined]);
    return response.body;
  };
  async function upload(content: Buffer | string, filename: string, by = ada): Promise<File> {
    const { body } = await request(server.url)
      .post('/files')
      .set(by.bearer)
      .attach('file', Buffer.from(content), { filename, contentType: 'text/plain' })
      .expect(200);
    return body[0] as File;
  }
  const outcome = (id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await ok<{ status: string; reason?: string }>('get', `/job-statuses/${id}`);
      return job.status === 'pending' ? false : job;
    });
  const done = async ({ job_status_id: id }: Pick<Draft, 'job_status_id'>) =>
    expect(await outcome(id)).toMatchObject({ status: 'successful' });
  const mailbox = () => server.app.get(ConnectorRegistry).requireMailbox('sandbox');
  async function connected() {
    const account = await server.app.get(ProviderAccounts).find(ada.id);
    if (!account) throw new Error('no such account');
    return account;
  }
  async function atProvider(subject: string): Promise<string[]> {
    const replica = new Replica(
      server.app.get(ConnectorRegistry).requireMail('sandbox'),
      await connected(),
    );
    await replica.follow();
    const drafts = replica.inFolder('drafts').map((draft) => String(mimeOf(draft)));
    return drafts.filter((mime) => mime.includes(`Subject: ${subject}\r\n`));
  }
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const textOf = async (id: string) => (await api('get', `/files/${id}/download`).buffer()).text;
  const filesOf = (draft: Draft) => draft.files.map(({ filename }) => filename);
  /** Waits until a sync pass has read the mailbox once more. */
  async function syncPass(subject: string) {
    await deliver(server, ada, [`Subject: ${subject}`, '', 'x']);
    await until('a sync pass', async () => {
      const { body } = await api('get', `/messages?subject=${subject}`);
      return body.length === 1;
    });
  }

  it('are written to the provider with their uploads, which are kept until they are replaced', async () => {
    const [one, two] = [
      await upload('first file', 'one.txt'),
      await upload('second file', 'two.txt'),
    ];
    const draft = await ok('post', '/drafts', {
      subject: 'D1',
      body: '<p>x</p>',
      file_ids: [one.id, two.id, one.id],
    });
    expect(draft.files).toEqual([
      {
        id: one.id,
        filename: 'one.txt',
        content_type: 'text/plain',
        content_disposition: 'attachment',
        size: 10,
      },
      {
        id: two.id,
        filename: 'two.txt',
        content_type: 'text/plain',
        content_disposition: 'attachment',
        size: 11,
      },
    ]);
    const other = await ok('post', '/drafts', { subject: 'D2', file_ids: [one.id] });
    await done(draft);
    await done(other);
    const [mime = ''] = await atProvider('D1');
    expect(mime).toContain(encoded('first file'));
    expect(mime).toContain(encoded('second file'));
    await syncPass('L1');
    // The sync pass reads our own draft back and must not store it twice.
    expect(await ok<Draft[]>('get', '/drafts?subject=D1')).toMatchObject([
      { id: draft.id, files: draft.files },
    ]);
    const named = async (path: string) => (await ok<Draft[]>('get', path)).map(({ id }) => id);
    expect((await named('/drafts?filename=one.txt')).toSorted()).toEqual(
      [draft.id, other.id].toSorted(),
    );
    expect(await named('/drafts?filename=two.txt')).toEqual([draft.id]);
    expect(await named('/messages?in=drafts&filename=two.txt')).toEqual([draft.id]);
    expect(await named('/messages?filename=two.txt')).toEqual([]);
    expect(await ok<object>('get', '/files?view=count')).toEqual({ count: 2 });
    expect(await ok<File>('get', `/files/${one.id}`)).toMatchObject({
      message_ids: [draft.id, other.id].toSorted(),
    });
    expect(await ok<string[]>('get', `/files?message_id=${draft.id}&view=ids`)).toEqual([
      one.id,
      two.id,
    ]);
    const refused = await api('delete', `/files/${one.id}`);
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "Can't delete file that is attachment.",
    ]);

    const kept = await ok('put', `/drafts/${draft.id}`, { version: 0, body: '<p>y</p>' });
    expect(filesOf(kept)).toEqual(['one.txt', 'two.txt']);
    const replaced = await ok('put', `/drafts/${draft.id}`, { version: 1, file_ids: [two.id] });
    expect(filesOf(replaced)).toEqual(['two.txt']);
    await done(replaced);
    const [second = ''] = await atProvider('D1');
    expect([
      second.includes(encoded('first file')),
      second.includes(encoded('second file')),
    ]).toEqual([false, true]);
    const none = await ok('put', `/drafts/${draft.id}`, { version: 2, file_ids: [] });
    expect(none.files).toEqual([]);
    await done(none);
    expect((await atProvider('D1'))[0]).not.toContain('two.txt');
    expect((await api('delete', `/files/${two.id}`)).status).toBe(200);
    await done(await ok('delete', `/drafts/${other.id}`, { version: 0 }));
    expect((await api('delete', `/files/${one.id}`)).status).toBe(200);
    const left = await rowsOf(server, 'select 1 from file_data where account_id = $1', [ada.id]);
    expect(left).toEqual([]);
  });

  it('keep their files when a client sends back what it has read', async () => {
    const [a, b] = [await upload('A', 'a.txt'), await upload('B', 'b.txt')];
    const empty = await ok('post', '/drafts', { subject: 'Saved twice' });
    expect(empty).not.toHaveProperty('file_ids');
    const draft = await ok('put', `/drafts/${empty.id}`, { version: 0, file_ids: [b.id, a.id] });
    expect(draft).toMatchObject({ file_ids: [b.id, a.id] });
    const saved = await ok('put', `/drafts/${draft.id}`, { ...draft, subject: 'Saved again' });
    expect([filesOf(saved), saved]).toMatchObject([
      ['b.txt', 'a.txt'],
      { version: 2, file_ids: [b.id, a.id] },
    ]);
    await done(saved);
    const [read] = await ok<Draft[]>('get', '/drafts?subject=Saved again');
    expect(read).toMatchObject({ file_ids: [b.id, a.id] });
    const without = await ok('put', `/drafts/${draft.id}`, { ...read, file_ids: [] });
    expect([filesOf(without), 'file_ids' in without]).toEqual([[], false]);
  });

  it('show uploads inline if their text refers to them', async () => {
    const image = await upload('an image', 'image.png');
    const body = `<p><img src="cid:${image.id}"></p>`;
    const draft = await ok('post', '/drafts', { subject: 'Inline', body, file_ids: [image.id] });
    expect(draft.files).toMatchObject([{ content_id: image.id, content_disposition: 'inline' }]);
    await done(draft);
    expect((await atProvider('Inline'))[0]).toContain(`Content-ID: <${image.id}>`);
  });

  it('are refused with unknown files or too many bytes', async () => {
    const foreign = await upload('x', 'x.txt', bo);
    for (const id of [UNKNOWN, 'none', foreign.id, '\0']) {
      const response = await api('post', '/drafts', { file_ids: [id] });
      expect([response.status, response.body.message]).toEqual([
        400,
        expect.stringContaining('file_ids'),
      ]);
    }
    const large = [await upload(Buffer.alloc(2 * MB), 'a.bin'), await upload('x', 'b.bin')];
    const ids = large.map(({ id }) => id);
    const draft = await ok('post', '/drafts', { subject: 'Large', file_ids: ids.slice(0, 1) });
    await rowsOf(server, `update file set size = $2 where id = $1`, [ids[1], 25 * MB]);
    for (const response of [
      await api('post', '/drafts', { file_ids: ids }),
      await api('put', `/drafts/${draft.id}`, { version: 0, file_ids: ids }),
    ])
      expect([response.status, response.body.message]).toEqual([
        413,
        'file_ids: the attachments of a message must not be larger than 25 MB together',
      ]);
    await done(draft);
    expect((await atProvider('Large'))[0]?.length).toBeGreaterThan(2.6 * MB);
    expect((await api('delete', `/drafts/${draft.id}`, { version: 0 })).status).toBe(200);
  });

  it('of other mail programs keep their files when they are changed, until the files are removed', async () => {
    const part = (name: string, text: string) =>
      `--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="${name}"\r\n\r\n${text}\r\n`;
    const mime = Buffer.from(
      'From: a@example.test\r\nMessage-ID: <elsewhere@x.test>\r\nSubject: Elsewhere\r\nMIME-Version: 1.0\r\n' +
        'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHi\r\n' +
        `${part('theirs.txt', 'their first')}${part('more.txt', 'their second')}--b--\r\n`,
    );
    await mailbox().saveDraft(
      await connected(),
      { mime, messageIdHeader: '<elsewhere@x.test>' },
      null,
    );
    const [draft] = await until('the draft', async () => {
      const found = await ok<Draft[]>('get', '/drafts?subject=Elsewhere');
      return found.length > 0 && found;
    });
    const [theirs, more] = draft?.files ?? [];
    const own = await upload('our own', 'ours.txt');
    const file_ids = [own.id, more?.id, theirs?.id];
    const changed = await ok('put', `/drafts/${draft?.id}`, {
      version: 0,
      subject: 'Mixed',
      file_ids,
    });
    expect(changed.files.map(({ id }) => id)).toEqual(file_ids);
    await done(changed);
    const [stored = ''] = await atProvider('Mixed');
    for (const text of ['our own', 'their first', 'their second'])
      expect(stored).toContain(encoded(text));
    expect(await atProvider('Elsewhere')).toEqual([]);
    await syncPass('L2');
    expect(await ok<Draft[]>('get', '/drafts?subject=Mixed')).toMatchObject([
      { id: draft?.id, files: changed.files },
    ]);
    expect(await textOf(theirs?.id ?? '')).toBe('their first');
    const again = await ok('put', `/drafts/${draft?.id}`, { version: 1, body: '<p>Again</p>' });
    await done(again);
    expect((await atProvider('Mixed'))[0]).toContain(encoded('their second'));
    const fewer = await ok('put', `/drafts/${draft?.id}`, { version: 2, file_ids: [theirs?.id] });
    expect(fewer.files.map(({ id }) => id)).toEqual([theirs?.id]);
    await done(fewer);
    expect((await atProvider('Mixed'))[0]).not.toContain(encoded('their second'));
    expect((await api('get', `/files/${more?.id}`)).status).toBe(404);
    expect(
      await rowsOf(
        server,
        `select event from change where object_id = $1 and object = 'file' and event = 'delete'`,
        [more?.id],
      ),
    ).toHaveLength(1);
  });

  it('keep an attachment when its message is deleted', async () => {
    await deliver(server, ada, [
      'Subject: Source',
      'Content-Type: text/plain; name="source.txt"',
      'Content-Disposition: attachment; filename="source.txt"',
      '',
      'Good day.',
    ]);
    const [file] = await until('the file', async () => {
      const found = await ok<File[]>('get', '/files?filename=source.txt');
      return found.length > 0 && found;
    });
    const id = file?.id ?? '';
    const draft = await ok('post', '/drafts', { subject: 'Forward', file_ids: [id] });
    await done(draft);
    expect((await atProvider('Forward'))[0]).toContain('source.txt');
    await rowsOf(server, `delete from message where account_id = $1 and subject = 'Source'`, [
      ada.id,
    ]);
    expect(await textOf(id)).toContain('Good day.');
    const changed = await ok('put', `/drafts/${draft.id}`, { version: 0, subject: 'Forward 2' });
    expect(changed.files.map((one) => one.id)).toEqual([id]);
    await done(changed);
    expect((await atProvider('Forward 2'))[0]).toContain(encoded('Good day.').slice(0, -2));
  });
});
