import { Database, type Sql } from '../../src/platform/database/sql.ts';
import type { ClaimedRow, Outcome } from '../../src/platform/work/queue/dispatcher.ts';
import {
  scheduleChangedSync,
  schedulePushed,
} from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailChanges } from '../../src/providers/port/connector.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import type { SyncResult } from '../../src/sync/sync-results.ts';
import { EngineSteps, fakeLease } from '../support/engine-steps.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const POLL_SECONDS = 60;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A page without changes. */
const unchanged = (cursor: string): MailChanges => ({
  cursor,
  more: false,
  present: true,
  folders: null,
  renamed: [],
  messages: [],
  removed: [],
});

const CALENDAR = {
  providerId: 'one',
  name: 'One',
  description: null,
  location: null,
  timezone: 'UTC',
  isPrimary: true,
  readOnly: false,
};

/** Sync passes of accounts in which nothing has changed (ADR 0099). */
describe('a poll', () => {
  let server: TestApp;
  let database: Database;
  let dispatcher: MailboxSyncDispatcher;
  let steps: EngineSteps<ClaimedRow, SyncResult>;
  let account: TestAccount;
  let cursor: string;
  let news: Partial<MailChanges>;
  let calendars: (typeof CALENDAR)[];
  let duringCalendars: () => Promise<void>;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', SYNC_POLL_SECONDS: String(POLL_SECONDS) });
    database = server.app.get(Database);
    dispatcher = server.app.get(MailboxSyncDispatcher);
    steps = new EngineSteps(database, () => dispatcher);
    const mail = { listChanges: async () => ({ ...unchanged(cursor), ...news }) };
    const calendar = {
      listCalendars: async () => {
        await duringCalendars();
        return calendars;
      },
      listEventChanges: async () => ({
        cursor: 'events',
        more: false,
        events: [],
        removed: [],
        present: null,
      }),
    };
    const verify = () => Promise.reject(new Error('no account is connected here'));
    const connector = { name: 'sandbox', verify, mail, calendar } as unknown as Connector;
    server.app.get(ConnectorRegistry).replace(connector);
  });
  beforeEach(async () => {
    [cursor, news, calendars, duringCalendars] = ['1', {}, [], async () => undefined];
    account = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const pass = async (): Promise<Outcome<SyncResult>> =>
    outcomeOf(await syncAccount(server.app, dispatcher, account.id));
  /** The first passes: they store what is there, and audit it. */
  const becomeCurrent = async () => {
    await pass();
    await pass();
  };
  const set = (assignments: string) =>
    database.query(`update sync_job set ${assignments} where account_id = $1`, [account.id]);
  const columns = async () => {
    const [row] = await database.query<{ calendars_at: Date; cursor: string; again: boolean }>(
      'select calendars_at, cursor, again from sync_job where account_id = $1',
      [account.id],
    );
    return row;
  };
  const waitMs = ({ next }: Outcome<SyncResult>) =>
    next.kind === 'again' ? next.at.getTime() - Date.now() : Number.NaN;
  /** The interval of the next poll in shortest intervals, rounded: it is spread by 10 %. */
  const intervals = async () => Math.round(waitMs(await pass()) / (POLL_SECONDS * 1000));

  /** Runs a claimed and loaded pass. @returns the statements that the pass itself has run */
  async function statementsOfPass(): Promise<{ texts: string[]; outcome: Outcome<SyncResult> }> {
    const job = await steps.claim(account.id);
    const loaded = await steps.load<NonNullable<Parameters<typeof dispatcher.run>[2]>>(job);
    const texts: string[] = [];
    const { query, transaction } = database;
    database.query = (text, ...rest) => {
      texts.push(text);
      return query.call(database, text, ...rest) as never;
    };
    database.transaction = (work) => {
      texts.push('begin');
      return transaction.call(database, work) as never;
    };
    try {
      const outcome = outcomeOf(await dispatcher.run(job, fakeLease(), loaded));
      return { texts, outcome };
    } finally {
      Object.assign(database, { query, transaction });
      await steps.settle(job, null);
    }
  }

  it('without changes runs no statement of its own, and one when it is settled', async () => {
    await becomeCurrent();
    const { texts, outcome } = await statementsOfPass();
    expect(texts).toEqual([]);
    expect(outcome.result).toEqual({ kind: 'current', isShown: true });
    const settled: string[] = [];
    const job = { id: account.id, gateId: account.id } as ClaimedRow;
    const sql: Sql = {
      query: async (text) => {
        settled.push(text.trim().split(/\s/, 2).join(' '));
        return [];
      },
    };
    await dispatcher.record(sql, [{ row: job, ...outcome }]);
    expect(settled).toEqual(['update sync_job']);
  });

  it('without changes of its calendars writes nothing before it is settled', async () => {
    calendars = [CALENDAR];
    await becomeCurrent();
    await set(`calendars_at = now() - interval '1 s'`);
    const { texts } = await statementsOfPass();
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.filter((text) => !/^\s*(with|select)\b/.test(text))).toEqual([]);
    await pass();
    expect((await columns())?.calendars_at.getTime()).toBeGreaterThan(Date.now() + 50_000);
  });

  it('stores a cursor that has moved although nothing has changed', async () => {
    await becomeCurrent();
    await set(`active_at = now() - interval '1 day'`);
    cursor = '2';
    expect((await pass()).result).toEqual({ kind: 'current', isShown: true });
    expect((await columns())?.cursor).toBe('2');
    expect(await intervals()).toBe(3);
  });

  it('does not overwrite the request of a notification that arrives during a pass over calendars', async () => {
    calendars = [CALENDAR];
    await becomeCurrent();
    await set(`calendars_at = now() - interval '1 s'`);
    duringCalendars = () =>
      schedulePushed(database, [{ accountId: account.id, resource: 'calendar:one' }]);
    await pass();
    const { calendars_at: at, again } = (await columns()) ?? {};
    expect([at?.toISOString(), again]).toEqual(['2000-01-01T00:00:00.000Z', true]);
  });

  it.each([
    [5 * MINUTE_MS, 1],
    [20 * MINUTE_MS, 2],
    [DAY_MS, 3],
  ])(
    'of an account that has not changed for %d ms is repeated after %d shortest intervals',
    async (quietMs, times) => {
      await becomeCurrent();
      await set(`active_at = now() - interval '${quietMs} ms'`);
      expect(await intervals()).toBe(times);
    },
  );

  it('is repeated after the shortest interval once the mailbox changes', async () => {
    await becomeCurrent();
    await set(`active_at = now() - interval '1 day'`);
    news = { folders: [{ providerId: 'INBOX', name: 'inbox', displayName: 'Inbox' }] };
    expect(await intervals()).toBe(1);
    news = {};
    expect(await intervals()).toBe(1);
  });

  it('is repeated after the shortest interval once a calendar changes', async () => {
    await becomeCurrent();
    await set(`active_at = now() - interval '1 day', calendars_at = now() - interval '1 s'`);
    calendars = [CALENDAR];
    expect(await intervals()).toBe(1);
    expect(await intervals()).toBe(1);
  });

  it('is repeated after the shortest interval once another pass was requested', async () => {
    await becomeCurrent();
    await set(`active_at = now() - interval '1 day', again = false`);
    await database.transaction((sql) => scheduleChangedSync(sql, [account.id]));
    expect(await intervals()).toBe(1);
    expect(await intervals()).toBe(1);
  });
});
