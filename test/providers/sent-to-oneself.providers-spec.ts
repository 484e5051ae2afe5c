import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import { createApplication } from '../support/factories.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Shown {
  id: string;
  thread_id: string;
  starred: boolean;
}

/**
 * The mail server files sent messages itself, and the test decides when. So it also decides in
 * which order sync passes see the copy in Sent and the message in the inbox.
 */
describeWith(['dovecot', 'exim4'], 'a message to oneself over real servers', () => {
  let servers: MailServers;
  let server: TestApp;
  let ada: RealAccount;

  beforeAll(async () => {
    servers = await MailServers.start();
    server = await startTestApp({ SYNC_POLL_WATCHED_SECONDS: '2' });
    const user = await servers.addUser();
    const settings = servers.settingsOf(user, { smtp_files_sent: true });
    ada = await connectMailbox(server, await createApplication(server.app), user, settings);
    const imap = await servers.client(ada);
    await imap.mailboxCreate('Sent').catch(() => undefined);
    await imap.logout();
    await until('the Sent folder', async () => {
      const { body } = await request(server.url).get('/folders').set(ada.bearer);
      return (body as { name: string }[]).some(({ name }) => name === 'sent');
    });
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
  });

  const api = async <T>(
    method: 'get' | 'put' | 'post',
    path: string,
    body?: object,
  ): Promise<T> => {
    const answer = await request(server.url)[method](path).set(ada.bearer).send(body);
    expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined]);
    return answer.body as T;
  };
  const inFolder = (subject: string, folder: string) =>
    api<Shown[]>('get', `/messages?subject=${subject}&in=${folder}`);
  const arrived = (subject: string) =>
    until('the message in the inbox', async () => (await inFolder(subject, 'inbox'))[0]);
  const send = (subject: string, email: string) =>
    api<Shown>('post', '/send', { subject, body: '<p>Hi</p>', to: [{ email }] });
  async function rawOf(id: string): Promise<string> {
    const headers = { ...ada.bearer, accept: 'message/rfc822' };
    const answer = await fetch(`${server.url}/messages/${id}`, { headers });
    expect(answer.status).toBe(200);
    return answer.text();
  }
  /** Files the copy, as the mail server would, and waits until a change has reached it. */
  async function file(id: string): Promise<void> {
    const path = `/messages/${id}`;
    const { job_status_id } = await api<{ job_status_id: string }>('put', path, { starred: true });
    const imap = await servers.client(ada);
    await imap.append('Sent', await rawOf(id), ['\\Seen']);
    await imap.logout();
    await until(
      'the change',
      async () =>
        (await api<{ status: string }>('get', `/job-statuses/${job_status_id}`)).status ===
        'successful',
      30_000,
    );
  }
  async function starredAtServer(folder: string, subject: string): Promise<boolean[]> {
    const imap = await servers.client(ada);
    await imap.mailboxOpen(folder);
    const uids = (await imap.search({ subject }, { uid: true })) || [];
    const found =
      uids.length === 0 ? [] : await imap.fetchAll(uids, { flags: true }, { uid: true });
    await imap.logout();
    return found.map(({ flags }) => flags?.has('\\Flagged') ?? false);
  }
  async function expectBoth(subject: string, sent: Shown, received: Shown): Promise<void> {
    expect(received.id).not.toBe(sent.id);
    expect(received.thread_id).toBe(sent.thread_id);
    expect(await inFolder(subject, 'sent')).toMatchObject([{ id: sent.id, starred: true }]);
    expect(await inFolder(subject, 'inbox')).toMatchObject([{ id: received.id, starred: false }]);
    expect(await starredAtServer('Sent', subject)).toEqual([true]);
    expect(await starredAtServer('INBOX', subject)).toEqual([false]);
  }

  it('keeps two ids when a sync pass sees the inbox before Sent', async () => {
    const sent = await send('inbox-first', ada.email);
    const received = await arrived('inbox-first');
    expect(await inFolder('inbox-first', 'sent')).toMatchObject([{ id: sent.id }]);
    await file(sent.id);
    await expectBoth('inbox-first', sent, received);
  });

  it('keeps two ids when a sync pass sees Sent before the inbox', async () => {
    const other = await servers.addUser();
    const sent = await send('sent-first', other.email);
    await file(sent.id);
    // A mailing list, for example, returns the message to its author.
    await servers.deliver(ada, await rawOf(sent.id));
    await expectBoth('sent-first', sent, await arrived('sent-first'));
  });
});
