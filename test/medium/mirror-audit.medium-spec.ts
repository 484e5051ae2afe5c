import { randomUUID } from 'node:crypto';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort, ProviderAccount } from '../../src/providers/port/connector.ts';
import { CollectionPasses } from '../../src/sync/collections/collection-passes.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { ListedMessages } from '../../src/sync/messages/listed-messages.ts';
import { MailboxSync } from '../../src/sync/mailbox-sync.ts';
import { MailboxWatches } from '../../src/sync/watches/mailbox-watches.ts';
import { MirrorAudit } from '../../src/sync/audit/mirror-audit.ts';
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
import { syncAccount } from '../support/sync.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

interface Audited {
  checked_at: Date | null;
  messages_checked: number;
  differences_found: number;
  repaired: number;
  unrepaired: number;
}

describe('MirrorAudit', () => {
  let server: TestApp;
  let database: Database;
  let sandbox: MailPort;
  let application: TestApplication;
  const clock = new PassingClock();
  const now = new Date();
  const longAgo = new Date(now.getTime() - 100 * 86_400_000);

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
    database = server.app.get(Database);
    sandbox = server.app.get(ConnectorRegistry).requireMail('sandbox');
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  /** A dispatcher whose provider behaves like the sandbox except for the given methods. */
  function dispatcherWith(overrides: Partial<MailPort>): MailboxSyncDispatcher {
    const mail: Partial<MailPort> = {
      listChanges: (...asked) => sandbox.listChanges(...asked),
      fetchRaw: (...asked) => sandbox.fetchRaw(...asked),
      listIds: (...asked) => sandbox.listIds?.(...asked) ?? never(),
      listFolders: (...asked) => sandbox.listFolders?.(...asked) ?? never(),
      countMessages: (...asked) => sandbox.countMessages?.(...asked) ?? never(),
      readMessages: (...asked) => sandbox.readMessages?.(...asked) ?? never(),
      ...overrides,
    };
    return new MailboxSyncDispatcher(
      server.app.get<AppConfig>(APP_CONFIG),
      database,
      server.app.get(MirrorRepository),
      server.app.get(ProviderAccounts),
      new ConnectorRegistry([{ name: 'sandbox', verify: never, mail } as unknown as Connector]),
      server.app.get(MailboxSync),
      server.app.get(ListedMessages),
      server.app.get(CollectionPasses),
      server.app.get(WatchLeases),
      server.app.get(MailboxWatches),
      server.app.get(MirrorAudit),
      clock,
    );
  }
  const never = (): never => {
    throw new Error('the sandbox lists and reads messages');
  };

  const asProvider = async (account: TestAccount): Promise<ProviderAccount> => {
    const found = await server.app.get(ProviderAccounts).find(account.id);
    if (!found) throw new Error('no such account');
    return found;
  };
  async function deliver(account: TestAccount, count: number): Promise<void> {
    const to = await asProvider(account);
    for (let n = 0; n < count; n++) {
      const from = { ...to, email: `somebody-${randomUUID()}@elsewhere.test` };
      await sandbox.send(from, outgoing(from, [account.email]), sendControl());
    }
  }
  /** An account with a complete mirror, and no audit before `auditOf` makes one due. */
  async function mirrored(count: number, dispatcher = dispatcherWith({})): Promise<TestAccount> {
    const account = await createAccount(server.app, application);
    await deliver(account, count);
    await settle(account, dispatcher);
    return account;
  }
  /** Runs sync passes until the account waits for its next poll. */
  async function settle(account: TestAccount, dispatcher = dispatcherWith({})) {
    for (let runs = 1; ; runs++) {
      const before = clock.now().getTime();
      const { next, result } = outcomeOf(await syncAccount(server.app, dispatcher, account.id));
      const waits = next.kind === 'again' && next.at.getTime() > before + 5_000;
      if (waits) return { result, runs };
      if (runs > 30) throw new Error('the sync passes do not end');
    }
  }
  async function auditNow(
    account: TestAccount,
    dispatcher = dispatcherWith({}),
    kind: 'full' | 'recent' = 'full',
  ) {
    await database.query(
      `update mirror_audit set recent_at = now() - interval '1 s', not_before = null,
         full_at = now() + case when $2 then interval '-1 s' else interval '1 day' end
       where account_id = $1`,
      [account.id, kind === 'full'],
    );
    return settle(account, dispatcher);
  }
  /** The same, and an hour later: what seems to be gone needs a second answer. */
  async function auditTwice(...audited: Parameters<typeof auditNow>) {
    await auditNow(...audited);
    await clock.pass(3_601_000);
    return settle(audited[0], audited[1]);
  }
  const auditOf = async (account: TestAccount): Promise<Audited> => {
    const rows = await database.query<Audited>(
      `select checked_at, messages_checked, differences_found, repaired, unrepaired from mirror_audit where account_id = $1`,
      [account.id],
    );
    return rows[0] as Audited;
  };
  const inMirror = (account: TestAccount) =>
    database.query<{ id: string; provider_id: string; folders: string[] }>(
      `select m.id, m.provider_id, array(select f.name from message_folder mf join folder f on f.id = mf.folder_id
                                         where mf.message_id = m.id order by 1) as folders
       from message m where account_id = $1 order by provider_id`,
      [account.id],
    );
  const atProvider = (account: TestAccount) =>
    database.query<{ provider_id: string; folders: string[] }>(
      `select id as provider_id, folders from sandbox_message
       where application_id = $1 and address = $2 and not deleted order by id::text`,
      [application.id, account.email],
    );
  const changes = (account: TestAccount) =>
    database.query<{ seq: number; object: string; id: string; event: string }>(
      `select seq, object, object_id as id, event from change where account_id = $1 and object in ('message', 'draft') order by seq`,
      [account.id],
    );
  const folderChanges = (account: TestAccount) =>
    database.query<{ event: string }>(
      `select event from change where account_id = $1 and object in ('folder', 'label') order by seq`,
      [account.id],
    );
  const lose = (account: TestAccount, set: string, count: number) =>
    database.query(
      `update sandbox_message set ${set}
       where id in (select id from sandbox_message where address = $1 and not deleted order by id limit $2)`,
      [account.email, count],
    );
  const stateOf = async (account: TestAccount) => {
    const [row] = await database.query<{ state: string; reason: string | null }>(
      `select sync_state as state, sync_reason as reason from "grant" where id = $1`,
      [account.id],
    );
    return row;
  };
  const expectEqual = async (account: TestAccount) => {
    const mirror = (await inMirror(account)).map(({ id: _id, ...row }) => row);
    expect(mirror).toEqual(await atProvider(account));
  };

  it('audits a mailbox when its mirror is complete, and touches nothing that is equal', async () => {
    const account = await mirrored(5);
    const first = await auditOf(account);
    expect(first).toMatchObject({ messages_checked: 5, differences_found: 0, repaired: 0 });
    expect(first.checked_at).not.toBeNull();
    const before = [await inMirror(account), await changes(account)];
    await auditNow(account);
    expect([await inMirror(account), await changes(account)]).toEqual(before);
    expect(await auditOf(account)).toMatchObject({ messages_checked: 5, differences_found: 0 });
  });

  it('postpones the first audits of an account whose mirror was complete before audits existed', async () => {
    const account = await mirrored(1);
    await database.query(`delete from mirror_audit where account_id = $1`, [account.id]);
    await settle(account);
    const [row] = await database.query<{ later: boolean }>(
      `select least(recent_at, full_at, collections_at) > now() and round is null and collections is null as later
       from mirror_audit where account_id = $1`,
      [account.id],
    );
    expect(row).toEqual({ later: true });
    expect(await auditOf(account)).toMatchObject({ checked_at: null, messages_checked: 0 });
  });

  it('adds 40 percent of a folder that are missing in the mirror', async () => {
    const account = await mirrored(20);
    const lost = await database.query<{ id: string }>(
      `delete from message where id in (select id from message where account_id = $1 order by id limit 8)
       returning id`,
      [account.id],
    );
    const logged = (await changes(account)).length;
    await auditNow(account);
    await expectEqual(account);
    expect(await auditOf(account)).toMatchObject({
      messages_checked: 20,
      differences_found: 8,
      repaired: 8,
      unrepaired: 0,
    });
    const log = (await changes(account)).slice(logged);
    const entries = (event: string) => log.filter((entry) => entry.event === event);
    expect(entries('create')).toHaveLength(8);
    // The messages are stored under other ids, so clients have to forget the old ones.
    expect(entries('delete').map(({ id }) => id)).toEqual(lost.map(({ id }) => id).toSorted());
    expect(log).toHaveLength(16);
    await auditNow(account);
    expect(await changes(account)).toHaveLength(logged + 16);
    expect(await stateOf(account)).toEqual({ state: 'running', reason: null });
  });

  it('finds a folder that the mirror lacks, with its messages', async () => {
    const account = await mirrored(4);
    await lose(account, `folders = '{archive}'`, 3);
    await database.query(`delete from message where account_id = $1`, [account.id]);
    await database.query(`delete from folder where account_id = $1 and provider_id = 'archive'`, [
      account.id,
    ]);
    const { length: logged } = await folderChanges(account);
    await auditNow(account);
    await expectEqual(account);
    expect(await auditOf(account)).toMatchObject({ messages_checked: 4, repaired: 4 });
    expect((await folderChanges(account)).slice(logged)).toEqual([
      { event: 'create' },
      { event: 'delete' },
    ]);
  });

  it('removes a folder that no longer exists, after its messages', async () => {
    const account = await mirrored(3);
    await lose(account, `folders = '{archive}'`, 2);
    await database.query(
      `insert into folder (id, account_id, provider_id, display_name, created_at, updated_at)
       values ($2, $1, 'lost', 'Lost', now(), now())`,
      [account.id, randomUUID()],
    );
    await database.query(
      `update message_folder set folder_id = (select id from folder where account_id = $1 and provider_id = 'lost')
       where message_id in (select id from message where account_id = $1 limit 2)`,
      [account.id],
    );
    const { length: logged } = await folderChanges(account);
    await auditTwice(account);
    await expectEqual(account);
    expect((await folderChanges(account)).slice(logged)).toEqual([{ event: 'delete' }]);
  });

  it.each([
    { what: 'none of the folders', shown: () => false },
    { what: 'all folders but the archive', shown: (name: string | null) => name !== 'archive' },
  ])('removes no folder when the provider lists $what by mistake', async ({ shown }) => {
    const account = await mirrored(2);
    const { length: logged } = await folderChanges(account);
    const listFolders: MailPort['listFolders'] = async (one) =>
      ((await sandbox.listFolders?.(one)) ?? never()).filter(({ name }) => shown(name));
    await auditNow(account, dispatcherWith({ listFolders }));
    expect((await folderChanges(account)).slice(logged)).toEqual([]);
    await expectEqual(account);
  });

  it('finds a message that appeared without a change being reported', async () => {
    const account = await mirrored(3);
    await deliver(account, 1);
    // As if the change counter had skipped the message: the cursor is past it already.
    await database.query(
      `update sync_job j set cursor = (select max(modseq) from sandbox_message where address = $2)
       where account_id = $1`,
      [account.id, account.email],
    );
    await settle(account);
    expect(await inMirror(account)).toHaveLength(3);
    await auditNow(account, dispatcherWith({}), 'recent');
    await expectEqual(account);
    expect(await auditOf(account)).toMatchObject({ differences_found: 1, repaired: 1 });
  });

  it('follows a move that was never reported, and keeps the id of the message', async () => {
    const account = await mirrored(4);
    const ids = (await inMirror(account)).map(({ id }) => id);
    await lose(account, `folders = '{archive}'`, 2);
    await settle(account);
    await auditNow(account, dispatcherWith({}), 'recent');
    await expectEqual(account);
    expect((await inMirror(account)).map(({ id }) => id)).toEqual(ids);
    expect(await auditOf(account)).toMatchObject({ differences_found: 2, repaired: 2 });
  });

  it('removes a message whose deletion was never reported', async () => {
    const account = await mirrored(4);
    await lose(account, 'deleted = true', 3);
    await settle(account);
    await auditNow(account);
    expect(await inMirror(account)).toHaveLength(4);
    await clock.pass(3_601_000);
    await settle(account);
    expect(await inMirror(account)).toHaveLength(1);
    expect(await auditOf(account)).toMatchObject({ differences_found: 3, repaired: 3 });
  });

  it('removes nothing that the provider lists nowhere and does not find for less than an hour', async () => {
    const account = await mirrored(3);
    const before = await inMirror(account);
    const failing = dispatcherWith({
      listIds: async () => ({ ids: [], cursor: null }),
      readMessages: async (_one, { providerIds }) => new Map(providerIds.map((id) => [id, null])),
    });
    await auditNow(account, failing);
    await clock.pass(3_000_000);
    await settle(account, failing);
    expect(await inMirror(account)).toEqual(before);
    await clock.pass(601_000);
    await settle(account);
    expect(await inMirror(account)).toEqual(before);
    expect(await auditOf(account)).toMatchObject({ differences_found: 0 });
  });

  it('removes nothing when a listing is cut, because the second look finds the messages', async () => {
    const account = await mirrored(6);
    const before = await inMirror(account);
    const cut = dispatcherWith({
      listIds: async () => ({ ids: [], cursor: null }),
    });
    await auditNow(account, cut);
    expect(await inMirror(account)).toEqual(before);
    expect(await auditOf(account)).toMatchObject({ differences_found: 0 });
  });

  it('counts a folder that cannot be listed, and compares the others', async () => {
    const account = await mirrored(4);
    await lose(account, `folders = '{archive}'`, 1);
    await lose(account, 'deleted = true', 2);
    const shut = dispatcherWith({
      listIds: async (one, request) => {
        if (request.folderId === 'archive')
          throw new ProviderError('not-found', 'cannot be opened');
        return sandbox.listIds?.(one, request) ?? never();
      },
    });
    await auditTwice(account, shut);
    const [row] = await database.query(
      `select folders_skipped, surplus, missing, misplaced from mirror_audit where account_id = $1`,
      [account.id],
    );
    expect(row).toEqual({ folders_skipped: 1, surplus: 2, missing: 0, misplaced: 0 });
    await auditNow(account);
    await expectEqual(account);
  });

  it('removes nothing and continues later when the provider fails', async () => {
    const account = await mirrored(4);
    await lose(account, 'deleted = true', 2);
    const failing = dispatcherWith({
      readMessages: () => Promise.reject(new ProviderError('temporary', 'maintenance')),
    });
    await auditNow(account, failing);
    expect(await inMirror(account)).toHaveLength(4);
    expect(await stateOf(account)).toEqual({ state: 'running', reason: null });
    await database.query(`update mirror_audit set not_before = null where account_id = $1`, [
      account.id,
    ]);
    await settle(account);
    await clock.pass(3_601_000);
    await settle(account);
    expect(await inMirror(account)).toHaveLength(2);
  });

  it('waits as long as a provider with an exhausted quota asks', async () => {
    const account = await mirrored(1);
    const limited = dispatcherWith({
      listIds: () =>
        Promise.reject(new ProviderError('rate-limited', 'slowly', { retryAfterSeconds: 3_000 })),
    });
    await auditNow(account, limited);
    const [row] = await database.query<{ waits: boolean }>(
      `select not_before > now() + interval '2900 s' as waits from mirror_audit where account_id = $1`,
      [account.id],
    );
    expect(row?.waits).toBe(true);
  });

  it('leaves alone a message that has an open provider write', async () => {
    const account = await mirrored(2);
    const [message] = await inMirror(account);
    await database.query(
      `with s as (insert into job_status (id, account_id, action, object, status, message_id)
                  values ($1, $2, 'update_message', 'message', 'pending', $3))
       insert into provider_job (id, account_id, action, object_id, payload, run_at, due_at)
       values ($1, $2, 'update_message', $3, '{"folders":[]}', now() + interval '1 h', now() + interval '1 h')`,
      [randomUUID(), account.id, message?.id],
    );
    await lose(account, `folders = '{archive}'`, 2);
    const before = await inMirror(account);
    await auditNow(account);
    const after = await inMirror(account);
    expect(after.find(({ id }) => id === message?.id)).toEqual(message);
    expect(after).not.toEqual(before);
    expect(await auditOf(account)).toMatchObject({ differences_found: 1, repaired: 1 });
  });

  it('continues where it stopped when a slice ends or the worker dies', async () => {
    const account = await mirrored(12);
    await database.query(
      `delete from message where id in (select id from message where account_id = $1 order by id limit 5)`,
      [account.id],
    );
    let pages = 0;
    const dying = dispatcherWith({
      listIds: async (one, request) => {
        pages += 1;
        const page = await (sandbox.listIds?.(one, { ...request, limit: 2 }) ?? never());
        // Another worker has taken over the mailbox.
        if (pages === 3)
          await database.query(`update sync_job set fence = fence + 1 where account_id = $1`, [
            account.id,
          ]);
        return page;
      },
    });
    await database.query(
      `update mirror_audit set recent_at = now(), full_at = now() where account_id = $1`,
      [account.id],
    );
    await syncAccount(server.app, dying, account.id);
    expect(pages).toBe(3);
    await database.query(`update sync_job set state = 0, worker_id = null where account_id = $1`, [
      account.id,
    ]);
    await settle(account, dying);
    await expectEqual(account);
    expect(await auditOf(account)).toMatchObject({
      messages_checked: 12,
      differences_found: 5,
      repaired: 5,
    });
  });

  it('shows sync-error after two audits that could not repair, and recovers', async () => {
    const account = await mirrored(3);
    await database.query(
      `delete from message where id in (select id from message where account_id = $1 order by id limit 1)`,
      [account.id],
    );
    const withheld = dispatcherWith({
      readMessages: async (one, request) => {
        const read = await (sandbox.readMessages?.(one, request) ?? never());
        return request.content ? new Map() : read;
      },
    });
    await auditNow(account, withheld);
    expect(await auditOf(account)).toMatchObject({
      differences_found: 1,
      repaired: 0,
      unrepaired: 1,
    });
    expect(await stateOf(account)).toEqual({ state: 'running', reason: null });
    await auditNow(account, withheld);
    const shown = await stateOf(account);
    expect(shown?.state).toBe('sync-error');
    expect(shown?.reason).toContain('differs from the mailbox in 1 messages');
    await settle(account, withheld);
    expect(await stateOf(account)).toEqual(shown);
    await auditNow(account);
    expect(await stateOf(account)).toEqual({ state: 'running', reason: null });
    await expectEqual(account);
  });

  it('stores a message that cannot be parsed and does not look at it again', async () => {
    const account = await mirrored(2);
    const nested = Array.from(
      { length: 300 },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
    ).join('\r\n');
    await database.query(
      `update sandbox_message set mime = $2 where id = (select id from sandbox_message where address = $1 limit 1)`,
      [account.email, Buffer.from(nested)],
    );
    await database.query(`delete from message where account_id = $1`, [account.id]);
    const { runs } = await auditNow(account);
    expect(runs).toBeLessThan(4);
    await expectEqual(account);
    expect(await auditOf(account)).toMatchObject({ differences_found: 2, repaired: 2 });
    await auditNow(account);
    expect(await auditOf(account)).toMatchObject({ differences_found: 0 });
  });

  it('notifies subscribers of recent messages only', async () => {
    const account = await mirrored(4);
    await lose(account, `received_at = '${longAgo.toISOString()}'`, 2);
    await database.query(
      `update "grant" set created_at = $2::timestamptz - interval '1 day' where id = $1`,
      [account.id, longAgo],
    );
    await database.query(`delete from message where account_id = $1`, [account.id]);
    await database.query(
      `insert into webhook (id, application_id, callback_url, triggers, state, subscribed_at, created_at, updated_at)
       values ($1, $2, 'http://127.0.0.1:9/', '{message.created}', 'active', now(), now(), now())`,
      [randomUUID(), application.id],
    );
    const since = (await changes(account)).length;
    await auditNow(account);
    const log = (await changes(account)).slice(since);
    expect(log.filter(({ event }) => event === 'create')).toHaveLength(4);
    const notified = await database.query<{ body: Buffer }>(
      `select body from webhook_event where application_id = $1`,
      [application.id],
    );
    const recent = await database.query<{ id: string }>(
      `select id from message where account_id = $1 and date > $2 order by id`,
      [account.id, new Date(now.getTime() - 86_400_000)],
    );
    expect(recent).toHaveLength(2);
    const ids = notified.map(({ body }) => {
      const [delta] = JSON.parse(body.toString()).deltas as { object_data: { id: string } }[];
      return delta?.object_data.id;
    });
    expect(new Set(ids)).toEqual(new Set(recent.map(({ id }) => id)));
    expect(ids).toHaveLength(recent.length);
  });

  it('compares a whole folder when its count has changed, although only recent audits run', async () => {
    const account = await mirrored(4);
    await database.query(
      `update message_folder set date = $2 where message_id in (select id from message where account_id = $1)`,
      [account.id, longAgo],
    );
    await lose(account, `received_at = '${longAgo.toISOString()}'`, 4);
    await lose(account, 'deleted = true', 1);
    await auditTwice(account, dispatcherWith({}), 'recent');
    expect(await inMirror(account)).toHaveLength(3);
  });
});
