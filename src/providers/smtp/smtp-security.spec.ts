import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SmtpScript } from '../../../test/support/scripted-smtp.ts';
import {
  at,
  controlOf,
  failureOf,
  smallMessage,
  SHORT,
  SmtpFixture,
} from '../../../test/support/smtp-fixture.ts';
import { TEST_CERTIFICATE } from '../../../test/support/tls-certificate.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { SmtpSender } from './smtp-sender.ts';
import type { SmtpServer } from './smtp-settings.ts';

const fixture = new SmtpFixture();
afterEach(() => fixture.stop());

const PASSWORD = 'correct horse battery';
const login = { user: 'me@here.test', password: PASSWORD };
const said = (commands: readonly string[]) => commands.map((line) => line.split(' ')[0]);

/** Listens on every address of this machine and counts connections. */
async function trap() {
  let count = 0;
  const server = createServer((socket: Socket) => {
    count++;
    socket.destroy();
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    async stop() {
      server.close();
      await once(server, 'close');
    },
  };
}

describe('SmtpSender: egress guard', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '0',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    'localhost',
    'localhost.',
    'LOCALHOST',
  ])('never connects to %s', async (host) => {
    const { port, connections, stop } = await trap();
    for (const security of ['none', 'starttls', 'tls'] as const) {
      const server: SmtpServer = { host, port, security, login: null };
      const smtp = fixture.sender(SHORT, []);
      const error = await failureOf(smtp.send('k', server, smallMessage(), controlOf().control));
      expect([error.code, error.phase]).toEqual(['temporary', 'connect']);
      expect(error.message).not.toContain('127.0.0.1');
    }
    await stop();
    expect(connections()).toBe(0);
  });

  it('reports to the user who sets it up that the address is not allowed', async () => {
    const error = await failureOf(fixture.sender({}, []).verify('k', at({ port: 25 })));
    expect([error.code, error.message]).toEqual(['unsupported', 'the address is not a public one']);
  });

  it('refuses an address in a trusted range if the name resolves to an address outside it', async () => {
    const { port, connections, stop } = await trap();
    const smtp = fixture.sender(SHORT, ['10.0.0.0/8']);
    await failureOf(
      smtp.send('k', at({ port }, { host: 'localhost' }), smallMessage(), controlOf().control),
    );
    await stop();
    expect(connections()).toBe(0);
  });

  it.each([
    ['an address', ['127.0.0.1'], '127.0.0.1'],
    ['a range that its name resolves into', ['127.0.0.0/8'], 'localhost'],
    ['a name', ['localhost'], 'localhost'],
  ])('connects to %s on the allow-list, and sends credentials', async (_, allow, host) => {
    const server = await fixture.serve();
    await fixture
      .sender({}, allow)
      .send('k', at(server, { host, login }), smallMessage(), controlOf().control);
    expect(server.messages).toHaveLength(1);
  });
});

/**
 * A policy that allows every address but lists no name: the real policy treats public hosts like
 * this.
 */
function asIfPublic(): EgressPolicy {
  const policy = new EgressPolicy([]);
  policy.guard.check = () => false;
  return policy;
}

describe('SmtpSender: credentials', () => {
  it('does not send credentials unencrypted to a host that is not on the allow-list', async () => {
    const server = await fixture.serve();
    const smtp = new SmtpSender(asIfPublic());
    const settings = at(server, { login });
    const error = await failureOf(smtp.send('k', settings, smallMessage(), controlOf().control));
    expect([error.code, error.phase]).toEqual(['temporary', 'login']);
    expect((await failureOf(smtp.verify('k', settings))).code).toBe('unsupported');
    await smtp.close();
    expect(new Set(said(server.commands))).toEqual(new Set(['EHLO']));
  });

  it('does not skip the login if the server offers none', async () => {
    const server = await fixture.serve({ extensions: ['PIPELINING'] });
    const smtp = fixture.sender();
    const error = await failureOf(
      smtp.send('k', at(server, { login }), smallMessage(), controlOf().control),
    );
    expect([error.code, error.phase, said(server.commands)]).toEqual([
      'temporary',
      'login',
      ['EHLO'],
    ]);
    expect((await failureOf(smtp.verify('k', at(server, { login })))).code).toBe('unsupported');
  });

  it.each([
    ['the password', () => `535 5.7.8 bad password "${PASSWORD}"`],
    ['the command', (line: string) => `535 5.7.8 cannot take "${line}"`],
    ['the password in base64', () => `535 5.7.8 bad ${Buffer.from(PASSWORD).toString('base64')}`],
  ])(
    'hides secrets in errors when the server repeats %s',
    async (_, reply: (line: string) => string) => {
      const server = await fixture.serve({
        extensions: ['AUTH PLAIN'],
        answer: (step, line) => (step === 'auth' ? reply(line) : undefined),
      });
      const error = await failureOf(fixture.sender().verify('k', at(server, { login })));
      expect(error.code).toBe('auth-invalid');
      expect(error.message).toContain('***');
      const everything = [
        error.message,
        error.stack,
        (error.cause as Error | undefined)?.message,
      ].join();
      for (const secret of [
        PASSWORD,
        Buffer.from(PASSWORD).toString('base64'),
        Buffer.from(`\0me@here.test\0${PASSWORD}`).toString('base64'),
      ])
        expect(everything).not.toContain(secret);
    },
  );

  it('logs in with an access token', async () => {
    const server = await fixture.serve();
    const token = { user: 'me', accessToken: 'ya29.token' };
    await fixture
      .sender()
      .send('k', at(server, { login: token }), smallMessage(), controlOf().control);
    expect(server.messages).toHaveLength(1);
    const [, sent = ''] = /^AUTH XOAUTH2 (.*)$/m.exec(server.commands.join('\n')) ?? [];
    expect(Buffer.from(sent, 'base64').toString()).toBe(
      'user=me\x01auth=Bearer ya29.token\x01\x01',
    );
  });

  it('reports a refused access token after the challenge that explains the refusal', async () => {
    const server = await fixture.serve({
      answer(step, line) {
        if (step !== 'auth') return undefined;
        if (line === '') return '535 5.7.8 Username and Password not accepted';
        return `334 ${Buffer.from('{"status":"401"}').toString('base64')}`;
      },
    });
    const token = { user: 'me', accessToken: 'ya29.token' };
    const error = await failureOf(fixture.sender().verify('k', at(server, { login: token })));
    expect([error.code, error.phase]).toEqual(['auth-invalid', 'login']);
  });
});

