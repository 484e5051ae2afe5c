import fs from 'node:fs';
import https, { type Server } from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { once } from 'node:events';
import request from 'supertest';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { SERVER_LIMITS } from '../../src/platform/http/listeners/server-limits.ts';
import { renewCertificate, tlsOptions } from '../../src/platform/http/listeners/tls.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import {
  OTHER_CERTIFICATE,
  OTHER_KEY,
  TEST_CERTIFICATE,
  TEST_KEY,
} from '../support/tls-certificate.ts';
import { until } from '../support/until.ts';

interface Files {
  certFile: string;
  keyFile: string;
}

function write({ certFile, keyFile }: Files, cert: string, key: string): void {
  fs.writeFileSync(certFile, cert);
  fs.writeFileSync(keyFile, key);
}

describe('a server with TLS_CERT_FILE and TLS_KEY_FILE', () => {
  let folder: string;
  let files: Files;
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let port: number;

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-https-'));
    files = { certFile: path.join(folder, 'cert.pem'), keyFile: path.join(folder, 'key.pem') };
    write(files, TEST_CERTIFICATE, TEST_KEY);
    server = await startTestApp({
      TLS_CERT_FILE: files.certFile,
      TLS_KEY_FILE: files.keyFile,
      OPERATOR_PORT: '0',
    });
    port = Number(new URL(server.url).port);
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });
  afterAll(async () => {
    await server.close();
    fs.rmSync(folder, { recursive: true });
  });

  const client = () => request.agent(`https://localhost:${port}`, { ca: TEST_CERTIFICATE });
  const connect = async (options: tls.ConnectionOptions = {}) => {
    const socket = tls.connect({ port, servername: 'localhost', ca: TEST_CERTIFICATE, ...options });
    await once(socket, 'secureConnect');
    return socket;
  };

  it('serves the API, its errors and its health checks by https', async () => {
    const { body } = await client().get('/account').set(ada.bearer).expect(200);
    expect(body).toMatchObject({ id: ada.id });
    const sent = await client()
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [{ email: 'bo@example.test' }], body: 'x'.repeat(200_000) });
    expect(sent.status).toBe(202);
    await client().get('/nothing-here').expect(404);
    await client().get('/health/ready').expect(200);
  });

  it('serves operators by https too', async () => {
    const address = `https://localhost:${new URL(server.operatorUrl).port}`;
    const { body } = await request(address).get('/health/live').ca(TEST_CERTIFICATE).expect(200);
    expect(body).toEqual({ status: 'alive' });
  });

  it('makes https links, and cookies that browsers send by https only', async () => {
    await client()
      .post('/connect/integrations')
      .set(application.basic)
      .send({
        name: 'Sandbox',
        provider: 'sandbox',
        settings: {},
        redirect_uris: ['https://app.example.test/'],
      })
      .expect(200);
    const { body } = await client()
      .post('/connect/auth')
      .set(application.basic)
      .send({ provider: 'sandbox', redirect_uri: 'https://app.example.test/' })
      .expect(200);
    const link = new URL((body as { data: { url: string } }).data.url);
    expect(link.protocol).toBe('https:');
    const page = await client().get(`${link.pathname}${link.search}`).expect(200);
    expect(String(page.headers['set-cookie'])).toMatch(/; Secure/);
  });

  it('answers pipelined requests one after the other', async () => {
    const socket = await connect();
    const ask = (close = '') => `GET /health/live HTTP/1.1\r\nHost: localhost\r\n${close}\r\n`;
    socket.write(`${ask()}${ask()}${ask('Connection: close\r\n')}`);
    expect((await text(socket)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  });

  it('answers malformed requests with JSON', async () => {
    const socket = await connect();
    socket.write('no request at all\r\n\r\n');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json\r\n/);
    expect(answer).toContain('This is not an HTTP request');
    await client()
      .get(`/account?x=${'x'.repeat(20_000)}`)
      .expect(431);
  });

  it('closes connections of clients that do not speak TLS, or only an old version, and goes on', async () => {
    const plain = net.connect(port, '127.0.0.1');
    plain.on('error', () => undefined);
    plain.write('GET /account HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(plain, 'close');
    const old = {
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    } as const;
    await expect(connect(old)).rejects.toThrow(/protocol version/);
    await client().get('/health/live').expect(200);
  });

  it('has the same limits for connections as a server without TLS', () => {
    const limited = server.app.getHttpServer() as Server;
    expect(limited).toMatchObject(SERVER_LIMITS);
  });

  it('does not start with files that do not fit together', async () => {
    const wrong = { certFile: files.certFile, keyFile: path.join(folder, 'other-key.pem') };
    fs.writeFileSync(wrong.keyFile, OTHER_KEY);
    const config = loadConfig({
      DATABASE_URL: server.database.url,
      ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
      TLS_CERT_FILE: wrong.certFile,
      TLS_KEY_FILE: wrong.keyFile,
    });
    await expect(createApp(config)).rejects.toThrow(
      'TLS_KEY_FILE: the key does not belong to the first certificate of TLS_CERT_FILE',
    );
  });
});

describe('renewCertificate', () => {
  let folder: string;
  let files: Files;
  let server: https.Server;

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-renew-'));
    files = { certFile: path.join(folder, 'cert.pem'), keyFile: path.join(folder, 'key.pem') };
    write(files, TEST_CERTIFICATE, TEST_KEY);
    server = https.createServer(tlsOptions(files), (_request, response) => response.end('yes'));
    renewCertificate(server, files, 10);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
    fs.unwatchFile(files.certFile);
    fs.rmSync(folder, { recursive: true });
  });

  async function served(): Promise<string> {
    const { port } = server.address() as net.AddressInfo;
    const socket = tls.connect({ port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return String(CN);
  }

  it('serves new files without a restart, and keeps the old certificate while they do not fit', async () => {
    const before = await served();
    fs.writeFileSync(files.certFile, 'half a file');
    await new Promise((done) => fs.watchFile(files.certFile, { interval: 10 }, done));
    expect(await served()).toBe(before);
    write(files, OTHER_CERTIFICATE, OTHER_KEY);
    await until('the new certificate', async () => (await served()) === 'Carillon renewed');
    expect(before).not.toBe('Carillon renewed');
  });
});
