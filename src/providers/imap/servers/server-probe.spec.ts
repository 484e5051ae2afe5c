import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { TEST_CERTIFICATE, TEST_KEY } from '../../../../test/support/tls-certificate.ts';
import { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import type { Security } from '../imap.settings.ts';
import { ProbeError, probeServer } from './server-probe.ts';

/** Own authorities, not the system's: another test of this process may have added to those. */
const OTHER_AUTHORITY = tls.rootCertificates[0] ?? '';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    onSocket(socket);
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  open.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

const encrypted = (socket: Socket) => {
  const secure = new tls.TLSSocket(socket, {
    isServer: true,
    key: TEST_KEY,
    cert: TEST_CERTIFICATE,
  });
  secure.on('error', () => socket.destroy());
  return secure;
};
const says = (text: string) => (socket: Socket) => void socket.write(text);
const saysInTls = (text: string) => (socket: Socket) => void encrypted(socket).write(text);

/**
 * Greets, replies to each line by the table, and starts TLS after a reply that accepts STARTTLS.
 */
const talks = (greeting: string, answers: Record<string, string>) => (socket: Socket) => {
  socket.write(greeting);
  const onData = (chunk: Buffer) => {
    const answer =
      Object.entries(answers).find(([line]) => chunk.toString().startsWith(line))?.[1] ??
      '500 what\r\n';
    socket.write(answer);
    if (!/^(a OK|220)/m.test(answer)) return;
    socket.off('data', onData);
    encrypted(socket);
  };
  socket.on('data', onData);
};

interface Given {
  port: number;
  protocol?: 'imap' | 'smtp';
  security?: Security;
  host?: string;
  allow?: string[];
  ca?: string;
  limitMs?: number;
  signal?: AbortSignal;
}
const probe = ({ port, protocol = 'imap', security = 'tls', host = 'localhost', ...rest }: Given) =>
  probeServer(
    { protocol, host, port, security },
    {
      policy: new EgressPolicy(rest.allow ?? ['127.0.0.1']),
      limitMs: rest.limitMs ?? 30_000,
      ca: rest.ca ?? TEST_CERTIFICATE,
      ...(rest.signal ? { signal: rest.signal } : {}),
    },
  );
async function failureOf(probing: Promise<void>): Promise<string> {
  const error: unknown = await probing.then(
    () => new Error('it worked'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProbeError)) throw error;
  expect(error.message).not.toMatch(/127\.0\.0\.1/);
  return error.failure;
}

const STARTTLS_SMTP = { EHLO: '250-mx\r\n250-SIZE 1\r\n250 STARTTLS\r\n', STARTTLS: '220 go\r\n' };

describe('probeServer', () => {
  it.each<[string, Omit<Given, 'port'>, (socket: Socket) => void]>([
    ['IMAP over TLS', {}, saysInTls('* OK ready\r\n')],
    ['IMAP that is already logged in', {}, saysInTls('* PREAUTH hello\r\n')],
    ['SMTP over TLS', { protocol: 'smtp' }, saysInTls('220-mx\r\n220 ready\r\n')],
    [
      'IMAP with STARTTLS',
      { security: 'starttls' },
      talks('* OK hi\r\n', { 'a STARTTLS': '* OK [ALERT] wait\r\na OK go\r\n' }),
    ],
    [
      'SMTP with STARTTLS',
      { security: 'starttls', protocol: 'smtp' },
      talks('220 mx\r\n', STARTTLS_SMTP),
    ],
    ['unencrypted IMAP on an allowed address', { security: 'none' }, says('* OK hi\r\n')],
    ['an address instead of a name', { host: '127.0.0.1' }, saysInTls('* OK ready\r\n')],
  ])('accepts %s', async (_, given, server) => {
    await probe({ ...given, port: await listen(server) });
  });

  it('accepts a greeting that arrives byte by byte', async () => {
    const port = await listen((socket) => {
      const [first, ...rest] = '* OK slow\r\n';
      socket.write(first ?? '');
      for (const byte of rest) setImmediate(() => socket.write(byte));
    });
    await probe({ port, security: 'none' });
  });

  const shy = (socket: Socket) => void socket.end();
  it.each<[string, string, Omit<Given, 'port'>, (socket: Socket) => void]>([
    [
      'certificate',
      'a certificate of an unknown authority',
      { ca: OTHER_AUTHORITY },
      saysInTls('* OK\r\n'),
    ],
    [
      'certificate',
      'a certificate for another name',
      { host: '127.0.0.2', allow: ['127.0.0.0/8'] },
      saysInTls('* OK\r\n'),
    ],
    ['tls', 'an unencrypted server where TLS is expected', {}, says('* OK hi\r\n')],
    [
      'tls',
      'a server that closes the connection when TLS begins',
      {},
      (socket) => socket.once('data', () => socket.destroy()),
    ],
    [
      'no-starttls',
      'IMAP without STARTTLS',
      { security: 'starttls' },
      talks('* OK\r\n', { 'a STARTTLS': 'a BAD no\r\n' }),
    ],
    [
      'no-starttls',
      'SMTP without STARTTLS',
      { security: 'starttls', protocol: 'smtp' },
      talks('220 mx\r\n', { EHLO: '250 mx\r\n', STARTTLS: '502 no\r\n' }),
    ],
    [
      'certificate',
      'STARTTLS with a certificate of an unknown authority',
      { security: 'starttls', protocol: 'smtp', ca: OTHER_AUTHORITY },
      talks('220 mx\r\n', STARTTLS_SMTP),
    ],
    ['protocol', 'SMTP where IMAP is expected', {}, saysInTls('220 mx\r\n')],
    ['protocol', 'IMAP where SMTP is expected', { protocol: 'smtp' }, saysInTls('* OK hi\r\n')],
    ['protocol', 'a web server', { security: 'none' }, says('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['protocol', 'an endless line', { security: 'none' }, says('x'.repeat(100_000))],
    [
      'protocol',
      'an endless reply',
      { security: 'starttls', protocol: 'smtp' },
      talks('220 mx\r\n', { EHLO: '250-x\r\n'.repeat(5_000) }),
    ],
    ['refused', 'BYE', {}, saysInTls('* BYE too many connections\r\n')],
    ['refused', '421', { protocol: 'smtp' }, saysInTls('421 later\r\n')],
    ['refused', '554', { protocol: 'smtp', security: 'starttls' }, says('554 go away\r\n')],
    ['lost', 'a server that closes the connection', { security: 'none' }, shy],
    ['silent', 'a server that sends nothing', { limitMs: 200, security: 'none' }, () => undefined],
    ['silent', 'a server that sends nothing over TLS', { limitMs: 200 }, () => undefined],
    [
      'silent',
      'a server that is slow after STARTTLS',
      { limitMs: 200, security: 'starttls' },
      says('* OK\r\n'),
    ],
  ])('%s: %s', async (failure, _, given, server) => {
    expect(await failureOf(probe({ ...given, port: await listen(server) }))).toBe(failure);
  });

  it('reports closed for a port without a listener', async () => {
    const port = await listen(() => undefined);
    for (const close of open.splice(0)) await close();
    expect(await failureOf(probe({ port }))).toBe('closed');
  });

  it('reports unknown-host for a name that does not exist', async () => {
    expect(['unknown-host', 'dns']).toContain(
      await failureOf(probe({ port: 993, host: 'imap.nowhere.invalid' })),
    );
  });

  it.each<Security>(['tls', 'starttls', 'none'])(
    'reports blocked for an address that is not public (%s)',
    async (security) => {
      let connections = 0;
      const port = await listen(() => void connections++);
      for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1', '2130706433']) {
        expect(['blocked', 'unknown-host']).toContain(
          await failureOf(probe({ port, host, security, allow: [] })),
        );
      }
      expect(connections).toBe(0);
    },
  );

  it('ends when the signal is aborted', async () => {
    const end = new AbortController();
    const port = await listen(() => end.abort());
    expect(await failureOf(probe({ port, signal: end.signal }))).toBe('silent');
  });

  it('removes control characters from a greeting', async () => {
    const port = await listen(says('* BYE \u001b[31m\u202ered\r\n'));
    const error = await probe({ port, security: 'none' }).catch((reason: Error) => reason);
    expect((error as Error).message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
