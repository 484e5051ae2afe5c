import { once } from 'node:events';
import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import request from 'supertest';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const BYTES = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7) % 256));

const part = (header: string, content: Buffer) =>
  `--b\r\n${header}\r\nContent-Transfer-Encoding: base64\r\n\r\n${content.toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n`;

describe('/files', () => {
  let server: TestApp;
  let ada: TestAccount;
  let files: { id: string; filename: string; message_ids: string[] }[];

  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    await deliver(server, ada, [
      'Subject: Two attachments',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n' +
        part(
          `Content-Type: text/plain\r\nContent-Disposition: attachment; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt`,
          Buffer.from('Hi'),
        ) +
        part(
          'Content-Type: application/x-data\r\nContent-Disposition: attachment; filename="data.bin"',
          BYTES,
        ) +
        '--b--\r\n',
    ]);
    files = await until('the files', async () => {
      const { body } = await get('/files');
      return body.length === 2 && body;
    });
  });
  afterAll(() => server.close());
  afterEach(() => jest.restoreAllMocks());

  const get = (path: string, by = ada) => request(server.url).get(path).set(by.bearer);
  const idOf = (filename: string) => files.find((file) => file.filename === filename)?.id ?? '';

  it('lists, counts and filters attachments, and returns each by its id', async () => {
    const [message] = (await get('/messages')).body;
    expect(files[1]).toEqual({
      id: expect.any(String),
      object: 'file',
      account_id: ada.id,
      content_type: 'application/x-data',
      filename: 'data.bin',
      size: 3000,
      message_ids: [message.id],
      content_disposition: 'attachment',
    });
    expect((await get(`/files/${idOf('data.bin')}`)).body).toEqual(files[1]);
    expect((await get('/files?view=count')).body).toEqual({ count: 2 });
    expect((await get('/files?view=expanded')).body).toEqual((await get('/files')).body);
    expect((await get('/files?filename=data.bin&view=ids')).body).toEqual([idOf('data.bin')]);
    expect((await get('/files?content_type=TEXT/plain&view=ids')).body).toEqual([
      idOf('Grüße.txt'),
    ]);
    expect((await get(`/files?message_id=${message.id}&view=count`)).body).toEqual({ count: 2 });
    expect((await get('/files?message_id=none&view=count')).body).toEqual({ count: 0 });
  });

  it('returns the bytes unchanged, with the name of the file', async () => {
    const data = await get(`/files/${idOf('data.bin')}/download`)
      .buffer()
      .parse((response, done) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => done(null, Buffer.concat(chunks)));
      });
    expect(data.status).toBe(200);
    expect(data.headers['content-type']).toBe('application/x-data');
    expect(data.headers['content-disposition']).toBe('attachment; filename="data.bin"');
    expect(BYTES.equals(data.body)).toBe(true);
    const text = await get(`/files/${idOf('Grüße.txt')}/download`);
    expect(text.text).toBe('Hi');
    expect(text.headers['content-disposition']).toContain(`filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt`);
  });

  /** Replaces the provider's stream with the test's own. */
  function openWith(stream: Readable | ProviderError) {
    const mail = server.app.get(ConnectorRegistry).requireMail('sandbox');
    jest
      .spyOn(mail, 'openFile')
      .mockImplementationOnce(() =>
        stream instanceof Readable ? Promise.resolve(stream) : Promise.reject(stream),
      );
  }
  const download = (signal?: AbortSignal) =>
    fetch(`${server.url}/files/${idOf('data.bin')}/download`, {
      headers: ada.bearer,
      ...(signal ? { signal } : {}),
    });

  it('answers 503 or 404 when the provider cannot return the file', async () => {
    const path = `/files/${idOf('data.bin')}/download`;
    openWith(new ProviderError('temporary', 'NO try again later'));
    expect((await get(path)).status).toBe(503);
    openWith(new ProviderError('not-found', 'NO such message'));
    expect((await get(path)).status).toBe(404);
  });

  it("aborts the response when the provider's stream breaks, so that no client takes the part for the whole file", async () => {
    let reads = 0;
    openWith(
      new Readable({
        read() {
          reads += 1;
          if (reads === 1) this.push(Buffer.alloc(1000));
          else this.destroy(new Error('connection reset'));
        },
      }),
    );
    // Depending on when the stream breaks, either the request or the reading of its body fails.
    await expect(download().then((response) => response.arrayBuffer())).rejects.toThrow(
      /terminated|fetch failed/,
    );
  });

  it("closes the provider's stream when the client disconnects, and reads no faster than the client", async () => {
    let read = 0;
    const stream = new Readable({
      read() {
        read += 65_536;
        this.push(Buffer.alloc(65_536));
      },
    });
    openWith(stream);
    const leaving = new AbortController();
    const response = await download(leaving.signal);
    const closed = once(stream, 'close');
    await response.body?.getReader().read();
    leaving.abort();
    await closed;
    expect(read).toBeLessThan(100 * 1024 * 1024);
  });
});
