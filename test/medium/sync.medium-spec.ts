import { randomUUID } from 'node:crypto';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { readBodies } from '../../src/mail/messages/contents/read-contents.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort, ProviderAccount } from '../../src/providers/port/connector.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { BatchStore } from '../../src/sync/messages/batch-store.ts';
import { CollectionPasses } from '../../src/sync/collections/collection-passes.ts';
import { FolderMirror } from '../../src/sync/folders/folder-mirror.ts';
import { ListedMessages } from '../../src/sync/messages/listed-messages.ts';
import { MessageReader } from '../../src/sync/messages/message-reader.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { MailboxSync } from '../../src/sync/mailbox-sync.ts';
import { MirrorAudit } from '../../src/sync/audit/mirror-audit.ts';
import { MailboxWatches } from '../../src/sync/watches/mailbox-watches.ts';
import { MirrorRepository } from '../../src/sync/mirror.repository.ts';
import { WatchLeases } from '../../src/sync/watches/watch-leases.ts';
import { outgoing, sendControl } from '../support/connector-contract.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { fakeLease } from '../support/engine-steps.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('MailboxSyncDispatcher', () => {
  let server: TestApp;
  let database: Database;
  let dispatcher: MailboxSyncDispatcher;
  let sandbox: MailPort;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    dispatcher = server.app.get(MailboxSyncDispatcher);
    sandbox = server.app.get(ConnectorRegistry).requireMail('sandbox');
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const asProvider = async (account: TestAccount): Promise<ProviderAccount> => {
    const found = await server.app.get(ProviderAccounts).find(account.id);
    if (!found) throw new Error('no such account');
    return found;
  };
  const connect = (overrides: Parameters<typeof createAccount>[2] = {}) =>
    createAccount(server.app, application, overrides);
  const sync = async (account: TestAccount) =>
    outcomeOf(await syncAccount(server.app, dispatcher, account.id));

  /** Puts a message from another address into the account's inbox. */
  async function deliver(
    account: TestAccount,
    overrides: { mime?: Buffer; subject?: string; headers?: string[] } = {},
  ): Promise<string> {
    const to = await asProvider(account);
    const from = { ...to, email: `somebody-${randomUUID()}@elsewhere.test` };
    const { subject, headers = [] } = overrides;
    const message = outgoing(from, [account.email], subject === undefined ? {} : { subject });
    const mime =
      overrides.mime ??
      Buffer.concat([Buffer.from(headers.map((line) => `${line}\r\n`).join('')), message.mime]);
    await sandbox.send(from, { ...message, mime }, sendControl());
    return message.messageIdHeader;
  }

  /** A dispatcher whose provider behaves like the sandbox except for the given methods. */
  function dispatcherWith(overrides: Partial<MailPort>): MailboxSyncDispatcher {
    const mail: Pick<MailPort, 'listChanges'> = {
      listChanges: (...asked) => sandbox.listChanges(...asked),
      ...overrides,
    };
    const verify = () => Promise.reject(new Error('no account is connected here'));
    const connector = { name: 'sandbox', verify, mail } as unknown as Connector;
    const clock = new SystemClock();
    const repository = new MirrorRepository(database);
    const mailboxes = new MailboxSync(
      database,
      repository,
      new FolderMirror(database, repository, clock),
      server.app.get(MessageReader),
      server.app.get(BatchStore),
      clock,
    );
    return new MailboxSyncDispatcher(
      server.app.get<AppConfig>(APP_CONFIG),
      database,
      repository,
      server.app.get(ProviderAccounts),
      new ConnectorRegistry([connector]),
      mailboxes,
      server.app.get(ListedMessages),
      server.app.get(CollectionPasses),
      server.app.get(WatchLeases),
      server.app.get(MailboxWatches),
      server.app.get(MirrorAudit),
      clock,
    );
  }

  interface Row {
    id: string;
    thread_id: string;
    subject: string;
    unread: boolean;
    message_id_header: string;
    folders: string[];
  }
  const messages = (account: TestAccount) =>
    database.query<Row>(
      `select m.*, array(select f.name from message_folder mf join folder f on f.id = mf.folder_id
                         where mf.message_id = m.id order by 1) as folders
       from message m where account_id = $1 order by date, id`,
      [account.id],
    );
  const changes = async (account: TestAccount) =>
    (
      await database.query<{ change: string }>(
        `select object || ' ' || event as change from change where account_id = $1 and object <> 'contact' order by seq`,
        [account.id],
      )
    ).map(({ change }) => change);
  const column = async <T>(account: TestAccount, expression: string): Promise<T> => {
    const [row] = await database.query<{ value: T }>(
      `select ${expression} as value from "grant" g left join sync_job j on j.account_id = g.id where g.id = $1`,
      [account.id],
    );
    return row?.value as T;
  };

  it('mirrors folders, messages, threads, bodies and files of a new mailbox', async () => {
    const account = await connect({ settings: { sample_messages: true } });
    const outcome = await sync(account);
    expect(outcome.result).toEqual({ kind: 'current', changed: true, isShown: true });
    const rows = await messages(account);
    expect(rows.map(({ subject }) => subject)).toEqual([
      'Welcome to your sandbox mailbox',
      'Lunch on Thursday?',
      "This week's menu",
    ]);
    expect(rows.every(({ folders, unread }) => unread && folders.join() === 'inbox')).toBe(true);
    expect(new Set(rows.map(({ thread_id }) => thread_id)).size).toBe(3);
    expect(
      await database.query(`select filename, size, content_type from file where account_id = $1`, [
        account.id,
      ]),
    ).toEqual([{ filename: 'menu.txt', size: 61, content_type: 'text/plain' }]);
    const id = rows[1]?.id ?? '';
    const bodies = await readBodies(database, account.id, [id]);
    expect(bodies.get(id)).toContain('<b>Thursday</b>');
    expect(await changes(account)).toEqual([
      ...Array.from({ length: 6 }, () => 'folder create'),
      ...Array.from({ length: 3 }, () => 'thread create'),
      ...Array.from({ length: 3 }, () => 'message create'),
      'file create',
      'calendar create',
    ]);
  });

  it('changes nothing when it runs again', async () => {
    const account = await connect();
    await deliver(account);
    await sync(account);
    const [before, log] = [await messages(account), await changes(account)];
    await sync(account);
    // As if an older cursor had been restored: all messages are listed again.
    await database.query(`update sync_job set cursor = null where account_id = $1`, [account.id]);
    await sync(account);
    expect(await messages(account)).toEqual(before);
    expect(await changes(account)).toEqual(log);
  });

  it('follows changes of flags and folders, and removals', async () => {
    const account = await connect();
    const header = await deliver(account);
    await deliver(account);
    await sync(account);
    const change = (set: string) =>
      database.query(
        `update sandbox_message set ${set}, modseq = (select max(modseq) + 1 from sandbox_message where address = $1)
         where address = $1 and position($2::bytea in mime) > 0`,
        [account.email, Buffer.from(header)],
      );
    const one = async () =>
      (await messages(account)).find(({ message_id_header }) => message_id_header === header);
    const logged = (await changes(account)).length;
    await change(`unread = false, folders = '{archive}'`);
    await sync(account);
    expect(await one()).toMatchObject({ unread: false, folders: ['archive'] });
    await change(`deleted = true`);
    await sync(account);
    expect(await one()).toBeUndefined();
    expect(await messages(account)).toHaveLength(1);
    expect((await changes(account)).slice(logged)).toEqual([
      'thread modify',
      'message modify',
      'message delete',
      'thread delete',
    ]);
  });

  it('keeps threads together, and gives a sent message the ids that were promised', async () => {
    const account = await connect();
    const from = await asProvider(account);
    const [job, messageId, threadId] = [randomUUID(), randomUUID(), randomUUID()];
    const messageIdHeader = `<${job}.abc@carillon.test>`;
    const message = outgoing(from, [account.email], { messageIdHeader });
    await database.query(
      `with s as (insert into job_status (id, account_id, action, object, status, message_id, thread_id)
                  values ($1, $2, 'new_outbox', 'message', 'pending', $3, $4))
       insert into outbox_message (id, account_id, content, envelope, mime, message_id_header)
       values ($1, $2, '{"metadata":{"a":"b"}}', '{}', '', $5)`,
      [job, account.id, messageId, threadId, messageIdHeader],
    );
    await sandbox.send(from, message, sendControl());
    await deliver(account, { headers: [`In-Reply-To: ${messageIdHeader}`] });
    await sync(account);
    const rows = await messages(account);
    expect(rows).toHaveLength(3);
    expect(rows.every((row) => row.thread_id === threadId)).toBe(true);
    const sent = rows.filter(({ folders }) => folders.includes('sent'));
    expect(sent).toMatchObject([{ id: messageId, unread: false, metadata: { a: 'b' } }]);
    await deliver(account, { headers: [`References: <other@x> ${messageIdHeader}`] });
    await sync(account);
    expect((await messages(account)).every((row) => row.thread_id === threadId)).toBe(true);
    expect(
      await database.query(`select id from thread where account_id = $1`, [account.id]),
    ).toEqual([{ id: threadId }]);
  });

  it('is not stopped by messages that cannot be parsed, or not stored unchanged', async () => {
    const account = await connect();
    const nested = Array.from(
      { length: 300 },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
    ).join('\r\n');
    const awkward = [
      Buffer.from(nested),
      Buffer.alloc(0),
      Buffer.from([0, 255, 254, 13, 10, 0]),
      Buffer.from(
        'Subject: a\0b\r\nFrom: "\0" <\0@x>\r\nContent-Type: text/html\r\n\r\n\0&#xD800;',
      ),
      Buffer.from(
        `Message-ID: <${'x'.repeat(5_000)}@y>\r\nSubject: ${'long '.repeat(20_000)}\r\n\r\nx`,
      ),
      Buffer.from(`From: <${'x'.repeat(9_000)}@y.z>\r\n\r\nx`),
      Buffer.from(
        `References: ${'<a@b> '.repeat(10_000)}\r\nTo: ${'a@b.c, '.repeat(5_000)}\r\n\r\nx`,
      ),
    ];
    for (const mime of awkward) await deliver(account, { mime });
    await deliver(account, { subject: 'after them' });
    expect((await sync(account)).result).toEqual({ kind: 'current', changed: true, isShown: true });
    const rows = await messages(account);
    expect(rows).toHaveLength(awkward.length + 1);
    expect(rows.at(-1)?.subject).toBe('after them');
  });

  it('mirrors 1,000 messages, and continues after an interruption', async () => {
    const account = await connect();
    const to = await asProvider(account);
    const from = { ...to, email: 'bulk@elsewhere.test' };
    // Sent all at once, they would exceed the time limit for a connection.
    let left = 1_000;
    const sender = async () => {
      while (left-- > 0) await sandbox.send(from, outgoing(from, [to.email]), sendControl());
    };
    await Promise.all(Array.from({ length: 20 }, sender));
    let batches = 0;
    // The process dies between batches: the run does not end, and no result is recorded.
    const crash = fakeLease({ trusted: () => ++batches <= 3 });
    expect(outcomeOf(await syncAccount(server.app, dispatcher, account.id, crash)).result).toEqual({
      kind: 'idle',
      changed: true,
    });
    const stored = (await messages(account)).length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(1_000);
    await sync(account);
    const rows = await messages(account);
    expect(rows).toHaveLength(1_000);
    expect(new Set(rows.map(({ message_id_header }) => message_id_header)).size).toBe(1_000);
    expect((await changes(account)).filter((change) => change === 'message create')).toHaveLength(
      1_000,
    );
  });

  it('writes nothing after its claim is lost', async () => {
    const account = await connect();
    await sync(account);
    await deliver(account);
    const robbed = dispatcherWith({
      listChanges: async (...arguments_) => {
        await database.query(`update sync_job set fence = fence + 1 where account_id = $1`, [
          account.id,
        ]);
        return sandbox.listChanges(...arguments_);
      },
    });
    expect(await syncAccount(server.app, robbed, account.id)).toBeNull();
    expect(await messages(account)).toEqual([]);
  });

  it('leaves a message unchanged whose write ended during the sync pass, and syncs again soon', async () => {
    const account = await connect();
    await deliver(account);
    await sync(account);
    const [message] = await messages(account);
    const late = await deliver(account);
    // The pass reads the old flag. The provider write ends before the pass stores that flag.
    await database.query(`update sandbox_mailbox set modseq = modseq + 1 where address = $1`, [
      account.email,
    ]);
    await database.query(
      `update sandbox_message s set starred = true, modseq = b.modseq from sandbox_mailbox b, message m
       where m.id = $1 and s.id::text = m.provider_id and b.address = s.address`,
      [message?.id],
    );
    const outpaced = dispatcherWith({
      listChanges: async (...asked) => {
        const changes = await sandbox.listChanges(...asked);
        await database.query(`update message set unread = false where id = $1`, [message?.id]);
        await database.query(
          `insert into job_status (id, account_id, action, object, object_id, status)
           values ($1, $2, 'update_message', 'message', $3, 'successful')`,
          [newId(), account.id, message?.id],
        );
        return changes;
      },
    });
    const before = await column<string>(account, 'j.cursor');
    const begunAt = Date.now();
    const { next } = outcomeOf(await syncAccount(server.app, outpaced, account.id));
    const stored = await messages(account);
    expect(stored.find(({ id }) => id === message?.id)?.unread).toBe(false);
    expect(stored.some(({ message_id_header }) => message_id_header === late)).toBe(true);
    expect(await column<string>(account, 'j.cursor')).toBe(before);
    // After a pause, because the write counts as recent for a second.
    expect(next).toMatchObject({ kind: 'again', at: expect.any(Date) as unknown });
    expect('at' in next && next.at.getTime()).toBeGreaterThanOrEqual(begunAt + 500);
    expect(await column<boolean>(account, `j.run_at <= now() + interval '1 second'`)).toBe(true);
    await database.query(`update job_status set updated_at = now() - interval '1 minute'`);
    await sync(account);
    expect((await messages(account)).find(({ id }) => id === message?.id)?.unread).toBe(true);
    expect(await messages(account)).toHaveLength(2);
  });

  it('runs again at once if the mailbox changed during the pass, and only then', async () => {
    const account = await connect();
    await sync(account);
    expect(await column<boolean>(account, 'j.run_at > now()')).toBe(true);
    const hurried = dispatcherWith({
      listChanges: async (...arguments_) => {
        await database.query(`update sync_job set again = true where account_id = $1`, [
          account.id,
        ]);
        return sandbox.listChanges(...arguments_);
      },
    });
    await syncAccount(server.app, hurried, account.id);
    expect(await column<boolean>(account, 'j.run_at <= now()')).toBe(true);
    await sync(account);
    expect(await column<boolean>(account, 'j.run_at > now()')).toBe(true);
  });

  it('mirrors the calendars of a new account once', async () => {
    const account = await connect();
    await sync(account);
    await sync(account);
    expect(
      await database.query(
        `select name, is_primary, read_only from calendar where account_id = $1`,
        [account.id],
      ),
    ).toEqual([{ name: account.email, is_primary: true, read_only: false }]);
    expect((await changes(account)).filter((change) => change === 'calendar create')).toHaveLength(
      1,
    );
  });

  describe('notifies subscribers', () => {
    const subscribed = async (triggers: string[]) => {
      application = await createApplication(server.app);
      await database.query(
        `insert into webhook (id, application_id, callback_url, triggers, state, subscribed_at, created_at, updated_at)
         values ($1, $2, 'http://127.0.0.1:9/', $3, 'active', now(), now(), now())`,
        [randomUUID(), application.id, triggers],
      );
    };
    const notifications = async () =>
      (
        await database.query<{ body: Buffer }>(
          `select body from webhook_event where application_id = $1 order by id`,
          [application.id],
        )
      ).map(
        ({ body }) =>
          JSON.parse(body.toString()).deltas[0] as {
            type: string;
            object_data: { id: string; attributes: unknown };
          },
      );

    it('of new messages, but not of messages older than the account', async () => {
      await subscribed(['message.created', 'account.running']);
      const account = await connect({ settings: { sample_messages: true } });
      await database.query(
        `update "grant" set sync_state = 'initializing', created_at = now() - interval '10 s' where id = $1`,
        [account.id],
      );
      await deliver(account);
      await sync(account);
      await deliver(account);
      await sync(account);
      const deltas = await notifications();
      expect(deltas.map(({ type }) => type)).toEqual([
        'message.created',
        'account.running',
        'message.created',
      ]);
      const [first] = (await messages(account)).filter(({ subject }) => subject === 'Contract');
      expect(deltas[0]?.object_data).toMatchObject({
        id: first?.id,
        attributes: { thread_id: first?.thread_id, received_date: expect.any(Number) },
      });
    });

    it('of refused credentials, and makes the account wait for its user', async () => {
      await subscribed(['account.invalid']);
      const account = await connect({ settings: { password: 'wrong' } });
      expect((await sync(account)).result).toMatchObject({
        kind: 'refused',
        reason: expect.stringMatching(/^535 /),
      });
      expect(await column(account, 'g.status')).toBe('invalid');
      expect(await column(account, 'g.sync_state')).toBe('invalid');
      expect((await sync(account)).result).toEqual({ kind: 'idle' });
      expect((await notifications()).map(({ type }) => type)).toEqual(['account.invalid']);
    });

    it('of a mailbox that fails five times in a row, and of its recovery', async () => {
      await subscribed(['account.sync_error', 'account.running']);
      const account = await connect();
      let broken = true;
      const failing = dispatcherWith({
        listChanges: (...asked) =>
          broken
            ? Promise.reject(new ProviderError('temporary', '421 Try later'))
            : sandbox.listChanges(...asked),
      });
      for (let n = 1; n <= 6; n++) {
        const { result } = outcomeOf(await syncAccount(server.app, failing, account.id));
        expect(result).toEqual({ kind: 'failed', reason: '421 Try later', server: null });
        expect(await column(account, 'j.failures')).toBe(n);
        expect(await column(account, 'g.sync_state')).toBe(n < 5 ? 'running' : 'sync-error');
        expect(await column<boolean>(account, "j.run_at > now() + interval '10 s'")).toBe(true);
      }
      broken = false;
      await syncAccount(server.app, failing, account.id);
      expect(await column(account, 'g.sync_state')).toBe('running');
      expect(await column(account, 'j.failures')).toBe(6);
      expect((await notifications()).map(({ type }) => type)).toEqual([
        'account.sync_error',
        'account.running',
      ]);
    });
  });

  it('does nothing for a deleted account', async () => {
    const account = await connect();
    const job = {
      id: account.id,
      fence: 1,
      attempt: 1,
      ambiguous: false,
      gateId: account.id,
      dueAt: new Date(),
      gateFailures: 0,
    };
    await database.query(`delete from "grant" where id = $1`, [account.id]);
    expect(await dispatcher.run(job, fakeLease(), undefined)).toBeNull();
  });
});
