import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import { createApplication } from '../support/factories.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { type MailUser, MailServers } from '../support/mail-servers/mail-servers.ts';
import { type Judge, TcpProxy } from '../support/tcp-proxy.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MESSAGES = 6;
/** How long the mail server takes to file a copy: shorter than the 15 s before a look-up. */
const LAG_MS = 7_000;

/**
 * A mail server that files sent messages itself, but late. The response to each message is lost on
 * its way, and every second message as well.
 */
describeWith(['dovecot', 'exim4'], 'a real Sent folder that lags', () => {
  let servers: MailServers;
  let network: TcpProxy;
  let server: TestApp;
  let ada: RealAccount;
  let bo: MailUser;
  let cuts = 0;
  let filing: Promise<void>;
  const stopping = new AbortController();

  const judge = (): Judge => {
    let loses = false;
    return ({ from, bytes }) => {
      if (from === 'server') return loses ? 'reset' : 'pass';
      if (!bytes.includes('\r\n.\r\n') || cuts === MESSAGES) return 'pass';
      cuts += 1;
      loses = true;
      return cuts % 2 === 0 ? 'reset' : 'pass';
    };
  };

  /** The messages in the inbox of the recipient. */
  const arrived = async (): Promise<{ id: string; source: Buffer }[]> => {
    const imap = await servers.client(bo);
    const mailbox = await imap.mailboxOpen('INBOX');
    const found =
      mailbox.exists === 0 ? [] : await imap.fetchAll('1:*', { envelope: true, source: true });
    await imap.logout();
    return found.map(({ envelope, source }) => ({
      id: envelope?.messageId ?? '',
      source: source ?? Buffer.alloc(0),
    }));
  };
  /** Files a copy of each message some time after it has arrived, as the mail server would. */
  async function fileLate(): Promise<void> {
    const seenMs = new Map<string, number>();
    const filed = new Set<string>();
    while (!stopping.signal.aborted) {
      const now = performance.now();
      const messages = await arrived();
      for (const { id } of messages) if (!seenMs.has(id)) seenMs.set(id, now);
      const due = messages.filter(
        ({ id }) => !filed.has(id) && now - (seenMs.get(id) ?? now) >= LAG_MS,
      );
      const imap = await servers.client(ada);
      for (const { id, source } of due) {
        await imap.append('Sent', source, ['\\Seen']);
        filed.add(id);
      }
      await imap.logout();
      await delay(200);
    }
  }

  beforeAll(async () => {
    servers = await MailServers.start();
    server = await startTestApp();
    const user = await servers.addUser();
    bo = await servers.addUser();
    const imap = await servers.client(user);
    await imap.mailboxCreate('Sent').catch(() => undefined);
    await imap.logout();
    network = await TcpProxy.start(servers.exim.port, judge);
    const settings = servers.settingsOf(user, {
      smtp_files_sent: true,
      smtp_port: network.port,
    });
    ada = await connectMailbox(server, await createApplication(server.app), user, settings);
    filing = fileLate();
  });
  afterAll(async () => {
    stopping.abort();
    await filing;
    await server.close();
    await network.stop();
    await servers.stop();
  });

  it('makes no message arrive twice, and loses none', async () => {
    const jobs: string[] = [];
    for (let n = 0; n < MESSAGES; n += 1) {
      const { body } = await request(server.url)
        .post('/v2/outbox')
        .set(ada.bearer)
        .send({ to: [{ email: bo.email }], subject: `number ${n}`, body: 'Hello' })
        .expect(202);
      jobs.push(body.job_status_id as string);
    }
    const read = async (id: string) =>
      (await request(server.url).get(`/job-statuses/${id}?view=expanded`).set(ada.bearer)).body as {
        status: string;
        attempts: { outcome: string; detail: string }[];
      };
    const ended = await until(
      'all messages to be sent',
      async () => {
        const all = await Promise.all(jobs.map(read));
        return all.every(({ status }) => status === 'successful') && all;
      },
      90_000,
    );
    expect(cuts).toBe(MESSAGES);
    const ids = (await arrived()).map(({ id }) => id);
    expect(ids).toHaveLength(MESSAGES);
    expect(new Set(ids).size).toBe(MESSAGES);
    // The outcome of each first attempt was unknown, and a look-up settled it.
    for (const { attempts } of ended) expect(attempts[0]?.outcome).toBe('unknown');
    const found = ended.filter(({ attempts }) =>
      attempts.some(({ detail }) => detail === 'found among the sent messages'),
    );
    expect(found).toHaveLength(MESSAGES / 2);
  }, 150_000);
});
