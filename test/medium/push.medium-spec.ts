import request from 'supertest';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { listSubscriptions } from '../../src/accounts/push/list-subscriptions.ts';
import { PushPulls } from '../../src/accounts/push/push-pulls.ts';
import { PushUpkeep } from '../../src/accounts/push/push-upkeep.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { PushProvider } from '../support/push-provider.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface SyncRow {
  due: boolean;
  again: boolean;
  /** Seconds until the next pass. */
  wait: number;
  calendars_due: boolean;
}

interface Row {
  resource: string;
  wanted: boolean;
  failures: number;
  error: string | null;
  unsupported: boolean;
  provider_id: string | null;
  notified: boolean;
  due: boolean;
}

describe('subscriptions at providers', () => {
  let server: TestApp;
  let clock: PassingClock;
  let database: Database;
  let provider: PushProvider;
  let application: TestApplication;
  let upkeep: PushUpkeep;

  beforeAll(async () => {
    clock = new PassingClock();
    server = await startTestApp(
      { ROLES: 'api', PUSH_URL: 'https://carillon.example.com' },
      { clock },
    );
    database = server.app.get(Database);
    upkeep = server.app.get(PushUpkeep);
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    await database.query('delete from push_subscription');
    provider = await PushProvider.start(() => clock.now());
    provider.target = server.url;
    server.app.get(ConnectorRegistry).replace(provider.connector());
  });
  afterEach(() => provider.stop());

  const pass = (account: TestAccount) =>
    syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
  /** An account after its first pass. */
  async function connected(calendars: readonly string[] = []): Promise<TestAccount> {
    const account = await createAccount(server.app, application);
    provider.calendars.set(account.email, [...calendars]);
    await pass(account);
    return account;
  }
  /** An account with live subscriptions, after the pass that follows them. */
  async function subscribed(calendars: readonly string[] = []): Promise<TestAccount> {
    const account = await connected(calendars);
    await upkeep.run();
    await pass(account);
    return account;
  }
  /** Runs the passes that repeat a requested one, after 5 and 30 s. */
  async function lookAgain(account: TestAccount): Promise<void> {
    for (const ms of [6_000, 31_000]) {
      await clock.pass(ms);
      await pass(account);
    }
  }
  /** Adds a subscription that the account's first one has replaced, and that is not ended yet. */
  async function addPrevious({ id, email }: TestAccount): Promise<void> {
    const first = provider.first(email);
    const previous = { ...first, id: newId() };
    provider.subscriptions.set(previous.id, previous);
    await database.query(
      'update push_subscription set previous = $3 where account_id = $1 and provider_id = $2',
      [
        id,
        first.id,
        { id: previous.id, expiresAt: new Date(previous.expiresAt).toISOString(), details: {} },
      ],
    );
  }
  async function syncRow({ id }: TestAccount): Promise<SyncRow> {
    const [row] = await database.query<SyncRow>(
      `select run_at <= now() as due, again, extract(epoch from run_at - now())::float8 as wait,
         coalesce(calendars_at <= now(), true) as calendars_due
       from sync_job where account_id = $1`,
      [id],
    );
    if (!row) throw new Error('the account is not synced');
    return row;
  }
  const rows = ({ id }: TestAccount) =>
    database.query<Row>(
      `select resource, wanted, failures, error, unsupported, provider_id, notified_at is not null as notified,
         due_at <= now() as due
       from push_subscription where account_id = $1 order by resource`,
      [id],
    );
  const resources = (account: TestAccount) =>
    provider.of(account.email).map(({ resource }) => resource);

  it('are made for the mailbox and each calendar, and the account is then read again and polled less often', async () => {
    const account = await connected(['home', 'work']);
    expect((await syncRow(account)).wait).toBeLessThan(70);
    expect(resources(account)).toEqual([]);
    await upkeep.run();
    expect(resources(account)).toEqual(['calendar:home', 'calendar:work', 'mail']);
    expect(await syncRow(account)).toMatchObject({ due: true, calendars_due: true });
    await pass(account);
    await lookAgain(account);
    const { due, wait } = await syncRow(account);
    expect(due).toBe(false);
    expect(wait).toBeGreaterThan(240);
  });

  it('are made ever less often if the provider says that they have ended already', async () => {
    const account = await connected();
    provider.lifeMs = -HOUR_MS;
    const made = () => provider.requests.filter((one) => one === 'POST mail').length;
    for (let run = 0; run < 5; run += 1) await upkeep.run();
    expect(made()).toBe(1);
    expect(await rows(account)).toMatchObject([
      { failures: 1, error: expect.stringContaining('has ended already'), provider_id: null },
    ]);
    for (let minute = 0; minute < 60; minute += 1) {
      await clock.pass(60_000);
      await upkeep.run();
    }
    expect(made()).toBeLessThan(10);
    provider.lifeMs = 7 * DAY_MS;
    await clock.pass(HOUR_MS);
    await upkeep.run();
    expect(resources(account)).toEqual(['mail']);
    expect(await rows(account)).toMatchObject([{ failures: 0, error: null }]);
  });

  it('leave the usual poll interval to an account of which only some resources are reported', async () => {
    const account = await connected(['home', 'work']);
    provider.refusals.push(503);
    await upkeep.run();
    expect(resources(account)).toHaveLength(2);
    await pass(account);
    expect((await syncRow(account)).wait).toBeLessThan(70);
  });

  it('make a pass due with each notification, and the calendars with those of a calendar', async () => {
    const account = await subscribed(['work']);
    expect(await provider.notify(account.email, 'mail')).toEqual([202]);
    expect(await syncRow(account)).toMatchObject({ due: true, again: true, calendars_due: false });
    provider.reads.length = 0;
    await pass(account);
    expect(provider.reads).toEqual([`mail ${account.email}`]);
    expect(await provider.notify(account.email, 'calendar:work')).toEqual([202]);
    await pass(account);
    expect(provider.reads).toContain('calendar work');
    expect((await rows(account)).map(({ notified }) => notified)).toEqual([true, true]);
  });

  it('do not end the wait after a calendar pass that failed', async () => {
    const account = await subscribed(['work']);
    await database.query(
      `update sync_job set calendars_at = now() + interval '5 min' where account_id = $1`,
      [account.id],
    );
    await provider.notify(account.email, 'calendar:work');
    expect(await syncRow(account)).toMatchObject({ due: true, calendars_due: false });
  });

  it('cost one pass for many notifications', async () => {
    const account = await subscribed(['work']);
    const sent = Array.from({ length: 10 }, () => provider.notify(account.email, 'mail'));
    expect(new Set((await Promise.all(sent)).flat())).toEqual(new Set([202]));
    provider.reads.length = 0;
    await pass(account);
    expect(provider.reads).toEqual([`mail ${account.email}`]);
    expect(await syncRow(account)).toMatchObject({ due: false, again: false });
  });

  it('are each made by one of two processes', async () => {
    const accounts = await Promise.all(Array.from({ length: 6 }, () => connected(['work'])));
    await Promise.all([upkeep.run(), upkeep.run()]);
    expect(provider.subscriptions.size).toBe(12);
    expect(provider.requests).toHaveLength(12);
    for (const account of accounts) expect(resources(account)).toEqual(['calendar:work', 'mail']);
  });

  it('are made by another process if one dies after the provider has made them', async () => {
    const account = await connected();
    const never = Promise.withResolvers<void>();
    provider.onSubscribed = () => never.promise;
    const dying = upkeep.run();
    await until('the first subscription', async () => provider.subscriptions.size === 1);
    const orphan = provider.first(account.email);
    provider.onSubscribed = () => Promise.resolve();
    await upkeep.run();
    expect(provider.subscriptions.size).toBe(1);
    await clock.pass(301_000);
    await upkeep.run();
    expect(provider.subscriptions.size).toBe(2);
    expect(
      await provider.post(orphan.address, [
        { subscription: orphan.id, secret: orphan.secret, event: 'changed' },
      ]),
    ).toBe(410);
    // The process was only slow. It cannot store its subscription any more, and ends it.
    never.resolve();
    await dying;
    expect(provider.of(account.email).map(({ id }) => id)).toEqual([
      (await rows(account))[0]?.provider_id,
    ]);
    expect(provider.subscriptions.has(orphan.id)).toBe(false);
  });

  it('are renewed after half of their life', async () => {
    const account = await subscribed();
    const { id, expiresAt } = provider.first(account.email);
    await clock.pass(2 * DAY_MS);
    await upkeep.run();
    expect(provider.requests).toEqual(['POST mail']);
    await clock.pass(2 * DAY_MS);
    await upkeep.run();
    expect(provider.requests).toEqual(['POST mail', 'PATCH mail']);
    const renewed = provider.subscriptions.get(id);
    expect(renewed?.expiresAt).toBeGreaterThan(expiresAt + 3 * DAY_MS);
    expect(await provider.notify(account.email, 'mail')).toEqual([202]);
  });

  it('are replaced and polling resumes if their renewal comes too late', async () => {
    const account = await subscribed();
    const { id } = provider.first(account.email);
    await clock.pass(8 * DAY_MS);
    provider.subscriptions.clear();
    await pass(account);
    // As an account that has not changed for days is polled without a subscription.
    const { wait } = await syncRow(account);
    expect(wait).toBeGreaterThan(160);
    expect(wait).toBeLessThan(200);
    await upkeep.run();
    expect(provider.of(account.email)).toHaveLength(1);
    expect(provider.subscriptions.has(id)).toBe(false);
    expect((await syncRow(account)).due).toBe(true);
  });

  it('are made anew if the provider no longer knows them at their renewal', async () => {
    const account = await subscribed();
    provider.subscriptions.clear();
    await clock.pass(4 * DAY_MS);
    await upkeep.run();
    expect(provider.requests).toEqual(['POST mail', 'PATCH unknown', 'POST mail']);
    expect(await provider.notify(account.email, 'mail')).toEqual([202]);
  });

  it('are retried after a growing wait, and shown as failing first', async () => {
    await subscribed();
    const account = await connected();
    provider.refusals.push(503, 503);
    await upkeep.run();
    expect(await rows(account)).toMatchObject([{ failures: 1, error: 'status 503', due: false }]);
    const listed = await listSubscriptions(database, clock.now(), 10);
    expect(listed[0]).toMatchObject({
      state: 'failing',
      kind: 'subscription',
      name: account.email,
      resource: 'mail',
      error: 'status 503',
    });
    await clock.pass(34_000);
    await upkeep.run();
    expect(await rows(account)).toMatchObject([{ failures: 2 }]);
    await clock.pass(34_000);
    await upkeep.run();
    expect(await rows(account)).toMatchObject([{ failures: 2 }]);
    await clock.pass(34_000);
    await upkeep.run();
    expect(await rows(account)).toMatchObject([{ failures: 0, error: null }]);
  });

  it('of a calendar that the provider does not report are left to polling', async () => {
    const account = await connected(['holidays', 'work']);
    provider.refusals.push(501);
    await upkeep.run();
    expect(await rows(account)).toMatchObject([
      { resource: 'calendar:holidays', unsupported: true, due: false },
      { resource: 'calendar:work', unsupported: false },
      { resource: 'mail', unsupported: false },
    ]);
    await pass(account);
    await lookAgain(account);
    expect((await syncRow(account)).wait).toBeGreaterThan(240);
  });

  it('of contacts make the address book due, and are left to polling if the provider refuses them', async () => {
    provider.hasContacts = true;
    server.app.get(ConnectorRegistry).replace(provider.connector());
    const account = await subscribed();
    await lookAgain(account);
    expect((await syncRow(account)).wait).toBeGreaterThan(240);
    provider.reads.length = 0;
    expect(await provider.notify(account.email, 'contacts')).toEqual([202]);
    await pass(account);
    expect(provider.reads).toContain(`contacts ${account.email}`);
    const other = await connected();
    provider.refusals.push(501);
    await upkeep.run();
    expect(await rows(other)).toMatchObject([
      { resource: 'contacts', unsupported: true },
      { resource: 'mail', unsupported: false },
    ]);
    await pass(other);
    await lookAgain(other);
    expect((await syncRow(other)).wait).toBeGreaterThan(240);
  });

  it('are renewed, replaced or read when the provider asks for it', async () => {
    const account = await subscribed();
    expect(await provider.notify(account.email, 'mail', 'renew')).toEqual([202]);
    expect(await syncRow(account)).toMatchObject({ due: false });
    await upkeep.run();
    expect(provider.requests).toEqual(['POST mail', 'PATCH mail']);
    expect(await provider.notify(account.email, 'mail', 'missed')).toEqual([202]);
    expect(await syncRow(account)).toMatchObject({ due: true });
    await pass(account);
    const { id } = provider.first(account.email);
    expect(await provider.notify(account.email, 'mail', 'removed')).toEqual([202]);
    provider.subscriptions.delete(id);
    expect(await syncRow(account)).toMatchObject({ due: true });
    await upkeep.run();
    expect(provider.requests.at(-1)).toBe('POST mail');
    expect(provider.subscriptions.has(id)).toBe(false);
  });

  it('follow the calendars of the account', async () => {
    const account = await subscribed(['work', 'old']);
    provider.calendars.set(account.email, ['work', 'new']);
    await database.query(
      `update calendar set provider_id = 'new' where provider_id = 'old' and account_id = $1`,
      [account.id],
    );
    await pass(account);
    await upkeep.run();
    expect(resources(account)).toEqual(['calendar:new', 'calendar:work', 'mail']);
    expect((await rows(account)).map(({ resource }) => resource)).toEqual(resources(account));
  });

  it('are replaced when the account has new credentials, and the old ones are ended', async () => {
    const account = await subscribed();
    const { id } = provider.first(account.email);
    await database.query(
      `update "grant" set settings_sealed = (select settings_sealed from "grant" where id = $1) || ' ' where id = $1`,
      [account.id],
    );
    const accounts = server.app.get(ProviderAccounts);
    const open = accounts.open.bind(accounts);
    // The changed text cannot be decrypted.
    accounts.open = (row) =>
      Object.assign(open({ ...row, settingsSealed: row.settingsSealed.trim() }), {
        settingsSealed: row.settingsSealed,
      });
    try {
      await pass(account);
      expect(await rows(account)).toMatchObject([{ due: true }]);
      await upkeep.run();
      expect(provider.of(account.email)).toHaveLength(2);
      await upkeep.run();
    } finally {
      accounts.open = open;
    }
    expect(provider.of(account.email)).toHaveLength(1);
    expect(provider.subscriptions.has(id)).toBe(false);
  });

  it('wait while the account must be authenticated again', async () => {
    const account = await connected();
    await database.query(`update "grant" set status = 'invalid' where id = $1`, [account.id]);
    await upkeep.run();
    expect(provider.requests).toEqual([]);
    expect(await rows(account)).toMatchObject([
      { error: 'the account must be authenticated again', due: false },
    ]);
  });

  it('are ended when the account is cancelled, also replaced ones', async () => {
    const account = await subscribed(['work']);
    await addPrevious(account);
    await request(server.url)
      .post(`/a/${application.clientId}/accounts/${account.id}/downgrade`)
      .set(application.secretBasic)
      .expect(200);
    expect(await provider.notify(account.email, 'mail')).toEqual([410]);
    await upkeep.run();
    expect(resources(account)).toEqual([]);
    expect(await rows(account)).toEqual([]);
  });

  it('are ended when the account is removed, also replaced ones', async () => {
    const account = await subscribed(['work']);
    await addPrevious(account);
    await request(server.url)
      .delete(`/connect/grants/${account.id}`)
      .set(application.basic)
      .expect(200);
    await until('the end of the subscriptions', async () => resources(account).length === 0);
  });

  it('are not made without a public address', async () => {
    const account = await connected();
    await database.query('delete from push_subscription');
    const connector = provider.connector();
    const { push } = connector;
    const without = Object.assign(Object.create(push ?? null) as NonNullable<typeof push>, {
      resources: () => [],
    });
    server.app.get(ConnectorRegistry).replace({ ...connector, push: without });
    await pass(account);
    await upkeep.run();
    expect(provider.requests).toEqual([]);
    expect((await syncRow(account)).wait).toBeLessThan(70);
  });

  describe('of an integration', () => {
    let integration: string;
    let other: TestApplication;

    beforeEach(async () => {
      integration = newId();
      other = await createApplication(server.app);
      await database.query(
        `insert into integration (id, application_id, provider, name, settings, redirect_uris, expires_in, created_at, updated_at)
         values ($1, $2, 'sandbox', 'Made up', '{"pull": true, "client_secret": "shared"}', '{}', 600, now(), now())`,
        [integration, application.id],
      );
    });
    afterEach(() => database.query('delete from integration'));

    it('name it in their address, and its mailboxes can be notified together', async () => {
      const account = await subscribed();
      const { address } = provider.first(account.email);
      expect(address).toBe(`https://carillon.example.com/push/sandbox/${integration}`);
      const about = (email: string, secret = 'shared') =>
        provider.post(address, [{ subscription: email, secret, event: 'changed' }]);
      expect(await about(account.email.toUpperCase())).toBe(202);
      expect(await syncRow(account)).toMatchObject({ due: true });
      expect(await about('nobody@sandbox.test')).toBe(410);
      expect(await about(account.email, 'wrong')).toBe(410);
      const stranger = await createAccount(server.app, other);
      await pass(stranger);
      await upkeep.run();
      await pass(stranger);
      expect(await about(stranger.email)).toBe(410);
      expect(await syncRow(stranger)).toMatchObject({ due: false });
    });

    it('are pulled by one of two processes, and acknowledged after they are stored', async () => {
      const account = await subscribed();
      const { id, secret } = provider.first(account.email);
      provider.queue.push({ subscription: id, secret, event: 'changed' });
      const pulls = server.app.get(PushPulls);
      await pulls.run();
      await until('the pulled notification', async () => (await syncRow(account)).due);
      await until('its acknowledgement', async () => provider.queue.length === 0);
      const leases = () =>
        database.query<{ fence: number }>('select fence from push_pull where due_at > now()');
      expect(await leases()).toEqual([{ fence: 1 }]);
      await pulls.run();
      expect(await leases()).toEqual([{ fence: 1 }]);
      expect(await listSubscriptions(database, clock.now(), 10)).toContainEqual(
        expect.objectContaining({ state: 'live', kind: 'pull', name: 'Made up' }),
      );
    });
  });
});
