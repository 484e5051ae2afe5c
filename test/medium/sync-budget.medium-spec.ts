import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { CeilingReachedError } from '../../src/platform/budgets/ceiling-reached-error.ts';
import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type {
  Connector,
  ContactsPort,
  MailChanges,
  RemoteCalendar,
  SyncPassRequest,
} from '../../src/providers/port/connector.ts';
import { scheduleChangedSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const CALENDAR: RemoteCalendar = {
  providerId: 'primary',
  name: 'Calendar',
  description: null,
  location: null,
  timezone: null,
  isPrimary: true,
  readOnly: false,
};

describe('a sync pass that has to wait for the budget of the provider', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let account: TestAccount;
  let warnings: unknown[];
  let cursors: (string | null)[];
  /** What each part does; `null` answers. */
  let mail: ((request: SyncPassRequest) => Error | null) | undefined;
  let calendars: () => Error | null;
  let contacts: () => Error | null;
  /** What happens while the mailbox is read. */
  let during: () => Promise<void>;
  /** Part of what the mailbox answers. */
  let answer: Partial<MailChanges>;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    application = await createApplication(server.app);
    server.app.get(ConnectorRegistry).replace(connector);
  });
  beforeEach(async () => {
    account = await createAccount(server.app, application);
    [warnings, cursors, answer] = [[], [], {}];
    during = async () => undefined;
    mail = calendars = contacts = () => null;
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((...said) => void warnings.push(said));
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => server.close());

  /** A mailbox of three batches, one calendar without events, and an empty address book. */
  const connector = {
    name: 'sandbox',
    mail: {
      async listChanges(_: unknown, request: SyncPassRequest): Promise<MailChanges> {
        await during();
        const error = mail?.(request);
        if (error) throw error;
        cursors.push(request.cursor);
        const cursor = String(Number(request.cursor ?? 0) + 1);
        const listing = { folders: null, renamed: [], messages: [], removed: [] };
        return { ...listing, cursor, more: Number(cursor) < 3, present: true, ...answer };
      },
    },
    calendar: {
      async listCalendars() {
        const error = calendars();
        if (error) throw error;
        return [CALENDAR];
      },
      listEventChanges: () =>
        Promise.resolve({ cursor: '1', more: false, events: [], removed: [], present: null }),
    },
    contacts: {
      hasAddressBook: () => true,
      async listContactChanges() {
        const error = contacts();
        if (error) throw error;
        return { cursor: '1', more: false, contacts: [], groups: null, removed: [], present: null };
      },
    } as unknown as ContactsPort,
  } as unknown as Connector;

  const sync = async () =>
    outcomeOf(await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id));
  async function row() {
    const [found] = await database.query(
      `select j.cursor, j.failures, j.run_at as at, g.sync_state as state, j.calendars_at as "calendarsAt",
         (select count(*)::int from calendar c where c.account_id = g.id) as calendars
       from "grant" g join sync_job j on j.account_id = g.id where g.id = $1`,
      [account.id],
    );
    return found!;
  }
  /** Seconds until the row is due, counted from the end and from the beginning of the pass. */
  async function waited(pass: () => Promise<unknown>, column: 'at' | 'calendarsAt' = 'at') {
    const before = Date.now();
    await pass();
    const after = Date.now();
    const at = ((await row())[column] as Date).getTime();
    return { least: (at - after) / 1000, most: (at - before) / 1000 };
  }

  it('is due again when the budget allows it, and is no failure', async () => {
    const batches = [null, null, new BudgetExhaustedError(100)];
    mail = () => batches.shift() ?? null;
    await database.query(`update "grant" set sync_state = 'downloading' where id = $1`, [
      account.id,
    ]);
    for (let times = 0; times < 7; times += 1) {
      const wait = await waited(async () =>
        expect(await sync()).toMatchObject({ result: { kind: 'idle' } }),
      );
      expect(wait.least).toBeLessThanOrEqual(100.5);
      expect(wait.most).toBeGreaterThanOrEqual(99.5);
      expect(await row()).toMatchObject({ cursor: '2', failures: 0 });
      batches.unshift(new BudgetExhaustedError(100));
    }
    expect((await row())['state']).not.toBe('sync-error');
    expect(warnings).toEqual([]);
    batches.length = 0;
    expect(await sync()).toMatchObject({ result: { kind: 'current' } });
    expect(cursors).toEqual([null, '1', '2']);
    expect(await row()).toMatchObject({ cursor: '3', failures: 0, state: 'running' });
  });

  it.each<[string, Partial<MailChanges> | Error]>([
    ['waits for the budget', new BudgetExhaustedError(100)],
    [
      'waits for a folder that cannot be read',
      { more: true, stalled: { since: new Date(), reason: 'Projects' } },
    ],
  ])('is made again at once if a change was reported during a pass that %s', async (_, ends) => {
    await sync();
    // The next pass is a poll.
    during = () => scheduleChangedSync(database, [account.id]);
    mail = () => (ends instanceof Error ? ends : null);
    answer = ends instanceof Error ? {} : ends;
    await sync();
    const due = () =>
      database.query('select again, run_at <= now() as due from sync_job where account_id = $1', [
        account.id,
      ]);
    expect(await due()).toEqual([{ again: true, due: true }]);
    during = async () => undefined;
    await sync();
    expect(await due()).toEqual([{ again: false, due: false }]);
  });

  it('waits until the budget is full if it has stored nothing, because it begins anew', async () => {
    const exhausted = new BudgetExhaustedError(5, 100);
    const batches: (Error | null)[] = [exhausted, null, exhausted, exhausted];
    mail = () => batches.shift() ?? null;
    for (const seconds of [100, 5, 100]) {
      const wait = await waited(sync);
      expect(wait.least).toBeLessThanOrEqual(seconds + 0.5);
      expect(wait.most).toBeGreaterThanOrEqual(seconds - 0.5);
    }
    expect(await sync()).toMatchObject({ result: { kind: 'current' } });
  });

  it('leaves an account that was failing as it was', async () => {
    mail = () => new ProviderError('temporary', '421 Try later');
    for (let times = 0; times < 5; times += 1) await sync();
    mail = () => new BudgetExhaustedError(100);
    await sync();
    expect(await row()).toMatchObject({ failures: 5, state: 'sync-error' });
  });

  it('reads calendars and contacts while the mailbox waits', async () => {
    mail = () => new BudgetExhaustedError(100);
    await sync();
    expect(await row()).toMatchObject({ calendars: 1 });
    let asked = 0;
    contacts = () => ((asked += 1), null);
    await database.query('update sync_job set contacts_at = null where account_id = $1', [
      account.id,
    ]);
    await sync();
    expect(asked).toBeGreaterThan(0);
  });

  it('is current when only calendars or contacts wait, and comes back for them', async () => {
    await sync();
    await database.query(
      `update sync_job set calendars_at = 'epoch', contacts_at = 'epoch' where account_id = $1`,
      [account.id],
    );
    calendars = () => new BudgetExhaustedError(30);
    contacts = () => new BudgetExhaustedError(20);
    const wait = await waited(async () =>
      expect(await sync()).toMatchObject({ result: { kind: 'current' } }),
    );
    expect(wait.least).toBeLessThanOrEqual(20.5);
    expect(wait.most).toBeGreaterThanOrEqual(19.5);
    expect(((await row())['calendarsAt'] as Date).getTime()).toBeLessThanOrEqual(
      Date.now() + 30_500,
    );
    expect(warnings).toEqual([]);
  });

  describe('when an application has reached a ceiling', () => {
    const reached = () =>
      new CeilingReachedError('gmail', { units: 1000, isOwn: false }, 0.8, new Date('2026-01-01'));

    it.each([
      ['the history of the mailbox', () => (mail = () => reached())],
      ['calendars', () => (calendars = reached)],
      ['contacts', () => (contacts = reached)],
    ])('polls the account as usual while %s waits', async (_, wait) => {
      wait();
      const { pollSeconds } = server.app.get<AppConfig>(APP_CONFIG).sync;
      const { least } = await waited(sync);
      expect(least).toBeLessThanOrEqual(2 * pollSeconds);
      expect(await row()).toMatchObject({ failures: 0 });
      expect(warnings).toEqual([]);
    });
  });

  it('reports calendars that failed while the mailbox waits', async () => {
    mail = () => new BudgetExhaustedError(100);
    calendars = () => new ProviderError('temporary', '503 Try later');
    await sync();
    // An account with a mailbox does not fail because of its calendars.
    expect(warnings).toHaveLength(1);
    expect(await row()).toMatchObject({ failures: 0 });
  });
});
