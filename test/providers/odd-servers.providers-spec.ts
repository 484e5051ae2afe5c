import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import request from 'supertest';
import { SMTPServer } from 'smtp-server';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { ImapProxy } from '../support/imap-proxy.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, mimeOf, type MailUser } from '../support/mail-servers/mail-servers.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Message {
  id: string;
  subject: string;
  date: number;
  unread: boolean;
  starred: boolean;
  folder: { name: string | null };
}

describeWith(['dovecot', 'exim4'], 'an account at a server that answers oddly', () => {
  const clock = new PassingClock();
  const open: ImapProxy[] = [];
  let servers: MailServers;
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    servers = await MailServers.start();
    server = await startTestApp({}, { clock });
    application = await createApplication(server.app);
  });
  afterEach(async () => {
    for (const proxy of open.splice(0)) await proxy.stop();
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
  });

  async function connect(
    user: MailUser,
    rewrite: (text: string) => string,
    settings: object = {},
  ): Promise<RealAccount> {
    const proxy = await ImapProxy.start(servers.dovecot.ports.imap, { rewrite });
    open.push(proxy);
    const all = { ...servers.settingsOf(user, { imap_port: proxy.port }), ...settings };
    return connectMailbox(server, application, user, all);
  }
  const call = (account: RealAccount, method: 'get' | 'put' | 'post', path: string, body = {}) =>
    request(server.url)[method](path).set(account.bearer).send(body);
  const messages = async (account: RealAccount, count: number) =>
    until('the messages', async () => {
      const { body } = await call(account, 'get', '/messages');
      return (body as Message[]).length === count && (body as Message[]);
    });
  const byHeader = Date.UTC(2024, 1, 29, 11) / 1000;
  const dated = { Subject: 'dated', Date: 'Thu, 29 Feb 2024 12:00:00 +0100 (CET)' };

  it.each<[string, string]>([
    ['no INTERNALDATE', ''],
    ['INTERNALDATE NIL', 'INTERNALDATE NIL'],
    ['an impossible INTERNALDATE', 'INTERNALDATE "45-Foo-2024 99:00:00 +0000"'],
    ['the beginning of 1970', 'INTERNALDATE "01-Jan-1970 00:00:00 +0000"'],
  ])(
    'dates messages by their header, else by their discovery, if the server answers %s',
    async (_, answer) => {
      const user = await servers.addUser();
      await servers.deliver(user, mimeOf(dated), 'Subject: undated\r\n\r\nx\r\n');
      const before = Math.floor(Date.now() / 1000) - 600;
      const account = await connect(user, (text) =>
        text.replace(/ ?INTERNALDATE "[^"]*"/g, answer && ` ${answer}`),
      );
      const found = await messages(account, 2);
      const dateOf = (subject: string) => found.find((one) => one.subject === subject)?.date;
      expect(dateOf('dated')).toBe(byHeader);
      expect(dateOf('undated')).toBeGreaterThan(before);
    },
  );

  it('reads and stores flags, attributes and folder roles that the server writes in capitals', async () => {
    const user = await servers.addUser();
    await servers.deliver(user, mimeOf({ Subject: 'new' }), mimeOf({ Subject: 'read' }));
    const other = await servers.client(user);
    await other.mailboxOpen('INBOX');
    await other.messageFlagsAdd('2', ['\\Seen', '\\Flagged']);
    const account = await connect(user, (text) =>
      text.replace(/\\[A-Z][A-Za-z]+/g, (flag) => flag.toUpperCase()),
    );
    const found = await messages(account, 2);
    const of = (subject: string) => found.find((one) => one.subject === subject);
    expect(of('new')).toMatchObject({ unread: true, starred: false });
    expect(of('read')).toMatchObject({ unread: false, starred: true });
    const folders = (await call(account, 'get', '/folders')).body as { name: string | null }[];
    expect(folders.map(({ name }) => name)).toEqual(expect.arrayContaining(['sent', 'trash']));
    const changed = await call(account, 'put', `/messages/${of('new')?.id}`, { unread: false });
    const { job_status_id: job } = changed.body as { job_status_id: string };
    await until('the job', async () => {
      const { body } = await call(account, 'get', `/job-statuses/${job}`);
      return (body as { status: string }).status === 'successful';
    });
    const flags = await other.fetchOne('1', { flags: true });
    expect(flags && [...(flags.flags ?? [])]).toContain('\\Seen');
    await other.logout();
  });

  it('shows messages that are marked as deleted until the server removes them', async () => {
    const user = await servers.addUser();
    await servers.deliver(user, mimeOf({ Subject: 'marked' }), mimeOf({ Subject: 'other' }));
    const other = await servers.client(user);
    await other.mailboxOpen('INBOX');
    await other.messageFlagsAdd('1', ['\\Deleted']);
    const account = await connect(user, (text) => text);
    await messages(account, 2);
    await other.messageDelete('1');
    const [left] = await messages(account, 1);
    expect(left?.subject).toBe('other');
    await other.logout();
  });

  it.each([
    ['552 5.5.3 Too many recipients'],
    ['552 Too many recipients'],
    ['552 Sorry'],
    ['550 5.5.3 Too many recipients'],
    ['554 5.5.3 Limit reached'],
  ])(
    'sends to the third recipient in a transaction of its own if the server answers %s',
    async (reply) => {
      const accepted: string[][] = [];
      const smtp = new SMTPServer({
        authOptional: true,
        disabledCommands: ['STARTTLS'],
        allowInsecureAuth: true,
        onAuth: (_auth, _session, done) => done(null, { user: 'somebody' }),
        onRcptTo(_address, { envelope }, done) {
          const refusal = Object.assign(new Error(reply.slice(4)), {
            responseCode: Number(reply.slice(0, 3)),
          });
          done(envelope.rcptTo.length >= 2 ? refusal : undefined);
        },
        onData(stream, { envelope }, done) {
          stream.on('end', () => {
            accepted.push(envelope.rcptTo.map(({ address }) => address));
            done();
          });
          stream.resume();
        },
      });
      smtp.listen(0, '127.0.0.1');
      await once(smtp.server, 'listening');
      try {
        const user = await servers.addUser();
        const { port } = smtp.server.address() as AddressInfo;
        const account = await connect(user, (text) => text, { smtp_port: port });
        const to = ['a', 'b', 'c'].map((name) => ({ email: `${name}@there.test` }));
        const sent = await call(account, 'post', '/v2/outbox', { to, subject: 'x', body: 'x' });
        const path = `/job-statuses/${(sent.body as { job_status_id: string }).job_status_id}?view=expanded`;
        const end = await until('the job to end', async () => {
          const { body } = await call(account, 'get', path);
          const { status, attempts } = body as {
            status: string;
            attempts: { next_at: number | null }[];
          };
          if (['successful', 'failed'].includes(status)) return body as { status: string };
          const wait = (attempts.at(-1)?.next_at ?? 0) * 1_000 - clock.now().getTime();
          if (wait > 0) await clock.pass(wait);
          return null;
        });
        expect(end.status).toBe('successful');
        expect(accepted).toEqual([['a@there.test', 'b@there.test'], ['c@there.test']]);
      } finally {
        await new Promise<void>((done) => smtp.close(() => done()));
      }
    },
  );
});
