import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { SERVER_LIMITS } from '../../src/platform/http/listeners/server-limits.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** Control sequences that a terminal obeys: clipboard, title, screen, text direction. */
const ATTACK =
  '\u001b]52;c;cm0gLXJmIH4=\u0007\u001b]0;title\u0007\u001b[2J\u009b2J\u202ereversed\u2066\u007f\b\r\n\tX';
const CONTROLS = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

const MESSAGE = {
  id: 'm1',
  subject: ATTACK,
  from: [{ email: `eve@example.test${ATTACK}`, name: ATTACK }],
};

/** A server with content that attacks the terminal of the user who runs `carillon-api`. */
function answer(request: http.IncomingMessage, response: http.ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://server');
  if (url.searchParams.has('fail')) {
    response
      .writeHead(400)
      .end(JSON.stringify({ message: ATTACK, type: ATTACK, missing_fields: [ATTACK] }));
  } else if (url.searchParams.has('text')) {
    response.writeHead(502).end(ATTACK);
  } else if (url.pathname.endsWith('/streaming')) {
    // Invalid JSON with control characters that are not escaped.
    response.end(`${JSON.stringify(MESSAGE)}\n{"broken":"${ATTACK.replaceAll(/[\r\n]/g, '')}"}\n`);
  } else if (request.headers.accept === 'message/rfc822' || url.pathname.endsWith('/download')) {
    response.end(`Subject: ${ATTACK}\r\n\r\n`);
  } else {
    response.end(
      JSON.stringify(url.pathname.endsWith('/m1') ? { ...MESSAGE, [ATTACK]: 1 } : [MESSAGE]),
    );
  }
}

