import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ImapFlow } from 'imapflow';
import Nylas from 'nylas';
import draftModule from 'nylas/lib/models/draft.js';
import request from 'supertest';
import { createApplication } from '../support/factories.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { default: Draft } = draftModule;

/** The three ways to send within a request, between two real mailboxes. */
describeWith(['dovecot', 'exim4'], 'sending over real servers', () => {
  let servers: MailServers;
  let server: TestApp;
  let ada: RealAccount;
  let bo: RealAccount;

  beforeAll(async () => {
    servers = await MailServers.start();
    // Changes in other folders than the inbox are noticed by the next sync pass, so the passes are
    // frequent.
    server = await startTestApp({ SYNC_POLL_WATCHED_SECONDS: '2' });
    const application = await createApplication(server.app);
    const connect = async () => {
      const user = await servers.addUser();
      return connectMailbox(server, application, user, servers.settingsOf(user));
    };
    [ada, bo] = [await connect(), await connect()];
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
  });

  const client = (account: RealAccount) =>
    Nylas.with(account.bearer['authorization']?.split(' ')[1] ?? '');
  const received = (subject: string) =>
    until(
      `"${subject}" at ${bo.email}`,
      async () => (await client(bo).messages.list({ subject }))[0],
    );
  const sentCopies = async (subject: string) => {
    const imap = await servers.client(ada);
    await imap.mailboxOpen('Sent');
    const found = await imap.search({ subject }, { uid: true });
    await imap.logout();
    return found || [];
  };
  const copyIs = (id: string | undefined) =>
    until('the copy', () =>
      client(ada)
        .messages.find(id ?? '')
        .catch(() => undefined),
    );

  it('sends a message, which arrives, and files one copy under the id of the response', async () => {
    const to = [{ email: bo.email, name: 'Bo' }];
    const message = await new Draft(client(ada), {
      subject: 'Direct form',
      body: '<p>Hi</p>',
      to,
    }).send();
    expect(await received('Direct form')).toMatchObject({ snippet: 'Hi' });
    expect(await copyIs(message.id)).toMatchObject({ subject: 'Direct form' });
    expect(await sentCopies('Direct form')).toHaveLength(1);
  });

  it('sends a stored draft, which disappears at the provider', async () => {
    const to = [{ email: bo.email, name: 'Bo' }];
    const draft = new Draft(client(ada), { subject: 'Stored form', body: '<p>Hi</p>', to });
    await draft.save();
    const drafts = async () => {
      const imap = await servers.client(ada);
      await imap.mailboxOpen('Drafts');
      const found = (await imap.search({ subject: 'Stored form' }, { uid: true })) || [];
      await imap.logout();
      return found.length;
    };
    await until('the draft at the server', async () => (await drafts()) === 1);
    const message = await draft.send();
    await received('Stored form');
    await until('the deletion of the draft at the server', async () => (await drafts()) === 0);
    expect(await copyIs(message.id)).toMatchObject({ subject: 'Stored form' });
    expect(await client(ada).drafts.list()).toEqual([]);
  });

  it('keeps the file of a draft through changes by us and by another program, and sends it', async () => {
    const api = (method: 'get' | 'post' | 'put', path: string, by = ada) =>
      request(server.url)[method](path).set(by.bearer);
    const bytes = Buffer.from(
      Array.from({ length: 5 * 1024 * 1024 }, (_, at) => (at * 31 + (at >> 9)) & 255),
    );
    const uploaded = await api('post', '/files')
      .attach('file', bytes, { filename: 'plan.bin' })
      .expect(200);
    const inDrafts = async <T>(use: (imap: ImapFlow) => Promise<T>): Promise<T> => {
      const imap = await servers.client(ada);
      try {
        await imap.mailboxOpen('Drafts');
        return await use(imap);
      } finally {
        await imap.logout();
      }
    };
    const there = (subject: string) =>
      until(`"${subject}" at the server, once and alone`, () =>
        inDrafts(async (imap) => {
          if (!imap.mailbox || imap.mailbox.exists === 0) return false;
          const all = await imap.fetchAll('1:*', { envelope: true, source: true, uid: true });
          return all.length === 1 && all[0]?.envelope?.subject === subject && all[0];
        }),
      );
    const attached = (mime: Buffer | undefined) =>
      String(mime).match(/filename="?plan\.bin/g)?.length;
    const listed = (subject: string) =>
      until(`"${subject}" in the list, once`, async () => {
        const { body } = await api('get', '/drafts');
        return body.length === 1 && body[0].subject === subject && body[0];
      });

    await api('post', '/drafts')
      .send({ subject: 'Ours', to: [{ email: bo.email }], file_ids: [uploaded.body[0].id] })
      .expect(200);
    const ours = await there('Ours');
    expect(attached(ours.source)).toBe(1);
    // As mail programs do: store the next version first, then delete the previous one.
    const theirs = String(ours.source)
      .replace('Subject: Ours', 'Subject: Theirs')
      .replace(/^Message-ID:\s*</im, '$&x');
    await inDrafts(async (imap) => {
      await imap.append('Drafts', Buffer.from(theirs), ['\\Draft', '\\Seen']);
      await imap.messageDelete(String(ours.uid), { uid: true });
    });
    const draft = await listed('Theirs');
    expect(draft.files).toMatchObject([{ filename: 'plan.bin' }]);
    await api('put', `/drafts/${draft.id}`)
      .send({ subject: 'Ours again', version: draft.version })
      .expect(200);
    expect(attached((await there('Ours again')).source)).toBe(1);
    const { id, version } = await listed('Ours again');
    await api('post', '/send').send({ draft_id: id, version }).expect(200);
    const { id: arrived } = await received('Ours again');
    const [file] = (await api('get', `/messages/${arrived}`, bo)).body.files;
    const download = await fetch(`${server.url}/files/${file.id}/download`, { headers: bo.bearer });
    expect(bytes.equals(Buffer.from(await download.arrayBuffer()))).toBe(true);
  });

  it('sends raw MIME without Bcc, and files it with its own Message-ID', async () => {
    const rawMime = [
      `From: Ada <${ada.email}>`,
      `To: ${bo.email}`,
      `Bcc: ${ada.email}`,
      'Subject: Raw form',
      'Message-ID: <raw-form@there.test>',
      '',
      'Good day.',
    ].join('\r\n');
    const message = await new Draft(client(ada), { rawMime, to: [] }).send();
    const arrived = await received('Raw form');
    const raw = await request(server.url)
      .get(`/messages/${arrived.id}`)
      .set(bo.bearer)
      .set('accept', 'message/rfc822');
    expect(raw.text).toContain('Message-ID: <raw-form@there.test>');
    expect(raw.text).not.toMatch(/^Bcc:/im);
    expect(await copyIs(message.id)).toMatchObject({ subject: 'Raw form' });
  });

  it("reports the server's words when the server refuses the content or one of the recipients", async () => {
    const to = [{ email: bo.email, name: '' }];
    const refused = new Draft(client(ada), { subject: 'VIRUS', to }).send();
    await expect(refused).rejects.toMatchObject({
      statusCode: 402,
      serverError: '550 : 5.7.1 content rejected',
    });
    expect(await sentCopies('VIRUS')).toHaveLength(0);
    const full = `full@${bo.email.split('@')[1]}`;
    const partly = await request(server.url)
      .post('/send')
      .set(ada.bearer)
      .send({ to: [...to, { email: full }], subject: 'To one of two' });
    expect([partly.status, Object.keys(partly.body.failures)]).toEqual([402, [full]]);
    await received('To one of two');
  });
});
