import { randomUUID } from 'node:crypto';
import net, { type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { ImapFlow } from 'imapflow';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import type { ImapSettings } from '../../src/providers/imap/imap.settings.ts';
import { answerOf } from '../../src/providers/imap/sessions/imap-connection.ts';
import type { ImapLimits } from '../../src/providers/imap/sessions/imap-limits.ts';
import { ImapSessions } from '../../src/providers/imap/sessions/imap-sessions.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, type MailUser } from '../support/mail-servers/mail-servers.ts';
import { type Judge, TcpProxy } from '../support/tcp-proxy.ts';
import { TEST_CERTIFICATE } from '../support/tls-certificate.ts';
import { until } from '../support/until.ts';

const LOOPBACK = ['127.0.0.0/8', '::1'];

describeWith(['dovecot', 'exim4'], 'connections to IMAP servers', () => {
  let servers: MailServers;
  let user: MailUser;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    servers = await MailServers.start({ oauth: true });
    user = await servers.addUser();
  });
  afterEach(async () => {
    for (const thing of open.splice(0).toReversed()) await thing.close();
  });
  afterAll(() => servers.stop());

  const sessionsOf = (limits: Partial<ImapLimits> = {}, allow: readonly string[] = LOOPBACK) => {
    const sessions = new ImapSessions(new EgressPolicy(allow), { ca: TEST_CERTIFICATE, ...limits });
    open.push(sessions);
    return sessions;
  };
  const proxyTo = async (judgeNext?: () => Judge) => {
    const proxy = await TcpProxy.start(servers.dovecot.ports.imap, judgeNext);
    open.push({ close: () => proxy.stop() });
    return proxy;
  };
  const accountOf = (
    overrides: Partial<ImapSettings> = {},
    { accountId = 'a-1', accessToken = undefined as string | undefined, who = user } = {},
  ): ProviderAccount => ({
    accountId,
    applicationId: 'app',
    email: who.email,
    name: '',
    organizationUnit: 'folder',
    settings: servers.settingsOf(who, overrides),
    ...(accessToken === undefined ? {} : { accessToken }),
  });
  const byToken = (accessToken: string) => accountOf({ imap_password: undefined }, { accessToken });
  const count = async (client: ImapFlow) => (await client.list()).length;

  describe('with wrong settings', () => {
    const wrong: [string, () => Partial<ImapSettings>, string, string | null, RegExp, Partial<ImapLimits>][] = [
      ['a wrong password', () => ({ imap_password: 'wrong-1' }), 'auth-invalid', 'imap_password', /Authentication failed/, {}],
      ['an unknown user', () => ({ imap_username: 'nobody@example.test' }), 'auth-invalid', 'imap_password', /Authentication failed/, {}],
      ['a port without a server', () => ({ imap_port: 1 }), 'temporary', 'imap_port', /no connection/, {}],
      ['a host that does not exist', () => ({ imap_host: 'nowhere.invalid' }), 'temporary', 'imap_host', /does not resolve/, {}],
      ['TLS at a port without it', () => ({ imap_security: 'tls' }), 'temporary', 'imap_security', /does not speak TLS/, {}],
      ['no TLS at a port with it', () => ({ imap_port: servers.dovecot.ports.imaps }), 'temporary', 'imap_port', /did not greet/, { connectMs: 3_000 }],
      ['another service', () => ({ imap_port: servers.exim.port }), 'temporary', null, /./, { connectMs: 3_000 }],
    ]; // oxfmt-ignore
    it.each(wrong)(
      'report the wrong setting: %s',
      async (_, overrides, code, setting, words, limits) => {
        const sessions = sessionsOf(limits);
        const error = await failureOf(sessions.useOnce(accountOf(overrides()), count));
        expect(error).toMatchObject({ code, ...(setting === null ? {} : { setting }) });
        expect(error.message).toMatch(words);
        expect(sessions.size).toBe(0);
      },
    );

    it('leave no connection open at the server', async () => {
      const sessions = sessionsOf();
      const before = await servers.dovecot.doveadm('who', user.email);
      await failureOf(sessions.useOnce(accountOf({ imap_password: 'wrong-1' }), count));
      expect(await servers.dovecot.doveadm('who', user.email)).toBe(before);
    });
  });

  describe('over TLS', () => {
    const secured: [string, () => Partial<ImapSettings>][] = [
      ['tls', () => ({ imap_security: 'tls', imap_port: servers.dovecot.ports.imaps })],
      ['starttls', () => ({ imap_security: 'starttls' })],
    ];
    it.each(secured)('with %s work if the certificate is trusted', async (_, overrides) => {
      const isSecure = async (client: ImapFlow) => client.secureConnection;
      await expect(sessionsOf().use(accountOf(overrides()), isSecure)).resolves.toBe(true);
    });

    it.each(secured)(
      'with %s are refused if the certificate is self-signed',
      async (_, overrides) => {
        const sessions = sessionsOf({ ca: undefined });
        const error = await failureOf(sessions.useOnce(accountOf(overrides()), count));
        expect(error).toMatchObject({ code: 'temporary', setting: 'imap_security' });
        expect(error.message).toContain('self-signed');
      },
    );

    it.each(secured)(
      'with %s are refused if the certificate is for another name',
      async (_, overrides) => {
        // Every loopback address reaches the server, but only one is in the certificate.
        const account = accountOf({ ...overrides(), imap_host: '127.0.0.2' });
        const proxy = await proxyAt('127.0.0.2', Number(account.settings['imap_port']));
        open.push(proxy);
        const moved = { ...account, settings: { ...account.settings, imap_port: proxy.port } };
        const error = await failureOf(sessionsOf().useOnce(moved, count));
        expect(error.message).toContain('another host name');
      },
    );

    it('send no credentials if the server offers no STARTTLS', async () => {
      const server = await scripted(['* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hello']);
      open.push(server);
      const error = await failureOf(
        sessionsOf().useOnce(
          accountOf({ imap_security: 'starttls', imap_port: server.port }),
          count,
        ),
      );
      expect(error).toMatchObject({ code: 'unsupported', setting: 'imap_security' });
      expect(server.said.join('')).not.toMatch(/LOGIN|AUTHENTICATE/);
    });

    it('are refused if the server claims before TLS that they are already logged in', async () => {
      const server = await scripted(['* PREAUTH [CAPABILITY IMAP4rev1 STARTTLS] hello']);
      open.push(server);
      const account = accountOf({ imap_security: 'starttls', imap_port: server.port });
      const error = await failureOf(sessionsOf({ silenceMs: 500 }).useOnce(account, count));
      expect(['temporary', 'unsupported']).toContain(error.code);
      expect(server.said.join('')).not.toContain('LIST');
    });
  });

  describe('under the rules for outgoing connections', () => {
    it.each(['tls', 'starttls', 'none'] as const)(
      'do not reach private addresses (%s)',
      async (security) => {
        const sessions = sessionsOf({}, []);
        for (const imap_host of ['127.0.0.1', 'localhost']) {
          const account = accountOf({ imap_host, imap_security: security });
          expect(await failureOf(sessions.useOnce(account, count))).toMatchObject({
            code: 'unsupported',
          });
          // For an account that has worked before, the failure may be temporary.
          expect(await failureOf(sessions.use(account, count))).toMatchObject({
            code: 'temporary',
          });
        }
      },
    );

    it.each(['tls', 'starttls', 'none'] as const)(
      'reach hosts that are allowed by name (%s)',
      async (security) => {
        const imap_port = servers.dovecot.ports[security === 'tls' ? 'imaps' : 'imap'];
        const account = accountOf({ imap_host: 'localhost', imap_security: security, imap_port });
        await expect(sessionsOf({}, ['localhost']).use(account, count)).resolves.toBeGreaterThan(0);
      },
    );
  });

  describe('between uses', () => {
    it('are kept for the same login only', async () => {
      const proxy = await proxyTo();
      const sessions = sessionsOf();
      const imap_port = proxy.port;
      for (let n = 0; n < 3; n++) await sessions.use(accountOf({ imap_port }), count);
      expect(proxy.connections).toBe(1);
      await sessions.use(accountOf({ imap_port }, { accountId: 'a-2' }), count);
      expect(proxy.connections).toBe(2);
      await failureOf(sessions.use(accountOf({ imap_port, imap_password: 'another' }), count));
      expect(proxy.connections).toBe(3);
    });

    it('are closed after a while', async () => {
      const sessions = sessionsOf({ idleMs: 50 });
      await sessions.use(accountOf(), count);
      expect(sessions.size).toBe(1);
      await until('all connections to be closed', async () => sessions.size === 0);
    });

    it('survive a refused command', async () => {
      const proxy = await proxyTo();
      const sessions = sessionsOf();
      const account = accountOf({ imap_port: proxy.port });
      const error = await failureOf(
        sessions.use(account, (client) => client.mailboxOpen('Nowhere')),
      );
      expect(error.code).toBe('not-found');
      const silent = sessions.use(account, (client) =>
        client.status('Nowhere', { messages: true }),
      );
      expect((await failureOf(silent)).code).toBe('not-found');
      await sessions.use(account, count);
      expect(proxy.connections).toBe(1);
    });

    it('are closed when the work itself fails', async () => {
      const proxy = await proxyTo();
      const sessions = sessionsOf();
      const account = accountOf({ imap_port: proxy.port });
      const bug = new TypeError('broken');
      const error = await failureOf(sessions.use(account, () => Promise.reject(bug)));
      expect(error).toMatchObject({ code: 'temporary', cause: bug });
      expect(sessions.size).toBe(0);
      await sessions.use(account, count);
      expect(proxy.connections).toBe(2);
    });

    it('are opened again after the server restarts', async () => {
      const sessions = sessionsOf();
      await sessions.use(accountOf(), count);
      await servers.dovecot.end();
      await until('the loss to be noticed', async () => sessions.size === 0);
      expect((await failureOf(sessions.use(accountOf(), count))).code).toBe('temporary');
      await servers.dovecot.begin();
      await expect(sessions.use(accountOf(), count)).resolves.toBeGreaterThan(0);
    });

    it('are checked before use, and replaced if they are dead', async () => {
      const proxy = await proxyTo();
      const sessions = sessionsOf({ probeAfterMs: 0, probeMs: 200 });
      const account = accountOf({ imap_port: proxy.port });
      await sessions.use(account, count);
      // From now on everything sent over the first connection is lost without an error.
      let isFirst = true;
      proxy.block(() => isFirst && proxy.connections < 2);
      const used = sessions.use(account, count);
      await until('another connection', async () => proxy.connections === 2);
      isFirst = false;
      await expect(used).resolves.toBeGreaterThan(0);
      proxy.unblock();
    });
  });

  describe('that break', () => {
    it('end the work in time when the server falls silent, and are not kept', async () => {
      const proxy = await proxyTo();
      // The login must be complete within this time too.
      const sessions = sessionsOf({ silenceMs: 4_000 });
      const account = accountOf({ imap_port: proxy.port });
      await sessions.use(account, count);
      proxy.block();
      const error = await failureOf(sessions.use(account, count));
      expect(error).toMatchObject({
        code: 'temporary',
        message: 'the server did not answer in time',
      });
      proxy.unblock();
      await expect(sessions.use(account, count)).resolves.toBeGreaterThan(0);
    });

    it('end the work in time when the server sends no greeting', async () => {
      const proxy = await proxyTo(() => () => 'swallow');
      const error = await failureOf(
        sessionsOf({ connectMs: 500 }).use(accountOf({ imap_port: proxy.port }), count),
      );
      expect(error).toMatchObject({ code: 'temporary', setting: 'imap_port' });
    });

    it('fail the current work with a temporary error when they are reset, and are replaced', async () => {
      const proxy = await proxyTo();
      const sessions = sessionsOf();
      const account = accountOf({ imap_port: proxy.port });
      const error = await failureOf(
        sessions.use(account, async (client) => {
          const closed = new Promise<void>((resolve) => void client.once('close', resolve));
          proxy.reset();
          await closed;
          return count(client);
        }),
      );
      expect(error.code).toBe('temporary');
      expect(error.message).toMatch(/connection/);
      await expect(sessions.use(account, count)).resolves.toBeGreaterThan(0);
    });

    it('do not report a wrong password if they break in the middle of a login', async () => {
      let pieces = 0;
      const proxy = await proxyTo(
        () =>
          ({ from }) =>
            from === 'client' && ++pieces > 1 ? 'reset' : 'pass',
      );
      const error = await failureOf(
        sessionsOf().useOnce(accountOf({ imap_port: proxy.port }), count),
      );
      expect(error.code).toBe('temporary');
    });

    it("report the server's words when the server says BYE", async () => {
      const bye = '* BYE Too many connections from your address';
      for (const greeting of [bye, `* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hello\r\n${bye}`]) {
        const server = await scripted([greeting]);
        open.push(server);
        const use = sessionsOf().useOnce(accountOf({ imap_port: server.port }), count);
        const error = await failureOf(use);
        expect(error).toMatchObject({ code: 'rate-limited', retryAfterSeconds: 60 });
        expect(error.message).toContain('Too many connections');
      }
    });
  });

  describe('with work that takes too long', () => {
    it('are closed', async () => {
      const sessions = sessionsOf();
      const never = () => new Promise<never>(() => undefined);
      const error = await failureOf(sessions.use(accountOf(), never, { limitMs: 50 }));
      expect(error.code).toBe('temporary');
      expect(sessions.size).toBe(0);
    });

    it('are closed when the caller has stopped waiting', async () => {
      const sessions = sessionsOf();
      const abort = new AbortController();
      const use = sessions.use(
        accountOf(),
        async (client) => {
          abort.abort();
          return count(client);
        },
        { signal: abort.signal },
      );
      expect(await failureOf(use)).toMatchObject({ code: 'temporary', message: 'given up' });
      expect(sessions.size).toBe(0);
    });
  });

  describe('with many callers', () => {
    it('never exceed the limit of an account, and serve every caller in order', async () => {
      const sessions = sessionsOf({ perAccount: 2 });
      let [now, most] = [0, 0];
      const both = Promise.withResolvers<void>();
      const uses = Array.from({ length: 40 }, () =>
        sessions.use(accountOf(), async (client) => {
          most = Math.max(most, ++now);
          if (now === 2) both.resolve();
          // A fast session could serve all callers before the second one exists.
          await both.promise;
          await client.noop();
          now--;
        }),
      );
      await Promise.all(uses);
      expect(most).toBe(2);
      expect(sessions.size).toBe(2);
    });

    it('never exceed the limit of a host, and idle ones are closed for others', async () => {
      const sessions = sessionsOf({ perHost: 3 });
      let [now, most] = [0, 0];
      const three = Promise.withResolvers<void>();
      const uses = Array.from({ length: 24 }, (_, n) =>
        sessions.use(accountOf({}, { accountId: `a-${n % 8}` }), async (client) => {
          most = Math.max(most, sessions.size);
          if (++now === 3) three.resolve();
          await three.promise;
          await client.noop();
          now--;
        }),
      );
      await Promise.all(uses);
      expect(most).toBe(3);
    });

    it('are waited for until the time limit, or until the caller stops waiting', async () => {
      const sessions = sessionsOf({ perAccount: 1, queueMs: 100 });
      const { promise, resolve } = Promise.withResolvers<void>();
      const first = sessions.use(accountOf(), () => promise);
      expect(await failureOf(sessions.use(accountOf(), count))).toMatchObject({
        code: 'rate-limited',
        retryAfterSeconds: 15,
      });
      const aborted = sessions.use(accountOf(), count, { signal: AbortSignal.abort() });
      await failureOf(aborted);
      resolve();
      await first;
      await expect(sessions.use(accountOf(), count)).resolves.toBeGreaterThan(0);
    });

    it('that could not be opened give their slot to the next caller', async () => {
      const sessions = sessionsOf({ perAccount: 1 });
      const wrong = accountOf({ imap_password: 'wrong-1' });
      const results = await Promise.allSettled([
        sessions.use(wrong, count),
        sessions.use(wrong, count),
        sessions.use(accountOf(), count),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    });

    it('are closed when the process ends', async () => {
      const sessions = sessionsOf({ perAccount: 1 });
      const uses = [1, 2].map(() =>
        sessions.use(
          accountOf(),
          (client) =>
            new Promise<never>((_, reject) => {
              client.once('close', () => reject(new Error('closed')));
            }),
        ),
      );
      await until('a connection', async () => sessions.size === 1);
      await sessions.close();
      for (const use of uses) expect((await failureOf(use)).code).toBe('temporary');
      expect((await failureOf(sessions.use(accountOf(), count))).message).toContain(
        'shutting down',
      );
      expect(sessions.size).toBe(0);
    });
  });

  describe('with OAuth', () => {
    it('are logged in with a token, and refused with an expired or revoked one', async () => {
      const { accessToken } = await servers.issuer!.tokens(user.email);
      await expect(sessionsOf().use(byToken(accessToken), count)).resolves.toBeGreaterThan(0);
      await servers.issuer!.revoke(accessToken);
      expect(await failureOf(sessionsOf().use(byToken(accessToken), count))).toMatchObject({
        code: 'auth-invalid',
      });
      await servers.issuer!.setAccessTokenSeconds(1);
      const short = await servers.issuer!.tokens(user.email);
      await until('the token to expire', async () => {
        const sessions = sessionsOf();
        return sessions.use(byToken(short.accessToken), count).then(
          () => false,
          (error: ProviderError) =>
            error.code === 'auth-invalid' && !error.message.includes(short.accessToken),
        );
      });
    });

    it("are refused with another user's token", async () => {
      await servers.issuer!.setAccessTokenSeconds(600);
      const other = await servers.addUser();
      const { accessToken } = await servers.issuer!.tokens(other.email);
      expect(await failureOf(sessionsOf().use(byToken(accessToken), count))).toMatchObject({
        code: 'auth-invalid',
      });
    });

    it('are not tried without a token', async () => {
      expect(await failureOf(sessionsOf().use(byToken(''), count))).toMatchObject({
        code: 'temporary',
      });
    });
  });

  it('report why the server refused a command', async () => {
    const sessions = sessionsOf();
    const error = await failureOf(
      sessions.use(accountOf(), async (client) => {
        await client.append('INBOX', `Message-ID: <${randomUUID()}@x.test>\r\n\r\nx`);
        await client.mailboxOpen('INBOX');
        return answerOf(client, client.messageCopy('1:*', 'Nowhere', { uid: true }));
      }),
    );
    expect(error.code).toBe('not-found');
  });
});

async function failureOf(promise: Promise<unknown>): Promise<ProviderError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!('error' in outcome))
    throw new Error(`It did not fail, but returned ${JSON.stringify(outcome.value)}`);
  expect(outcome.error).toBeInstanceOf(ProviderError);
  return outcome.error as ProviderError;
}

/** Makes a local port reachable at another address. */
async function proxyAt(host: string, target: number) {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    const onward = net.connect(target, '127.0.0.1');
    for (const end of [socket, onward]) sockets.add(end.on('error', () => undefined));
    socket.pipe(onward).pipe(socket);
  });
  return listen(server, host, sockets);
}

/** A server that greets, answers OK to every command, and records what it received. */
async function scripted([greeting]: [string]) {
  const said: string[] = [];
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.write(`${greeting}\r\n`);
    socket.on('data', (bytes) => {
      said.push(bytes.toString());
      if (greeting.includes('BYE')) return socket.end();
      for (const [, tag, command] of bytes.toString().matchAll(/^(\S+) (\S+)/gm))
        socket.write(`${tag} ${command === 'STARTTLS' ? 'BAD no' : 'OK done'}\r\n`);
    });
  });
  return { ...(await listen(server, '127.0.0.1', sockets)), said };
}

async function listen(server: net.Server, host: string, sockets: ReadonlySet<Socket>) {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
