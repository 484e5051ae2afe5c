import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort } from '../../src/providers/port/connector.ts';
import type { ImapSessions } from '../../src/providers/imap/sessions/imap-sessions.ts';
import { watchInbox } from '../../src/providers/imap/sessions/imap-watch.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { type Correspondent, ImapFixture } from '../support/imap-fixture.ts';
import { truthOf } from '../support/imap-replica.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { mimeOf } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 60_000;

/** The compared properties of messages, by the provider's id. */
type Shown = Record<string, { folders: string[]; unread: boolean; starred: boolean }>;

/**
 * Runs the whole program over a real server. The mirror must show the server's state, message by
 * message.
 */
describeWith(['dovecot', 'exim4'], 'the mirror of a mailbox on a real server', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let fixture: ImapFixture;
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let sessions: ImapSessions;
  const connected: TestAccount[] = [];

  beforeAll(async () => {
    fixture = await ImapFixture.start();
    server = await startTestApp({ SYNC_POLL_SECONDS: '5', SYNC_POLL_WATCHED_SECONDS: '5' });
    database = server.app.get(Database);
    application = await createApplication(server.app);
  });
  afterEach(async () => {
    // Removes the accounts as an application does, because the mirror may be storing something.
    const grants = server.app.get(GrantsService, { strict: false });
    for (const { id } of connected.splice(0)) await grants.remove(application.id, id);
    await fixture.closeAll();
  });
  afterAll(async () => {
    await server.close();
    await fixture.stop();
  });

  async function connect(one: Correspondent): Promise<TestAccount> {
    const { changes } = one;
    sessions = one.sessions;
    const mail: Partial<MailPort> = {
      listChanges: (...asked) => changes.listChanges(...asked),
      fetchRaw: (...asked) => changes.fetchRaw(...asked),
      watch: (account, watcher) => watchInbox(sessions, account, watcher),
    };
    server.app.get(ConnectorRegistry).replace({ name: 'imap', mail } as unknown as Connector);
    const { email, settings } = one.account;
    const account = await createAccount(server.app, application, {
      provider: 'imap',
      email,
      settings: { ...settings },
    });
    connected.push(account);
    await scheduleSync(database, account.id);
    server.app.get(Signals).wake('sync');
    return account;
  }
  const count = async ({ id }: TestAccount) => {
    const [row] = await database.query<{ count: number }>(
      'select count(*)::int as count from message where account_id = $1',
      [id],
    );
    return row?.count ?? 0;
  };
  async function shown({ id }: TestAccount): Promise<Shown> {
    const rows = await database.query<{ provider: string } & Shown[string]>(
      `select m.provider_id as provider, m.unread, m.starred,
         array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
               where mf.message_id = m.id order by 1) as folders
       from message m where m.account_id = $1`,
      [id],
    );
    return Object.fromEntries(
      rows.map(({ provider, folders, unread, starred }) => [
        provider,
        { folders, unread, starred },
      ]),
    );
  }
  async function there(one: Correspondent): Promise<Shown> {
    const truth = await truthOf(one.other);
    return Object.fromEntries(
      [...truth].map(([id, { folderIds, unread, starred }]) => [
        id,
        { folders: [...folderIds], unread, starred },
      ]),
    );
  }
  /** Makes the next sync pass due, so that a test does not wait for a backoff. */
  const hurry = ({ id }: TestAccount) =>
    database.query(
      `update sync_job set run_at = least(run_at, now() + interval '0.5 s') where account_id = $1`,
      [id],
    );
  async function converges(account: TestAccount, one: Correspondent): Promise<void> {
    const truth = await there(one);
    await until(
      "the mirror to show the server's state",
      async () => {
        await hurry(account);
        return JSON.stringify(sorted(await shown(account))) === JSON.stringify(sorted(truth));
      },
      PATIENCE_MS,
    );
    expect(await shown(account)).toEqual(truth);
  }
  const sorted = (some: Shown) => Object.entries(some).sort(([a], [b]) => (a < b ? -1 : 1));
  async function fill(one: Correspondent, messages: number): Promise<void> {
    await one.deliver(
      ...Array.from({ length: messages }, (_, n) =>
        mimeOf({ Subject: `message ${n}` }, `Text ${n}. `.repeat(50)),
      ),
    );
  }
  const numbersIn = async (one: Correspondent, path: string) => {
    const mailbox = await one.other.mailboxOpen(path);
    return Array.from({ length: mailbox.exists }, (_, n) => n + 1);
  };

  it('shows the newest page at once and older messages as they arrive, until it is complete', async () => {
    const one = await fixture.correspondent();
    await fill(one, 500);
    const account = await connect(one);
    await until('the first page', async () => (await count(account)) >= 50);
    const [newest] = await database.query<{ subject: string }>(
      'select subject from message where account_id = $1 order by date desc, provider_id desc limit 1',
      [account.id],
    );
    expect(newest?.subject).toBeDefined();
    await converges(account, one);
    const parts = await database.query(
      'select 1 from message_content where account_id = $1 and headers is null',
      [account.id],
    );
    expect(parts).toEqual([]);
  });

  it('learns about new messages and flags from its watch, and keeps the ids of moved messages', async () => {
    const one = await fixture.correspondent();
    await fill(one, 3);
    const account = await connect(one);
    await until('the watch', async () => {
      const rows = await database.query(
        'select 1 from mailbox_watch where account_id = $1 and up_since is not null',
        [account.id],
      );
      return rows.length > 0;
    });
    await database.query(
      `update sync_job set run_at = now() + interval '1 h' where account_id = $1 and state = 0`,
      [account.id],
    );
    await fill(one, 1);
    await until('the new message', async () => (await count(account)) === 4);
    await one.other.mailboxOpen('INBOX');
    await one.other.messageFlagsAdd('1', ['\\Seen', '\\Flagged']);
    await converges(account, one);
    const ids = async () =>
      (
        await database.query<{ id: string }>(
          'select id from message where account_id = $1 order by id',
          [account.id],
        )
      ).map((row) => row.id);
    const before = await ids();
    await one.other.mailboxOpen('INBOX');
    await one.other.messageMove('1:2', 'Archive');
    await one.other.mailboxCreate('Made');
    await one.other.mailboxRename('Archive', 'Renamed');
    await converges(account, one);
    expect(await ids()).toEqual(before);
  });

  it('converges although the server is restarted in the middle', async () => {
    const one = await fixture.correspondent();
    await fill(one, 400);
    const account = await connect(one);
    await until('some messages', async () => (await count(account)) >= 50);
    await fixture.servers.dovecot.end();
    await fixture.servers.dovecot.begin();
    const user = one.account.settings as { imap_username: string; imap_password: string };
    const other = await fixture.servers.client({
      email: user.imap_username,
      password: user.imap_password,
    });
    await converges(account, { ...one, other });
    other.close();
  });

  it('converges although connections are cut and commands fail while another program changes the mailbox', async () => {
    let commands = 0;
    let trouble = true;
    const one = await fixture.correspondent({
      judge: (command) => {
        if (!trouble || !/^(UID |FETCH|SELECT|EXAMINE|STATUS|LIST)/.test(command)) return 'pass';
        commands += 1;
        if (commands % 5 !== 0) return 'pass';
        return commands % 15 === 0 ? 'end' : { answer: 'NO [UNAVAILABLE] Try again' };
      },
    });
    await fill(one, 300);
    const account = await connect(one);
    for (let round = 0; round < 5; round += 1) {
      await hurry(account);
      const numbers = await numbersIn(one, 'INBOX');
      const some = numbers.filter((n) => n % 7 === round).join(',');
      await one.other.messageFlagsAdd(some, ['\\Seen']);
      await one.other.messageFlagsAdd(some, [round % 2 ? '\\Flagged' : '\\Answered']);
      await one.other.messageMove(
        numbers.filter((n) => n % 11 === round).join(','),
        round % 2 ? 'Archive' : 'Trash',
      );
      await one.other.mailboxOpen('INBOX');
      await one.other.messageDelete('1:3');
      await fill(one, 5);
      const before = commands;
      await until(
        'a look',
        async () => (await hurry(account)) && commands > before + 5,
        PATIENCE_MS,
      );
    }
    expect(commands).toBeGreaterThan(25);
    trouble = false;
    await converges(account, one);
  });

  it('removes the messages of a folder that is deleted on the server', async () => {
    const one = await fixture.correspondent();
    await one.other.mailboxCreate('Doomed');
    for (const n of [1, 2, 3]) await one.other.append('Doomed', mimeOf({ Subject: `doomed ${n}` }));
    await fill(one, 2);
    const account = await connect(one);
    await converges(account, one);
    await one.other.mailboxDelete('Doomed');
    await converges(account, one);
    expect(await count(account)).toBe(2);
  });
});
