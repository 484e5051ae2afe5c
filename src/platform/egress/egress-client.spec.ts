import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server } from 'node:net';
import { TEST_CERTIFICATE, TEST_KEY } from '../../../test/support/tls-certificate.ts';
import { EgressClient, type EgressLimits } from './egress-client.ts';
import { EgressError, type EgressErrorKind, toEgressError } from './egress-error.ts';
import { EgressPolicy } from './egress-policy.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

function client(allow: string[], limits: Partial<EgressLimits> = {}): EgressClient {
  const made = new EgressClient(new EgressPolicy(allow), limits);
  open.push({ close: () => made.onApplicationShutdown() });
  return made;
}

async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, host);
  await once(server, 'listening');
  open.push({
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
  return (server.address() as AddressInfo).port;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const serve = async (handler: Handler) =>
  `http://127.0.0.1:${await listen(http.createServer(handler))}`;

/**
 * Listens on every address of this machine and counts TCP connections, to prove that none arrives.
 */
async function trap(): Promise<{ port: number; connections: () => number }> {
  let count = 0;
  const port = await listen(
    net.createServer((socket) => {
      count++;
      socket.destroy();
    }),
    '0.0.0.0',
  );
  return { port, connections: () => count };
}

async function kindOf(call: Promise<unknown>): Promise<EgressErrorKind> {
  const error: unknown = await call.then(
    () => new Error('the request got a response'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof EgressError)) throw error;
  return error.kind;
}

const LOOPBACK = ['127.0.0.0/8', '::1'];

describe('EgressClient, guard', () => {
  const spellings = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '0',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[2001::7f00:1]',
    'localhost',
    'a.localhost',
    'user@127.0.0.1',
    '127.0.0.1.',
  ];
  it.each(spellings.flatMap((host) => [`http://${host}`, `https://${host}`]))(
    'never connects to %s',
    async (origin) => {
      const { port, connections } = await trap();
      expect(await kindOf(client([]).get(`${origin}:${port}/`))).toBe('blocked');
      expect(connections()).toBe(0);
    },
  );

  // The name's spelling is allowed, but the name resolves to loopback: the guard acts after the
  // resolver.
  it.each(['http', 'https'])(
    'refuses an allowed %s name if it resolves to an address that is not allowed',
    async (scheme) => {
      const { port, connections } = await trap();
      const guarded = client(['::1']); // localhost may be called, but it resolves to 127.0.0.1, which is not allowed
      const kind = await kindOf(guarded.get(`${scheme}://localhost:${port}/`));
      expect(['blocked', 'connect', 'dns']).toContain(kind);
      expect(connections()).toBe(0);
    },
  );

  it.each(['http', 'https'])(
    'refuses private addresses at the socket, even if the URL check let them pass (%s)',
    async (scheme) => {
      const { port, connections } = await trap();
      const policy = new EgressPolicy([]);
      // The URL check accepts everything, so only the connector can protect the trap.
      policy.normalizeUrl = (raw) => raw;
      const unchecked = new EgressClient(policy);
      open.push({ close: () => unchecked.onApplicationShutdown() });
      for (const host of ['localhost', '127.0.0.1', '0.0.0.0', '[::ffff:127.0.0.1]']) {
        expect(await kindOf(unchecked.get(`${scheme}://${host}:${port}/`))).toBe('blocked');
      }
      expect(connections()).toBe(0);
    },
  );

  it('follows no redirect, whether to the metadata service or to another host', async () => {
    const { port, connections } = await trap();
    const url = await serve((request, response) =>
      response
        .writeHead(302, {
          location:
            request.url === '/a' ? 'http://169.254.169.254/latest/' : `http://127.0.0.1:${port}/`,
        })
        .end(),
    );
    expect((await client(LOOPBACK).get(`${url}/a`)).status).toBe(302);
    expect((await client(LOOPBACK).post(`${url}/b`, Buffer.from('x'), {})).status).toBe(302);
    expect(connections()).toBe(0);
  });

  it('ignores proxies from the environment', async () => {
    const { port, connections } = await trap();
    const url = await serve((_request, response) => response.end('direct'));
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names)
      process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${port}`;
    try {
      expect((await client(LOOPBACK).get(url)).body.toString()).toBe('direct');
    } finally {
      names.forEach((name, index) => {
        if (before[index] === undefined) delete process.env[name];
        else process.env[name] = before[index];
      });
    }
    expect(connections()).toBe(0);
  });

  it('starts if private addresses are refused, and if the operator allows all of them', async () => {
    await client([]).onModuleInit();
    await client(LOOPBACK).onModuleInit();
    await client(['0.0.0.0/0', '::/0']).onModuleInit();
  });

  it('does not start if the guard does not work', async () => {
    const policy = new EgressPolicy([]);
    const check = policy.guard.check.bind(policy.guard);
    let asked = 0;
    policy.guard.check = (...args) => (asked++ === 0 ? check(...args) : false);
    const broken = new EgressClient(policy);
    open.push({ close: () => broken.onApplicationShutdown() });
    await expect(broken.onModuleInit()).rejects.toThrow('not guarded');
  });
});

describe('EgressClient, allow-list', () => {
  const echo: Handler = (request, response) => response.end(`${request.method} ${request.url}`);

  it.each([
    ['an address', ['127.0.0.1'], '127.0.0.1'],
    ['a range', ['127.0.0.0/8'], '127.0.0.1'],
    ['a range that contains the address of the name', ['127.0.0.0/8'], 'localhost'],
    ['a name', ['localhost'], 'localhost'],
    ['a range, when the URL is written as IPv4-mapped IPv6', ['127.0.0.0/8'], '[::ffff:127.0.0.1]'],
  ])('reaches a private host allowed by %s', async (_, allow, host) => {
    const url = new URL(await serve(echo));
    const answer = await client(allow).get(`http://${host}:${url.port}/x?y=1`);
    expect([answer.status, answer.body.toString()]).toEqual([200, 'GET /x?y=1']);
  });

  it('does not reach the neighbour of an allowed address', async () => {
    const { port, connections } = await trap();
    expect(await kindOf(client(['127.0.0.2']).get(`http://127.0.0.1:${port}/`))).toBe('blocked');
    expect(connections()).toBe(0);
  });

  it('reaches https servers and verifies their certificates', async () => {
    const port = await listen(https.createServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, echo));
    const trusting = client(LOOPBACK, { ca: TEST_CERTIFICATE });
    expect((await trusting.get(`https://localhost:${port}/a`)).body.toString()).toBe('GET /a');
    expect((await trusting.get(`https://127.0.0.1:${port}/b`)).body.toString()).toBe('GET /b');
    expect(await kindOf(client(LOOPBACK).get(`https://localhost:${port}/`))).toBe('tls');
  });
});

