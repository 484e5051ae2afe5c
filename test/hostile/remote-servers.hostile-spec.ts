import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AttackedServer, type HttpAnswer } from './support/attacked-server.ts';
import { FakeDav, type DavReply } from './support/fake-dav.ts';
import type { ImapReply } from './support/fake-imap.ts';
import { HIGHEST_RSS_MB, LONGEST_ANSWER_MS, type Watched } from './support/watch.ts';

/** A check may take thirty seconds, a little longer on a busy machine. */
const LONGEST_CHECK_MS = 40_000;
const MIB = 1024 * 1024;

function* endless(piece: string): Generator<string> {
  for (;;) yield piece;
}

function* times(count: number, piece: string): Generator<string> {
  for (let done = 0; done < count; done += 1) yield piece;
}

/** A scripted response to one IMAP command. */
const inAnswerTo = (name: string, reply: ImapReply) => ({
  answer: (command: { name: string }) => (command.name === name ? reply : undefined),
});

describe('servers that a client names in a sign-in', () => {
  let server: AttackedServer;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await AttackedServer.start({ CONNECT_CHECKS_PER_ADDRESS: '3' });
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(() => server.stop());

  let count = 0;
  const authorize = (settings: object): Promise<HttpAnswer> =>
    server.send(
      'POST',
      '/connect/authorize',
      {},
      {
        client_id: server.application.clientId,
        name: 'Eve',
        email_address: `eve${(count += 1)}@example.test`,
        provider: 'imap',
        settings,
      },
    );

  const attack = async (
    settings: object,
  ): Promise<{ answer: HttpAnswer; watched: Watched; ms: number }> => {
    const stop = server.watch();
    const begun = performance.now();
    const answer = await authorize(settings);
    const ms = performance.now() - begun;
    return { answer, watched: await stop(), ms };
  };

  const expectOthersServed = ({ watched, ms }: { watched: Watched; ms: number }) => {
    expect(watched.failures).toEqual([]);
    expect(watched.longestMs).toBeLessThan(LONGEST_ANSWER_MS);
    expect(watched.highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
    expect(ms).toBeLessThan(LONGEST_CHECK_MS);
  };

  const davAnswering = async (reply: () => DavReply): Promise<FakeDav> => {
    const dav = await FakeDav.start({ answer: reply });
    closing.push(() => dav.stop());
    return dav;
  };

  it.each([
    [
      '31 MB of resources',
      () => ({
        body: [
          '<multistatus xmlns="DAV:">',
          ...times(31, '<response><href>/a</href></response>'.repeat(30_000)),
        ],
      }),
    ],
    ['an endless response', () => ({ body: endless('<a>'.repeat(10_000)) })],
    [
      'a compressed bomb',
      () => ({
        headers: { 'content-encoding': 'gzip' },
        body: [gzipSync(Buffer.alloc(20 * MIB, '<a/>'))],
      }),
    ],
    [
      '250 kB of different elements',
      () => ({
        body: `<multistatus xmlns="DAV:"><response><propstat><prop>${Array.from({ length: 12_000 }, (_, at) => `<p${at}>x</p${at}>`).join('')}</prop></propstat></response></multistatus>`,
      }),
    ],
    ['elements nested 20,000 deep', () => ({ body: '<a>'.repeat(20_000) })],
    [
      'entities of entities',
      () => ({
        body: `<!DOCTYPE a [<!ENTITY a "${'x'.repeat(1_000)}"><!ENTITY b "${'&a;'.repeat(1_000)}"><!ENTITY c "${'&b;'.repeat(1_000)}">]><multistatus xmlns="DAV:">&c;</multistatus>`,
      }),
    ],
    ['redirects without end', () => ({ status: 302, headers: { location: `/${Math.random()}` } })],
  ] as [string, () => DavReply][])(
    'make the sign-in fail if the CalDAV server sends %s, and delay no other request',
    async (_what, reply) => {
      const { settings } = await server.mailbox();
      const dav = await davAnswering(reply);
      const result = await attack({ ...settings, caldav_url: dav.origin, carddav_url: dav.origin });
      expectOthersServed(result);
      expect(result.answer.status).toBe(400);
      expect(JSON.stringify(result.answer.body)).toContain('caldav_url');
    },
  );

  it.each([
    [
      'a literal of 128 MiB',
      'EXAMINE',
      { send: ['* LIST () "/" {134217728}\r\n', ...times(128, 'x'.repeat(MIB))] },
    ],
    ['a line without end', 'EXAMINE', { send: endless('x'.repeat(65_536)) }],
    ['unrequested lines without end', 'EXAMINE', { send: endless('* 1 EXISTS\r\n'.repeat(1_000)) }],
    [
      'a set of numbers as long as a line may be',
      'LOGIN',
      { send: `* VANISHED ${'1,'.repeat(32_000)}1\r\n* BYE over\r\n` },
    ],
    [
      'one line that names 16 million messages',
      'EXAMINE',
      { send: `${'* VANISHED 1:16777216\r\n'.repeat(1_000)}* BYE over\r\n` },
    ],
    ['brackets', 'LOGIN', { send: `* OK ${'['.repeat(60_000)}\r\n` }],
    ['empty literals', 'LOGIN', { send: `* X${' {0}\r\n'.repeat(30_000)}\r\n` }],
    [
      'capabilities without end',
      'CAPABILITY',
      { send: endless(`* CAPABILITY ${'A '.repeat(1_000)}\r\n`) },
    ],
  ] as [string, string, ImapReply][])(
    'make the sign-in fail if the IMAP server sends %s, and delay no other request',
    async (_what, command, reply) => {
      const { settings } = await server.mailbox(inAnswerTo(command, reply));
      const result = await attack(settings);
      expectOthersServed(result);
      expect(result.answer.status).toBe(400);
    },
  );

  /** A TCP server that talks to every client as the test decides. */
  const tcpServer = async (talk: (socket: Socket) => void): Promise<number> => {
    const sockets = new Set<Socket>();
    const tcp: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      talk(socket);
    });
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    closing.push(async () => {
      for (const socket of sockets) socket.destroy();
      tcp.close();
      await once(tcp, 'close');
    });
    return (tcp.address() as AddressInfo).port;
  };

  /** Sends a piece again and again, as fast as the client reads. */
  const pour = (socket: Socket, piece: string) => {
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  };
  const GREETING = '220 evil ESMTP\r\n';

  it.each([
    ['a reply without end', (socket: Socket) => pour(socket, '250-more\r\n'.repeat(1_000))],
    ['empty lines without end', (socket: Socket) => pour(socket, '\r\n'.repeat(10_000))],
    ['a line without end', (socket: Socket) => pour(socket, 'x'.repeat(65_536))],
  ] as [string, (socket: Socket) => void][])(
    'make the sign-in fail if the SMTP server sends %s, and delay no other request',
    async (_what, flood) => {
      const { settings } = await server.mailbox();
      const port = await tcpServer((socket) => {
        socket.write(GREETING);
        socket.once('data', () => flood(socket));
      });
      const result = await attack({ ...settings, smtp_port: port });
      expectOthersServed(result);
      expect(result.answer.status).toBe(400);
      expect(JSON.stringify(result.answer.body)).toContain('smtp_');
    },
  );

  it('are disconnected after half a minute if they send a byte now and then, and no more checks run at a time than allowed', async () => {
    const drip = (socket: Socket) => {
      socket.write('* OK ');
      const timer = setInterval(() => socket.write('x'), 200);
      socket.on('close', () => clearInterval(timer));
    };
    const port = await tcpServer(drip);
    const { settings } = await server.mailbox();
    const stop = server.watch();
    const begun = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => authorize({ ...settings, imap_port: port })),
    );
    expectOthersServed({ watched: await stop(), ms: performance.now() - begun });
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(5);
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(
      refused.map(() => '5'),
    );
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(3);
    const { settings: good } = await server.mailbox();
    expect((await authorize(good)).status).toBe(200);
  });
});