describe('carillon-api, given text that attacks terminals', () => {
  const server = http.createServer(answer);
  let url: string;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

  /** @param terminal whether standard output is a terminal; otherwise it is a pipe */
  async function api(words: readonly string[], terminal = false): Promise<string> {
    const command = [process.execPath, 'src/cli/carillon-api.ts', ...words];
    // script(1) runs a command on its own terminal.
    const [program = '', ...args] = terminal
      ? ['script', '-qec', quoted(command), '/dev/null']
      : command;
    const child = spawn(program, args, {
      env: {
        PATH: process.env['PATH'],
        HOME: '/nonexistent',
        CARILLON_API_URL: url,
        CARILLON_ACCESS_TOKEN: 't',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    await once(child, 'close');
    // A terminal ends lines with CR and LF.
    return terminal ? output.replaceAll('\r\n', '\n') : output;
  }

  it.each([
    [['messages', 'get']],
    [['messages', 'get', 'm1']],
    [['messages', 'get', '--output=table']],
    [['messages', 'get', 'm1', '--output=table']],
    [['messages', 'get', '--output=csv']],
    [['messages', 'get', '--output=jsonl']],
    [['messages', 'get', '--output=table', '--display_columns=from,subject']],
    [['delta', 'streaming', '--cursor=0']],
    [['messages', 'get', '--unchecked', '--fail=1']],
    [['messages', 'get', '--unchecked', '--text=1']],
  ])('prints no control character for %j', async (words) => {
    const output = await api(words);
    expect(output).not.toMatch(CONTROLS);
    expect(output).toContain('reversed');
  });

  it('prints JSON that means exactly what the server sent', async () => {
    expect(JSON.parse(await api(['messages', 'get']))).toEqual([MESSAGE]);
  });

  it.each([[['messages', 'get', 'm1', '--raw']], [['files', 'download', 'f1']]])(
    'shows %j on a terminal without control characters, and writes every byte to a pipe',
    async (words) => {
      expect(await api(words)).toBe(`Subject: ${ATTACK}\r\n\r\n`);
      const shown = await api(words, true);
      expect(shown).toContain('reversed');
      expect(shown).not.toMatch(CONTROLS);
    },
  );
});

describe('the HTTP server, given requests made to be expensive', () => {
  let server: TestApp;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const post = (path = '/calendars') => request(server.url).post(path).set(ada.bearer).type('json');
  const port = () => Number(new URL(server.url).port);

  it.each([
    ['millions of empty objects', `[${'[],'.repeat(3_000_000)}0]`],
    ['millions of names', `{${'"a":0,'.repeat(1_500_000)}"a":0}`],
    ['millions of nested levels', '['.repeat(5_000_000)],
  ])('refuses %s with 413 before parsing, without credentials too', async (_, body) => {
    const before = process.memoryUsage().rss;
    for (const path of ['/connect/authorize', '/connect/token']) {
      const { status } = await request(server.url).post(path).type('json').send(body);
      expect(status).toBe(413);
    }
    expect((await post().send(body)).status).toBe(413);
    // Parsing the first body alone would take 300 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  it('refuses compressed bodies, so that a bomb of 10 kB is never inflated', async () => {
    const bomb = gzipSync(JSON.stringify({ name: 'x'.repeat(9_000_000) }));
    for (const path of ['/calendars', '/connect/authorize', '/oauth/token', '/files', '/send']) {
      const { status, body } = await post(path).set('content-encoding', 'gzip').send(bomb);
      expect({ status, message: (body as { message: string }).message }).toEqual({
        status: 400,
        message: 'The encoding of the request body is not supported',
      });
    }
  });

  it.each([
    ['utf-16le', Buffer.from('{"name":"\u00e9"}', 'utf16le')],
    ['utf-16', Buffer.from('\ufeff{"name":"x"}', 'utf16le')],
    ['iso-8859-1', Buffer.from('{"name":"\u00e9"}', 'latin1')],
    ['utf-7', Buffer.from('+AHsAIgBuACIAOgAxAH0-')],
  ])('refuses JSON that is encoded in %s', async (charset, bytes) => {
    for (const type of [`application/json; charset=${charset}`, 'application/json']) {
      const { status } = await fetch(`${server.url}/calendars`, {
        method: 'POST',
        headers: { ...ada.bearer, 'content-type': type },
        body: new Uint8Array(bytes),
      });
      expect(status).toBe(400);
    }
  });

  /** Begins large bodies and never ends them. */
  function unfinished(count: number, bytes: number, header: string): net.Socket[] {
    const head = `POST /calendars HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${bytes}\r\n\r\n{"name":"`;
    return Array.from({ length: count }, () => {
      const socket = net.connect(port(), '127.0.0.1', () => socket.write(head));
      socket.on('error', () => undefined);
      return socket;
    });
  }

  it('lets a large body wait while its account has too many, and accepts small ones and those of others', async () => {
    const eve = await createAccount(server.app, await createApplication(server.app));
    const slow = unfinished(4, 5_000_000, `Authorization: ${eve.bearer['authorization']}\r\n`);
    const large = (account: TestAccount) =>
      request(server.url)
        .post('/calendars')
        .set(account.bearer)
        .send({ name: 'x'.repeat(2_000_000) })
        .then(({ status }) => status);
    const waiting: Promise<number>[] = [];
    await until('the account has no more room, and another one has', async () => {
      const own = large(eve);
      waiting.push(own);
      return Promise.race([own.then(() => false), large(ada).then((status) => status === 400)]);
    });
    const small = await request(server.url).post('/calendars').set(eve.bearer).send({ name: 'x' });
    expect(small.status).toBe(200);
    for (const socket of slow) socket.destroy();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 400));
  });

  it('gives large bodies without credentials no room', async () => {
    const slow = unfinished(24, 5_000_000, '');
    for (const socket of slow) await once(socket, 'data');
    expect((await post().send({ name: 'x'.repeat(2_000_000) })).status).toBe(400);
    for (const socket of slow) socket.destroy();
  });

  it.each(['__proto__', 'constructor', 'prototype'])(
    'refuses the name %s in bodies and pollutes nothing',
    async (name) => {
      const evil = `{"polluted":true}`;
      for (const body of [
        `{"name":"x","${name}":${evil}}`,
        `{"name":"x","metadata":{"${name}":"polluted"}}`,
      ]) {
        const response = await post().send(body);
        expect(response.status).toBe(400);
        expect((response.body as { message: string }).message).toContain(`must not be ${name}`);
      }
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    },
  );

  it('treats brackets in queries as plain text and builds no objects or arrays', async () => {
    const nested = `a${'[b]'.repeat(2_000)}=1&__proto__[polluted]=1&limit[__proto__]=1&c[4294967294]=1`;
    expect((await request(server.url).get(`/messages?${nested}`).set(ada.bearer)).status).toBe(200);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    const many = Array.from({ length: 4_000 }, (_, index) => `x=${index}`)
      .join('&')
      .slice(0, 14_000);
    expect((await request(server.url).get(`/messages?${many}`).set(ada.bearer)).status).toBe(200);
  });

  it('limits the files and parts of a form', async () => {
    const form = (count: number, part: (index: number) => string) =>
      `${Array.from({ length: count }, (_, index) => `--b\r\n${part(index)}\r\n\r\nx\r\n`).join('')}--b--\r\n`;
    const send = (body: string) =>
      request(server.url)
        .post('/files')
        .set(ada.bearer)
        .set('content-type', 'multipart/form-data; boundary=b')
        .send(body);
    const bodies = [
      form(21, (index) => `Content-Disposition: form-data; name="file"; filename="${index}"`),
      form(5_000, (index) => `Content-Disposition: form-data; name="f${index}"`),
    ];
    for (const body of bodies) expect((await send(body)).status).toBe(400);
  });

  it('hides database error texts from callers', async () => {
    const sql = new SqlPool({
      url: server.database.url,
      max: 1,
      statementTimeoutMs: 30_000,
      applicationName: 'test',
    });
    await sql.query('alter table calendar rename to hidden_name');
    try {
      for (const path of ['/calendars', '/calendars/019aa1b2-0000-7000-8000-000000000001']) {
        const { status, body } = await request(server.url).get(path).set(ada.bearer);
        expect({ status, body: body as unknown }).toEqual({
          status: 500,
          body: { message: 'Something went wrong on our side', type: 'api_error' },
        });
      }
    } finally {
      await sql.query('alter table hidden_name rename to calendar');
      await sql.close();
    }
  });

  it('answers pipelined requests in order, and closes a connection that pipelines hundreds', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const ahead = async (requests: string) => {
      const socket = net.connect(port(), '127.0.0.1', () => socket.write(requests));
      socket.on('error', () => undefined);
      return text(socket).catch(() => '');
    };
    const last = 'GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const answers = await ahead(get('/nowhere') + get('/health/ready') + get('/messages') + last);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(
      [404, 200, 401, 200].map((status) => `HTTP/1.1 ${status}`),
    );
    const flood = await ahead(get('/feeds/nobody.ics').repeat(500) + last);
    expect(flood.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThan(200);
  });

  it('disconnects a client that sends its headers byte by byte', async () => {
    const http = server.app.getHttpServer() as http.Server;
    expect(http).toMatchObject(SERVER_LIMITS);
    const socket = net.connect(port(), '127.0.0.1');
    socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => socket.writable && socket.write('X'), 500);
    socket.on('error', () => undefined);
    const answer = await text(socket);
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });
});