describe('SmtpSender: encryption', () => {
  it.each(['tls', 'starttls'] as const)(
    'is established before any command (%s)',
    async (security) => {
      const server = await fixture.serve({ tls: security === 'tls' ? 'implicit' : 'starttls' });
      const smtp = fixture.sender({ ca: TEST_CERTIFICATE });
      for (const host of ['localhost', '127.0.0.1'])
        await smtp.send(
          'k',
          at(server, { security, login, host }),
          smallMessage(),
          controlOf().control,
        );
      expect(server.messages).toHaveLength(2);
      expect(server.plain.filter((line) => !/^(EHLO|STARTTLS)/.test(line))).toEqual([]);
    },
  );

  const refused: [string, SmtpServer['security'], SmtpScript, string][] = [
    ['a certificate of an unknown authority', 'tls', { tls: 'implicit' }, ''],
    ['a certificate of an unknown authority', 'starttls', { tls: 'starttls' }, ''],
    [
      'a certificate of another host',
      'tls',
      { tls: 'implicit', host: '127.0.0.2' },
      TEST_CERTIFICATE,
    ],
    [
      'a certificate of another host',
      'starttls',
      { tls: 'starttls', host: '127.0.0.2' },
      TEST_CERTIFICATE,
    ],
    ['a server without STARTTLS', 'starttls', {}, TEST_CERTIFICATE],
    ['a server that does not speak TLS', 'tls', {}, TEST_CERTIFICATE],
  ];
  it.each(refused)(
    'does not fall back to an unencrypted connection: %s (%s)',
    async (_, security, script, ca) => {
      const server = await fixture.serve(script);
      const smtp = fixture.sender({ ...SHORT, ...(ca ? { ca } : {}) });
      const settings = at(server, { security, login, host: script.host ?? '127.0.0.1' });
      const error = await failureOf(smtp.send('k', settings, smallMessage(), controlOf().control));
      expect([error.code, error.phase]).toEqual(['temporary', 'connect']);
      expect(server.commands.filter((line) => !/^(EHLO|STARTTLS)/.test(line))).toEqual([]);
    },
  );

  it('reports missing STARTTLS as a wrong setting, and a temporary failure of STARTTLS as temporary', async () => {
    const smtp = fixture.sender({ ca: TEST_CERTIFICATE });
    const without = await fixture.serve();
    const error = await failureOf(smtp.verify('k', at(without, { security: 'starttls' })));
    expect(error.code).toBe('unsupported');
    expect(error.message).toContain('does not offer STARTTLS');
    const notNow = await fixture.serve({
      tls: 'starttls',
      answer: (step) => (step === 'starttls' ? '454 4.7.0 TLS not available now' : undefined),
    });
    expect((await failureOf(smtp.verify('k', at(notNow, { security: 'starttls' })))).code).toBe(
      'temporary',
    );
  });

  it('ignores data that arrived unencrypted after STARTTLS', async () => {
    const server = await fixture.serve({
      tls: 'starttls',
      answer: (step) =>
        step === 'starttls' ? '220 2.0.0 go\r\n250-evil\r\n250 AUTH PLAIN' : undefined,
    });
    const smtp = fixture.sender({ ca: TEST_CERTIFICATE });
    await smtp.send(
      'k',
      at(server, { security: 'starttls', login }),
      smallMessage(),
      controlOf().control,
    );
    expect(server.messages).toHaveLength(1);
    expect(server.plain.filter((line) => !/^(EHLO|STARTTLS)/.test(line))).toEqual([]);
  });

  it('is skipped only if the settings say so', async () => {
    const server = await fixture.serve({ tls: 'starttls' });
    await fixture.sender().send('k', at(server), smallMessage(), controlOf().control);
    expect(said(server.commands)).not.toContain('STARTTLS');
  });
});

describe("SmtpSender: a server's reply text", () => {
  it('is shown as one short line without control characters', async () => {
    const server = await fixture.serve({
      answer: (step) =>
        step === 'mail'
          ? `550-5.7.1 first \x1b[31mred\r\n550-5.7.1 second\u202e\r\n550 5.7.1 ${'x'.repeat(5_000)}`
          : undefined,
    });
    const error = await failureOf(
      fixture.sender().send('k', at(server), smallMessage(), controlOf().control),
    );
    expect(error.message).toMatch(/^550 5\.7\.1 first \[31mred second x+…$/);
    expect(error.message).toHaveLength(300);
  });

  it('is shortened for each recipient', async () => {
    const server = await fixture.serve({
      answer: (step) => (step === 'rcpt' ? `550 5.1.1 ${'x'.repeat(5_000)}` : undefined),
    });
    const many = Array.from({ length: 50 }, (_, n) => `to${n}@there.test`);
    const error = await failureOf(
      fixture.sender().send('k', at(server), smallMessage(many), controlOf().control),
    );
    expect(error.refused).toHaveLength(50);
    expect(error.message.length).toBeLessThan(1_100);
  });
});