describe('EgressClient, exchange', () => {
  it('posts the bytes and headers unchanged and reuses connections', async () => {
    const seen: {
      body: string;
      type: string | undefined;
      agent: string | undefined;
      port: number | undefined;
    }[] = [];
    const url = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { 'content-type': type, 'user-agent': agent } = request.headers;
        seen.push({
          body: Buffer.concat(chunks).toString(),
          type,
          agent,
          port: request.socket.remotePort,
        });
        response.writeHead(503, { 'retry-after': '7' }).end('later');
      });
    });
    const egress = client(LOOPBACK);
    const body = Buffer.from('{"ü":1}');
    for (let round = 0; round < 4; round++) {
      const answer = await egress.post(url, body, { 'content-type': 'application/json' });
      expect({ ...answer, body: answer.body.toString() }).toMatchObject({
        status: 503,
        retryAfter: '7',
        body: 'later',
        headers: { 'retry-after': '7' },
      });
    }
    expect(seen.map((one) => one.body)).toEqual(Array(4).fill('{"ü":1}'));
    expect(seen[0]).toMatchObject({
      type: 'application/json',
      agent: expect.stringContaining('Carillon'),
    });
    expect(new Set(seen.map((one) => one.port)).size).toBeLessThan(4);
  });

  it('returns the response that follows an informational one', async () => {
    const url = await serve((_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(201, { 'x-a': 'b' }).end('made');
    });
    const answer = await client(LOOPBACK).get(url);
    expect([answer.status, answer.headers['x-a'], answer.body.toString()]).toEqual([
      201,
      'b',
      'made',
    ]);
  });

  it('reads the chunks of a body once connected, and sends none if the first one fails', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      request.on('data', (chunk: Buffer) => seen.push(chunk.toString()));
      request.on('end', () => response.end(request.headers.authorization));
    });
    const egress = client(LOOPBACK);
    const sendChunks = (chunks: () => AsyncGenerator<Buffer>, length: number) =>
      egress.request(url, {
        method: 'DELETE',
        headers: { authorization: 'Bearer x', 'content-length': String(length) },
        body: chunks(),
      });
    const answer = await sendChunks(async function* () {
      yield Buffer.from('ab');
      yield Buffer.from('cd');
    }, 4);
    expect([answer.body.toString(), seen.join('')]).toEqual(['Bearer x', 'abcd']);
    const broken = sendChunks(async function* () {
      yield await Promise.reject<Buffer>(new Error('not now'));
    }, 4);
    expect(await kindOf(broken)).toBe('protocol');
    expect(seen.join('')).toBe('abcd');
  });

  it('applies the deadline and the body limit of a single request', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/long') response.end('x'.repeat(50_000));
    });
    const egress = client(LOOPBACK, { deadlineMs: 60_000 });
    expect(await kindOf(egress.get(`${url}/never`, { deadlineMs: 200 }))).toBe('timeout');
    expect((await egress.get(`${url}/long`, { maxBodyBytes: 40_000 })).body).toHaveLength(40_000);
  });

  it('stops reading an endless body at the limit', async () => {
    let closed: Promise<unknown> | undefined;
    const url = await serve((_request, response) => {
      closed = once(response, 'close');
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(4096, 'x')));
      };
      response.on('drain', more);
      more();
    });
    const answer = await client(LOOPBACK).get(url);
    expect([answer.status, answer.body.length]).toEqual([200, 16 * 1024]);
    await closed;
  });

  it.each<[string, (socket: net.Socket) => void]>([
    ['nothing', () => undefined],
    ['one byte of the head at a time', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx-a: ')],
    [
      'a whole head and then one byte of the body at a time',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n');
        drip(socket, '');
      },
    ],
  ])('gives up at the deadline if the server sends %s', async (_, behave) => {
    const port = await listen(
      net.createServer((socket) => behave(socket.on('error', () => undefined))),
    );
    const egress = client(LOOPBACK, { deadlineMs: 200 });
    expect(await kindOf(egress.get(`http://127.0.0.1:${port}/`))).toBe('timeout');
  });

  it('gives up at the deadline if the server accepts a TLS connection and sends nothing', async () => {
    const port = await listen(net.createServer((socket) => socket.on('error', () => undefined)));
    expect(
      await kindOf(client(LOOPBACK, { deadlineMs: 200 }).get(`https://127.0.0.1:${port}/`)),
    ).toBe('timeout');
  });

  it.each<[string, EgressErrorKind, (socket: net.Socket) => void]>([
    ['a reset', 'protocol', (socket) => socket.resetAndDestroy()],
    ['a close without a response', 'protocol', (socket) => socket.end()],
    [
      'something that is not HTTP',
      'protocol',
      (socket) => socket.end('220 mail.example ESMTP\r\n'),
    ],
    [
      'a body cut short',
      'protocol',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
    ],
    [
      'a head without end',
      'protocol',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`),
    ],
  ])('reports %s as %s', async (_, kind, behave) => {
    const port = await listen(
      net.createServer((socket) =>
        socket.on('error', () => undefined).once('data', () => behave(socket)),
      ),
    );
    expect(await kindOf(client(LOOPBACK).get(`http://127.0.0.1:${port}/`))).toBe(kind);
  });

  it('distinguishes a refused connection, plain text behind https and an unknown name', async () => {
    const url = await serve((_request, response) => response.end());
    const { port } = new URL(url);
    const egress = client(LOOPBACK);
    expect(await kindOf(egress.get(`https://127.0.0.1:${port}/`))).toBe('tls');
    expect(await kindOf(egress.get('http://127.0.0.1:1/'))).toBe('connect');
    expect(await kindOf(egress.get('https://no-such-host.invalid/'))).toBe('dns');
  });

  it('rejects with the reason of the signal if the caller aborts', async () => {
    const port = await listen(net.createServer((socket) => socket.on('error', () => undefined)));
    const abort = new AbortController();
    const call = client(LOOPBACK).get(`http://127.0.0.1:${port}/`, { signal: abort.signal });
    const reason = new Error('stopping');
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect(
      client(LOOPBACK).get('http://127.0.0.1:1/', { signal: abort.signal }),
    ).rejects.toBe(reason);
  });
});

describe('toEgressError', () => {
  it('takes the most specific code of all addresses that were tried', () => {
    const coded = (code: string) => Object.assign(new Error(code), { code });
    const both = new AggregateError([coded('ECONNREFUSED'), coded('ERR_IP_BLOCKED')]);
    expect(toEgressError(both).kind).toBe('blocked');
    expect(toEgressError(new TypeError('failed', { cause: coded('ENOTFOUND') })).kind).toBe('dns');
  });

  it('does not reveal the address that a name resolved to', () => {
    const error = Object.assign(new Error('IP(10.3.2.1) is blocked'), { code: 'ERR_IP_BLOCKED' });
    expect(toEgressError(error).message).not.toContain('10.3.2.1');
  });
});

function drip(socket: net.Socket, start: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write('a'), 10);
  socket.on('close', () => clearInterval(timer));
}
