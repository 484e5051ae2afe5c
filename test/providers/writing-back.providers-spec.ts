import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort } from '../../src/providers/port/connector.ts';
import { ImapMailbox } from '../../src/providers/imap/messages/imap-mailbox.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { type Correspondent, ImapFixture } from '../support/imap-fixture.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { mimeOf } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 60_000;

/**
 * A plain IMAP client sees changes made through the API, and the API shows changes made by the
 * client.
 */
describeWith(['dovecot', 'exim4'], 'changes through the API on a real server', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let fixture: ImapFixture;
  let server: TestApp;
  let one: Correspondent;
  let ada: TestAccount;

  beforeAll(async () => {
    fixture = await ImapFixture.start();
    server = await startTestApp({ SYNC_POLL_SECONDS: '5' });
    one = await fixture.correspondent();
    const { sessions, changes } = one;
    const mail: Partial<MailPort> = {
      listChanges: (...asked) => changes.listChanges(...asked),
      fetchRaw: (...asked) => changes.fetchRaw(...asked),
    };
    const connector = {
      name: 'imap',
      mail,
      mailbox: new ImapMailbox(sessions),
    } as unknown as Connector;
    server.app.get(ConnectorRegistry).replace(connector);
    const { email, settings } = one.account;
    ada = await createAccount(server.app, await createApplication(server.app), {
      provider: 'imap',
      email,
      settings: { ...settings },
    });
    await one.deliver(mimeOf({ to: email, subject: 'Hello' }));
    await scheduleSync(server.app.get(Database), ada.id);
    server.app.get(Signals).wake('sync');
    await until(
      'the message',
      async () => (await api('get', '/messages')).body.length === 1,
      PATIENCE_MS,
    );
  });
  afterAll(async () => {
    await server.close();
    await fixture.closeAll();
    await fixture.stop();
  });

  const api = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) =>
    request(server.url)[method](path).set(ada.bearer).send(body);
  async function done(asked: ReturnType<typeof api>) {
    const response = await asked;
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    const path = `/job-statuses/${response.body.job_status_id}`;
    const job = await until(
      'the end of the job',
      async () => {
        const { body } = await api('get', path);
        return body.status !== 'pending' && body;
      },
      PATIENCE_MS,
    );
    expect(job).toMatchObject({ status: 'successful' });
    return response.body;
  }
  /** The other client's view of a folder: flags and subject of each message. */
  async function there(folder: string) {
    const lock = await one.other.getMailboxLock(folder);
    try {
      // The client keeps its old view of a selected mailbox until a command lets the server report
      // changes.
      await one.other.noop();
      const seen: { subject: string; flags: string[] }[] = [];
      if (!one.other.mailbox || one.other.mailbox.exists === 0) return seen;
      for await (const { envelope, flags } of one.other.fetch('1:*', {
        envelope: true,
        flags: true,
      }))
        seen.push({ subject: envelope?.subject ?? '', flags: [...(flags ?? [])].sort() });
      return seen;
    } finally {
      lock.release();
    }
  }

  it('of flags and folders arrive in the mailbox', async () => {
    const [message] = (await api('get', '/messages')).body;
    await done(api('put', `/messages/${message.id}`, { unread: false, starred: true }));
    expect(await there('INBOX')).toMatchObject([
      { subject: 'Hello', flags: expect.arrayContaining(['\\Flagged', '\\Seen']) },
    ]);
    const folder = await done(api('post', '/folders', { display_name: 'Grüße' }));
    await done(api('put', `/messages/${message.id}`, { folder_id: folder.id }));
    expect(await there('INBOX')).toEqual([]);
    expect(await there('Grüße')).toMatchObject([{ subject: 'Hello' }]);
    await done(api('put', `/folders/${folder.id}`, { display_name: 'Briefe' }));
    expect(await there('Briefe')).toMatchObject([{ subject: 'Hello' }]);
    expect((await api('get', `/messages/${message.id}`)).body.folder).toMatchObject({
      display_name: 'Briefe',
    });

    const lock = await one.other.getMailboxLock('Briefe');
    await one.other.messageFlagsRemove('1:*', ['\\Flagged']);
    lock.release();
    await until(
      'the changes made by the other client',
      async () => (await api('get', `/messages/${message.id}`)).body.starred === false,
      PATIENCE_MS,
    );
  });

  it('of drafts arrive in the mailbox', async () => {
    const drafts = (await api('get', '/folders')).body.find(
      ({ name }: { name: string }) => name === 'drafts',
    );
    const draft = await done(
      api('post', '/drafts', { subject: 'First', to: [{ email: 'bo@example.test' }] }),
    );
    expect(await there(drafts.display_name)).toMatchObject([{ subject: 'First' }]);
    await done(api('put', `/drafts/${draft.id}`, { subject: 'Second', version: 0 }));
    expect(await there(drafts.display_name)).toMatchObject([{ subject: 'Second' }]);
    expect((await api('get', '/drafts')).body).toMatchObject([{ id: draft.id, subject: 'Second' }]);
    await done(api('delete', `/drafts/${draft.id}`, { version: 1 }));
    expect(await there(drafts.display_name)).toEqual([]);
  });
});
