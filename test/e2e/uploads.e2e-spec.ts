import { once } from 'node:events';
import net from 'node:net';
import request from 'supertest';
import { rowsOf } from '../support/connect.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MB = 1024 * 1024;
const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';

interface FileView {
  id: string;
  filename: string;
  size: number;
}

/** Bytes that differ from position to position, and from file to file. */
function bytesOf(size: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let at = 0; at < size; at += 1) bytes[at] = (at * 31 + (at >> 8) * seed) & 255;
  return bytes;
}

/** A multipart form as it is sent. */
function formOf(
  parts: readonly (readonly [header: string, content: string])[],
  end = '--b--\r\n',
): string {
  return parts.map(([header, content]) => `--b\r\n${header}\r\n\r\n${content}\r\n`).join('') + end;
}
const filePart = (name: string, content = 'x') =>
  [
    `Content-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/plain`,
    content,
  ] as const;

describe('uploads', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let bo: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ UNUSED_UPLOADS_MB: '60' });
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    bo = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  const get = (path: string, by = ada) => request(server.url).get(path).set(by.bearer);
  const remove = (id: string, by = ada) =>
    request(server.url).delete(`/files/${id}`).set(by.bearer);
  const raw = (type: string, body: string | Buffer, by = ada) =>
    request(server.url).post('/files').set(by.bearer).set('Content-Type', type).send(body);
  const form = (body: string, by = ada) => raw('multipart/form-data; boundary=b', body, by);
  async function upload(bytes: Buffer, filename: string, by = ada): Promise<FileView> {
    const response = await request(server.url)
      .post('/files')
      .set(by.bearer)
      .attach('file', bytes, { filename, contentType: 'application/x-test' });
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body[0] as FileView;
  }
  const download = async (id: string, by = ada) => {
    const response = await fetch(`${server.url}/files/${id}/download`, { headers: by.bearer });
    return { response, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const stored = () =>
    rowsOf(
      server,
      `select (select count(*)::int from file where message_id is null and account_id = $1) as files,
         (select count(*)::int from file_data where account_id = $1) as data,
         (select count(*)::int from file_chunk c join file_data d on d.id = c.data_id where d.account_id = $1) as chunks`,
      [ada.id],
    );
  const changesOf = (id: string) =>
    rowsOf(server, `select object, event from change where object_id = $1 order by seq`, [id]);

  it('are stored in chunks, listed, read, downloaded and deleted', async () => {
    const bytes = bytesOf(MB + 17);
    const file = await upload(bytes, 'Grüße.bin');
    expect(file).toEqual({
      id: expect.any(String),
      object: 'file',
      account_id: ada.id,
      content_type: 'application/x-test',
      filename: 'Grüße.bin',
      size: bytes.length,
      message_ids: [],
    });
    expect((await get(`/files/${file.id}`)).body).toEqual(file);
    expect((await get('/files?filename=Grüße.bin')).body).toEqual([file]);
    expect((await get('/files?content_type=APPLICATION/x-test&view=ids')).body).toEqual([file.id]);
    expect(await stored()).toMatchObject([{ files: 1, data: 1, chunks: expect.any(Number) }]);
    const { response, bytes: got } = await download(file.id);
    expect([response.status, response.headers.get('content-length')]).toEqual([
      200,
      String(bytes.length),
    ]);
    expect(bytes.equals(got)).toBe(true);
    const head = await fetch(`${server.url}/files/${file.id}/download`, {
      method: 'HEAD',
      headers: ada.bearer,
    });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
    for (const path of [`/files/${file.id}`, `/files/${file.id}/download`])
      expect((await get(path, bo)).status).toBe(404);
    expect((await remove(file.id, bo)).status).toBe(404);
    const deleted = await remove(file.id.toUpperCase());
    expect([deleted.status, deleted.text, deleted.body]).toEqual([200, 'null', null]);
    expect((await remove(file.id)).status).toBe(404);
    expect((await get(`/files/${file.id}`)).status).toBe(404);
    expect(await stored()).toEqual([{ files: 0, data: 0, chunks: 0 }]);
    expect(await changesOf(file.id)).toEqual([
      { object: 'file', event: 'create' },
      { object: 'file', event: 'delete' },
    ]);
  });

  it('have the quotes and line ends in their names that browsers escape', async () => {
    const form = formOf([filePart('a %22b%22 100%25.txt'), filePart('Grüße%0D%0A.txt')]);
    const { body } = await raw('multipart/form-data; boundary=b', form).expect(200);
    const names = (body as FileView[]).map(({ filename }) => filename);
    expect(names[0]).toBe('a "b" 100%25.txt');
    expect(names[1]).not.toContain('%0D');
    for (const { id } of body as FileView[]) await remove(id);
  });

  it('may contain several files of any name, with fields between them', async () => {
    const { body, status } = await request(server.url)
      .post('/files')
      .set(bo.bearer)
      .field('note', 'ignored')
      .attach('first', bytesOf(3), {
        filename: '../a/one.txt',
        contentType: 'text/plain; charset=utf-8',
      })
      .attach('whatever', Buffer.alloc(0), { filename: 'empty.txt' })
      .attach('third', bytesOf(700_000, 3), {
        filename: 'three.bin',
        contentType: 'application/octet-stream',
      });
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { filename: 'one.txt', size: 3, content_type: 'text/plain' },
      { filename: 'empty.txt', size: 0 },
      { filename: 'three.bin', size: 700_000 },
    ]);
    const [one, empty, three] = body as FileView[];
    expect((await download(one?.id ?? '', bo)).bytes.equals(bytesOf(3))).toBe(true);
    expect((await download(empty?.id ?? '', bo)).bytes).toHaveLength(0);
    expect((await download(three?.id ?? '', bo)).bytes.equals(bytesOf(700_000, 3))).toBe(true);
    expect((await get('/files?view=count', bo)).body).toEqual({ count: 3 });
  });

  it('of 25 MB are accepted, and larger ones are refused and leave nothing behind', async () => {
    const most = bytesOf(25 * MB);
    const file = await upload(most, 'most.bin');
    expect((await download(file.id)).bytes.equals(most)).toBe(true);
    expect((await remove(file.id)).status).toBe(200);
    const response = await request(server.url)
      .post('/files')
      .set(ada.bearer)
      .attach('file', bytesOf(10), { filename: 'small.bin' })
      .attach('file', Buffer.concat([most, Buffer.alloc(1)]), { filename: 'large.bin' })
      .attach('file', bytesOf(10), { filename: 'after.bin' });
    expect([response.status, response.body.message]).toEqual([
      413,
      'large.bin: a file must not be larger than 25 MB',
    ]);
    expect(await stored()).toEqual([{ files: 0, data: 0, chunks: 0 }]);
  });

  it('that are not a form, or are a broken one, are refused and leave nothing behind', async () => {
    for (const [type, body] of [
      ['application/json', '{}'],
      ['text/plain', ''],
      ['multipart/form-data', formOf([filePart('a.txt')])],
      ['multipart/mixed; boundary=b', formOf([filePart('a.txt')])],
      ['multipart/form-data; boundary=b', ''],
      ['multipart/form-data; boundary=b', 'garbage'],
      ['multipart/form-data; boundary=c', formOf([filePart('a.txt')])],
      ['multipart/form-data; boundary=b', formOf([])],
      [
        'multipart/form-data; boundary=b',
        formOf([['Content-Disposition: form-data; name="file"', 'x']]),
      ],
      ['multipart/form-data; boundary=b', formOf([filePart('a.txt'), filePart('b.txt')], '')],
      ['multipart/form-data; boundary=b', formOf([filePart('a.txt')]).slice(0, 40)],
      [
        'multipart/form-data; boundary=b',
        formOf([filePart('a.txt', 'y'.repeat(MB))], '').slice(0, -7),
      ],
      ['multipart/form-data; boundary=b', formOf([filePart('n'.repeat(256))])],
      [
        'multipart/form-data; boundary=b',
        formOf(Array.from({ length: 21 }, () => filePart('a.txt'))),
      ],
    ] as const) {
      const response = await raw(type, body);
      expect([type, body.slice(0, 99), response.status, response.body.message]).toEqual([
        type,
        body.slice(0, 99),
        400,
        expect.any(String),
      ]);
    }
    const fields = Array.from(
      { length: 101 },
      () => ['Content-Disposition: form-data; name="a"', 'x'] as const,
    );
    expect((await form(formOf(fields))).body.message).toBe('There must not be more than 100 parts');
    const coded = await raw('multipart/form-data; boundary=b', formOf([filePart('a.txt')])).set(
      'Content-Encoding',
      'gzip',
    );
    expect([coded.status, coded.body.message]).toEqual([
      400,
      'The encoding of the request body is not supported',
    ]);
    expect(await stored()).toEqual([{ files: 0, data: 0, chunks: 0 }]);
    const odd = await form(formOf([filePart('a\0b.txt', 'z')]));
    expect([odd.status, odd.body[0]?.filename]).toEqual([200, 'ab.txt']);
    expect((await remove(odd.body[0].id)).status).toBe(200);
  });

  it('are discarded if the client disconnects', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = net.connect(Number(port), hostname);
    await once(socket, 'connect');
    const [authorization] = Object.values(ada.bearer);
    socket.write(
      `POST /files HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: ${20 * MB}\r\n` +
        'Content-Type: multipart/form-data; boundary=b\r\n\r\n',
    );
    socket.write(formOf([filePart('done.txt')], ''));
    socket.write(`--b\r\n${filePart('half.bin')[0]}\r\n\r\n`);
    socket.write(bytesOf(2 * MB));
    await until('chunks', async () => Number((await stored())[0]?.['chunks']) > 4);
    expect((await get('/files?view=count&filename=done.txt')).body).toEqual({ count: 0 });
    socket.destroy();
    await until(
      'everything to be deleted',
      async () => Number((await stored())[0]?.['data']) === 0,
    );
    expect(await stored()).toEqual([{ files: 0, data: 0, chunks: 0 }]);
  });

  it('abort a download when they are deleted during it', async () => {
    const file = await upload(bytesOf(20 * MB), 'long.bin');
    const response = await fetch(`${server.url}/files/${file.id}/download`, {
      headers: ada.bearer,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    // Buffers hold part of the file. The server reads the rest only as fast as the client does.
    expect((await remove(file.id)).status).toBe(200);
    await expect(
      (async () => {
        for (;;) if ((await reader?.read())?.done !== false) return;
      })(),
    ).rejects.toThrow();
  });

  it('cannot be deleted while an unsent outbox message names them', async () => {
    const file = await upload(bytesOf(9), 'later.bin');
    const later = Math.round(Date.now() / 1000) + 3_600;
    const outbox = (method: 'post' | 'patch' | 'delete', id = '', body: object = {}) =>
      request(server.url)[method](`/v2/outbox${id}`).set(ada.bearer).send(body);
    const first = await outbox('post', '', {
      to: [{ email: 'bo@example.test' }],
      send_at: later,
      file_ids: [file.id.toUpperCase()],
    });
    expect(first.status).toBe(202);
    const path = `/${first.body.job_status_id}`;
    const refused = await remove(file.id);
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "Can't delete file that is attachment.",
    ]);
    // The edit builds the message again, with its file.
    const edited = await outbox('patch', path, { subject: 'Again', send_at: later });
    expect([edited.status, edited.body.message]).toEqual([200, undefined]);
    expect((await remove(file.id)).status).toBe(400);
    expect((await outbox('delete', path)).status).toBe(200);
    expect((await remove(file.id)).status).toBe(200);
    const gone = await outbox('post', '', {
      to: [{ email: 'bo@example.test' }],
      file_ids: [file.id],
    });
    expect(gone.status).toBe(400);
  });

  it('that no draft or message uses are limited per account', async () => {
    const by = await createAccount(server.app, application);
    const file = await upload(bytesOf(9), 'a.bin', by);
    const sized = (size: number) =>
      rowsOf(server, 'update file set size = $2 where id = $1', [file.id, size]);
    await sized(59 * MB);
    expect((await form(formOf([filePart('b', 'y'.repeat(MB))]), by)).status).toBe(200);
    const refused = await form(formOf([filePart('c')]), by);
    expect([refused.status, refused.body.message]).toEqual([
      413,
      expect.stringContaining('60 MB of uploads'),
    ]);
    await sized(9);
    await request(server.url)
      .post('/drafts')
      .set(by.bearer)
      .send({ file_ids: [file.id] })
      .expect(200);
    await sized(59 * MB);
    expect((await form(formOf([filePart('c')]), by)).status).toBe(200);
  });

  it('may arrive simultaneously', async () => {
    const by = await createAccount(server.app, application);
    const sent = [bytesOf(3 * MB, 5), bytesOf(3 * MB, 7)];
    const files = await Promise.all(sent.map((bytes) => upload(bytes, 'side.bin', by)));
    for (const [at, { id }] of files.entries())
      expect((await download(id, by)).bytes.equals(sent[at] ?? Buffer.alloc(0))).toBe(true);
  });

  it('need a scope that allows writing', async () => {
    const reader = await createAccount(server.app, application, { scope: ['email.read_only'] });
    expect((await form(formOf([filePart('a.txt')]), reader)).status).toBe(403);
    const sender = await createAccount(server.app, application, { scope: ['email.send'] });
    expect((await form(formOf([filePart('a.txt')]), sender)).status).toBe(200);
    expect((await remove(UNKNOWN)).status).toBe(404);
    expect((await remove('none')).status).toBe(404);
  });

  it('are not attachments of received messages, which cannot be deleted', async () => {
    await deliver(server, ada, [
      'Subject: With a file',
      'Content-Type: text/plain; name="a.txt"',
      'Content-Disposition: attachment; filename="a.txt"',
      '',
      'Good day.',
    ]);
    const [file] = await until('the file', async () => {
      const { body } = await get('/files?filename=a.txt');
      return body.length > 0 && (body as FileView[]);
    });
    const refused = await remove(file?.id ?? '');
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "Can't delete file that is attachment.",
    ]);
  });
});
