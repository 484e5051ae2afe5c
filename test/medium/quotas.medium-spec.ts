import { newId } from '../../src/platform/base/ids/ids.ts';
import type { QuotaConfig } from '../../src/platform/config/sections/quota-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ReminderPlanner } from '../../src/calendar/notifications/plan/reminder-planner.ts';
import { ReminderRepository } from '../../src/calendar/notifications/reminder.repository.ts';
import type { UsedUp, Use } from '../../src/platform/quotas/quota.ts';
import { pruneQuotaUse, Quotas } from '../../src/platform/quotas/quotas.ts';
import {
  notificationOf,
  reminderEvent,
  type ReminderFixture,
  startReminderFixture,
} from '../support/reminder-fixture.ts';
import { TestClock } from '../support/test-clock.ts';

const DAY_MS = 86_400_000;
const noon = new Date('2026-11-22T12:00:00Z');

describe('quotas', () => {
  let fixture: ReminderFixture;
  let second: Database;
  let clock: TestClock;
  let applicationId: string;
  let ada: string;
  let bo: string;

  beforeAll(async () => {
    fixture = await startReminderFixture();
    const { url } = fixture.config.database;
    second = new Database({
      url,
      max: 6,
      statementTimeoutMs: 15_000,
      applicationName: 'second worker',
    });
    await fixture.database.query(
      `insert into webhook (id, application_id, callback_url, state, triggers, subscribed_at, created_at, updated_at)
       values (gen_random_uuid(), $1, 'https://app.example.test/h', 'active', '{quota.reached}', now(), now(), now())`,
      [fixture.applicationId],
    );
  });
  beforeEach(async () => {
    clock = new TestClock(noon);
    ({ applicationId } = fixture);
    [ada, bo] = [newId(), newId()];
    await fixture.database.query('delete from quota_use');
    await fixture.database.query('delete from webhook_event');
  });
  afterAll(async () => {
    await second.close();
    await fixture.close();
  });

  function quotasOf(limits: Partial<QuotaConfig>, database = fixture.database): Quotas {
    const config = { ...fixture.config, quotas: { ...fixture.config.quotas, ...limits } };
    return new Quotas(config, database, clock);
  }
  const text = (accountId: string): Use => ({
    accountId,
    applicationId,
    quotas: ['sms', 'reminders'],
  });
  const take = (
    quotas: Quotas,
    uses: Use[],
    database = fixture.database,
  ): Promise<(UsedUp | null)[]> => database.transaction((sql) => quotas.take(sql, uses));
  const used = async (owner: string) =>
    Object.fromEntries(
      (
        await fixture.database.query<{ quota: string; used: number }>(
          'select quota, used from quota_use where owner_id = $1 order by quota',
          [owner],
        )
      ).map((row) => [row.quota, row.used]),
    );
  const alerts = async () =>
    (
      await fixture.database.query<{ body: Buffer }>(
        `select body from webhook_event where type = 'quota.reached' order by id`,
      )
    ).map(({ body }) => JSON.parse(body.toString()).deltas[0]);

  it('admit exactly as many uses as the limit allows when two workers ask at the same time', async () => {
    const limits = { sms: { account: 30, application: 0 } };
    const workers = [
      { database: fixture.database, quotas: quotasOf(limits) },
      { database: second, quotas: quotasOf(limits, second) },
    ];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const { database, quotas } = workers[index % 2]!;
        return take(quotas, [text(ada)], database);
      }),
    );
    expect(answers.flat().filter((answer) => answer === null)).toHaveLength(30);
    expect(await used(ada)).toMatchObject({ sms: 30 });
    expect(await alerts()).toHaveLength(1);
  });

  it('admit a part of several uses that are requested together, and count only that part', async () => {
    const quotas = quotasOf({ sms: { account: 2, application: 3 } });
    const answers = await take(quotas, [text(ada), text(ada), text(ada), text(bo), text(bo)]);
    expect(answers.map((answer) => answer?.per ?? null)).toEqual([
      null,
      null,
      'account',
      null,
      'application',
    ]);
    expect(await used(ada)).toMatchObject({ sms: 2, reminders: 2 });
    expect(await used(bo)).toMatchObject({ sms: 1, reminders: 1 });
    expect(await used(applicationId)).toMatchObject({ sms: 3, reminders: 3 });
  });

  it('count nothing for a use that one of its quotas refuses', async () => {
    const quotas = quotasOf({
      sms: { account: 5, application: 5 },
      reminders: { account: 1, application: 0 },
    });
    expect(await take(quotas, [text(ada)])).toEqual([null]);
    const [refusal] = await take(quotas, [text(ada)]);
    expect(refusal).toMatchObject({ quota: 'reminders', per: 'account', limit: 1 });
    expect(await used(ada)).toEqual({ sms: 1, reminders: 1 });
  });

  it('count nothing when the transaction is rolled back', async () => {
    const quotas = quotasOf({ sms: { account: 1, application: 0 } });
    await expect(
      fixture.database.transaction(async (sql) => {
        expect(await quotas.take(sql, [text(ada)])).toEqual([null]);
        throw new Error('the worker dies');
      }),
    ).rejects.toThrow('the worker dies');
    expect(await take(quotas, [text(ada)])).toEqual([null]);
  });

  it('raise one alert for each quota, owner and day, with what the subscriber needs to know', async () => {
    const quotas = quotasOf({ sms: { account: 1, application: 0 } });
    await take(quotas, [text(ada), text(ada), text(ada)]);
    await take(quotas, [text(ada)]);
    const start = Date.parse('2026-11-22T00:00:00Z') / 1000;
    expect(await alerts()).toEqual([
      {
        date: noon.getTime() / 1000,
        object: 'quota',
        type: 'quota.reached',
        object_data: {
          namespace_id: ada,
          account_id: ada,
          object: 'quota',
          id: expect.any(String),
          attributes: {
            quota: 'sms',
            per: 'account',
            limit: 1,
            window_start: start,
            window_end: start + 86_400,
          },
          metadata: null,
        },
      },
    ]);
    await take(quotas, [text(bo), text(bo)]);
    expect(await alerts()).toHaveLength(2);
    clock.advance(DAY_MS);
    await take(quotas, [text(ada), text(ada)]);
    expect(await alerts()).toHaveLength(3);
  });

  it('raise an alert when a use is refused, not when the last free use is taken', async () => {
    const quotas = quotasOf({ sms: { account: 2, application: 0 } });
    await take(quotas, [text(ada), text(ada)]);
    expect(await alerts()).toEqual([]);
    expect(await quotas.usedUp('sms', bo, applicationId)).toBeNull();
    expect(await alerts()).toEqual([]);
    expect(await quotas.usedUp('sms', ada, applicationId)).toMatchObject({
      per: 'account',
      limit: 2,
    });
  });

  it('raise one alert when uses are refused before any is counted, however many come at the same time', async () => {
    const quotas = quotasOf({ meetings: { account: 1, application: 0 } });
    await take(quotas, [{ accountId: ada, applicationId, quotas: ['meetings'] }]);
    expect(await alerts()).toEqual([]);
    const ask = () => quotas.usedUp('meetings', ada, applicationId);
    const refusals = await Promise.all([ask(), ask(), ask()]);
    expect(refusals).toMatchObject(
      Array.from({ length: 3 }, () => ({ quota: 'meetings', per: 'account', limit: 1 })),
    );
    await ask();
    expect((await alerts()).map((alert) => alert.object_data.attributes)).toMatchObject([
      { quota: 'meetings', per: 'account', limit: 1 },
    ]);
    const [use] = await fixture.database.query<{ used: number }>(
      'select used from quota_use where owner_id = $1',
      [ada],
    );
    expect(use?.used).toBe(1);
  });

  it('start again at midnight UTC', async () => {
    const quotas = quotasOf({ sms: { account: 1, application: 0 } });
    clock.advance(DAY_MS / 2 - 1);
    await take(quotas, [text(ada)]);
    expect(await take(quotas, [text(ada)])).toEqual([
      { quota: 'sms', per: 'account', limit: 1, until: new Date('2026-11-23T00:00:00Z') },
    ]);
    clock.advance(1);
    expect(await take(quotas, [text(ada)])).toEqual([null]);
  });

  it('count and refuse nothing if no limit is set', async () => {
    const off = { account: 0, application: 0 };
    const quotas = quotasOf({ sms: off, reminders: off, meetings: off });
    expect(quotas.limits(['sms', 'reminders', 'meetings'])).toBe(false);
    expect(await take(quotas, [text(ada)])).toEqual([null]);
    expect(await used(ada)).toEqual({});
  });

  describe('for a reminder that is about to be sent', () => {
    /** A scheduled text message, and repositories as two workers have them. */
    async function scheduled(limit: number) {
      const event = reminderEvent(fixture, new Date(), { notifications: [notificationOf.sms(30)] });
      const planner = new ReminderPlanner(fixture.config);
      await fixture.database.transaction((sql) => planner.plan(sql, event, new Date()));
      const ids = (await fixture.reminders(event.eventId)).map(({ id }) => id);
      const limits = { sms: { account: limit, application: 0 } };
      const [one, two] = [fixture.database, second].map((database) => {
        const accounts = new ProviderAccounts(database, fixture.secretBox);
        return new ReminderRepository(database, accounts, quotasOf(limits, database));
      }) as [ReminderRepository, ReminderRepository];
      return { ids: ids as [string, string], one, two };
    }
    const accountUse = async () => (await used(fixture.accountId))['sms'];

    it('count it once when two workers process it at the same time', async () => {
      const { ids, one, two } = await scheduled(10);
      const answers = await Promise.all(
        [one, two, one, two].map((worker) => worker.admit(ids[0], fixture.accountId)),
      );
      expect(answers.map(({ kind }) => kind)).toEqual(['send', 'send', 'send', 'send']);
      expect(await accountUse()).toBe(1);
    });

    it('count it once when its worker dies after the count and another sends it, even if the quota is used up by then', async () => {
      const { ids, one, two } = await scheduled(1);
      expect(await one.admit(ids[0], fixture.accountId)).toEqual({ kind: 'send' });
      expect(await two.admit(ids[1], fixture.accountId)).toMatchObject({
        kind: 'refused',
        by: { quota: 'sms' },
      });
      expect(await two.admit(ids[0], fixture.accountId)).toEqual({ kind: 'send' });
      expect(await accountUse()).toBe(1);
    });

    it('do not count it when it was cancelled', async () => {
      const { ids, one } = await scheduled(10);
      await fixture.database.query(
        `update reminder set status = 'cancelled', reason = 'gone' where id = $1`,
        [ids[0]],
      );
      expect(await one.admit(ids[0], fixture.accountId)).toEqual({ kind: 'dropped' });
      expect(await accountUse()).toBeUndefined();
    });
  });

  it('keep counts for a month', async () => {
    const quotas = quotasOf({
      sms: { account: 1, application: 0 },
      reminders: { account: 0, application: 0 },
    });
    await take(quotas, [text(ada)]);
    const prune = (at: Date) => fixture.database.transaction((sql) => pruneQuotaUse(sql, at));
    expect(await prune(new Date(noon.getTime() + 31 * DAY_MS))).toBe(0);
    expect(await prune(new Date(noon.getTime() + 32 * DAY_MS))).toBe(1);
  });
});
