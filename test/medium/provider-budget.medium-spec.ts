import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { ApiUseCounter } from '../../src/platform/budgets/api-use-counter.ts';
import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { bucketOf, type BudgetShare } from '../../src/platform/budgets/budget-limit.ts';
import type { BudgetLimit } from '../../src/platform/config/sections/budget-config.ts';
import {
  ProviderBudget,
  pruneProviderBuckets,
} from '../../src/platform/budgets/provider-budget.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

/** Replaces the database's clock by one that only the test moves. */
const STILL_TIME = `
  create schema test_time;
  create table test_time.moment (at timestamptz not null);
  insert into test_time.moment values ('2030-01-01T00:00:00Z');
  create function test_time.clock_timestamp() returns timestamptz language sql volatile parallel safe
    as 'select at from test_time.moment'`;

/** 60 units in 10 minutes: 15 at once, and one every 13.3 seconds, which no taker waits for. */
const SLOW: BudgetLimit = { units: 60, seconds: 600 };

describe('the budget of a provider', () => {
  const databases: Database[] = [];
  const tests: TestDatabase[] = [];
  let still: TestDatabase;
  let real: TestDatabase;
  let key: string;

  async function connect({ url }: TestDatabase): Promise<Database> {
    const options = { url, max: 8, statementTimeoutMs: 15_000, applicationName: 'budgets' };
    const database = new Database(options);
    databases.push(database);
    return database;
  }
  async function budgets(test: TestDatabase, processes: number): Promise<ProviderBudget[]> {
    const pools = await Promise.all(Array.from({ length: processes }, () => connect(test)));
    return pools.map((pool) => {
      const use = new ApiUseCounter(pool, new SystemClock(), {});
      return new ProviderBudget(pool, use);
    });
  }
  beforeAll(async () => {
    still = await createTestDatabase();
    real = await createTestDatabase();
    tests.push(still, real);
    const database = await connect(still);
    const name = new URL(still.url).pathname.slice(1);
    for (const statement of STILL_TIME.split(';')) await database.query(statement);
    await database.query(`alter database ${name} set search_path = test_time, pg_catalog, public`);
  });
  beforeEach(() => {
    key = `test:${newId()}`;
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await Promise.all(tests.map((test) => test.drop()));
  });

  const share = (cost: number, limit = SLOW): BudgetShare => ({ key, limit, cost });
  const pass = async (seconds: number) => {
    const database = databases[0]!;
    await database.query(`update test_time.moment set at = at + make_interval(secs => $1)`, [
      seconds,
    ]);
  };
  /** Whether the units were taken; another error fails the test. */
  async function isTaken(taking: Promise<void>): Promise<boolean> {
    try {
      await taking;
      return true;
    } catch (error) {
      if (error instanceof BudgetExhaustedError) return false;
      throw error;
    }
  }
  async function countTaken(takings: readonly Promise<void>[]): Promise<number> {
    return (await Promise.all(takings.map(isTaken))).filter(Boolean).length;
  }
  async function waitOf(taking: Promise<void>): Promise<number> {
    const error = await taking.then(
      () => null,
      (error: unknown) => error,
    );
    if (!(error instanceof BudgetExhaustedError)) throw new Error('the units were taken');
    return error.retryAfterSeconds;
  }

  it('is not exceeded in any period, however many takers of several processes there are', async () => {
    const processes = await budgets(still, 4);
    const taken: number[] = [];
    const step = 20;
    for (let moment = 0; moment < 90; moment += 1) {
      // Pauses let the bucket fill, so that bursts meet steady use.
      const takers = moment % 17 < 4 ? 0 : 24;
      taken.push(
        await countTaken(
          Array.from({ length: takers }, (_, n) => processes[n % 4]!.take([share(1)], 'send')),
        ),
      );
      await pass(step);
    }
    const inPeriod = SLOW.seconds / step;
    const sums = taken.map((_, from) =>
      taken.slice(from, from + inPeriod).reduce((sum, count) => sum + count, 0),
    );
    expect(Math.max(...sums)).toBeLessThanOrEqual(SLOW.units);
    // The budget is used, too: three quarters of the limit flow in.
    expect(Math.min(...sums.slice(0, -inPeriod))).toBeGreaterThanOrEqual(SLOW.units * 0.6);
  });

  it('says when the units are there, and when the budget is full', async () => {
    const [budget] = (await budgets(still, 1)) as [ProviderBudget];
    const { capacity, perSecond } = bucketOf(SLOW);
    await budget.take([share(capacity)], 'send');
    await expect(budget.take([share(1)], 'history')).rejects.toMatchObject({
      retryAfterSeconds: Math.ceil((1 + capacity / 2) / perSecond),
      fullAfterSeconds: Math.ceil(capacity / perSecond),
    });
  });

  it('counts no second twice when takers wait for each other', async () => {
    const [budget] = (await budgets(real, 1)) as [ProviderBudget];
    const database = await connect(real);
    await budget.take([share(1)], 'send');
    let taking: Promise<void> | undefined;
    const refilled = await database.transaction(async (sql) => {
      await sql.query('select 1 from provider_bucket where key = $1 for update', [key]);
      taking = budget.take([share(1)], 'send');
      await until('the taker to wait', async () => {
        const waiting = await database.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return waiting.length > 0;
      });
      const [row] = await sql.query<{ at: Date }>(
        `update provider_bucket set refilled_at = clock_timestamp() where key = $1 returning refilled_at as at`,
        [key],
      );
      return row!.at;
    });
    await taking;
    const [row] = await database.query<{ at: Date }>(
      'select refilled_at as at from provider_bucket where key = $1',
      [key],
    );
    expect(row!.at.getTime()).toBeGreaterThanOrEqual(refilled.getTime());
  });

  it('has units for messages and for people when history has used up its part', async () => {
    const [budget] = (await budgets(still, 1)) as [ProviderBudget];
    const takeAll = async (priority: 'send' | 'interactive' | 'history') => {
      let taken = 0;
      while (await isTaken(budget.take([share(1)], priority))) taken += 1;
      return taken;
    };
    expect(await takeAll('history')).toBe(7);
    expect(await takeAll('interactive')).toBe(5);
    expect(await takeAll('send')).toBe(3);
  });

  it('gives history what flows in while nobody else needs it', async () => {
    const [budget] = (await budgets(still, 1)) as [ProviderBudget];
    while (await isTaken(budget.take([share(1)], 'history')));
    await pass(600);
    let taken = 0;
    for (let moment = 0; moment < 30; moment += 1) {
      while (await isTaken(budget.take([share(1)], 'history'))) taken += 1;
      await pass(20);
    }
    expect(taken).toBeGreaterThanOrEqual(45);
  });

  it('takes from both of two buckets or from none', async () => {
    const [one, other] = (await budgets(still, 2)) as [ProviderBudget, ProviderBudget];
    const application = { key: `${key}:application`, limit: SLOW, cost: 1 };
    const mailbox = (name: string) => ({ key: `${key}:${name}`, limit: SLOW, cost: 5 });
    const takings = Array.from({ length: 12 }, (_, n) =>
      // In both orders, as callers name them: locks have an order of their own.
      n % 2
        ? one.take([application, mailbox('ada')], 'send')
        : other.take([mailbox('ada'), application], 'send'),
    );
    expect(await countTaken(takings)).toBe(3);
    // The refused takings of ada left the application its units.
    const rest = Array.from({ length: 20 }, () => one.take([application], 'send'));
    expect(await countTaken(rest)).toBe(12);
    expect(await isTaken(one.take([mailbox('bo'), application], 'send'))).toBe(false);
    expect(await isTaken(one.take([mailbox('bo')], 'send'))).toBe(true);
  });

  it('says after how many seconds the units are there, and then has them', async () => {
    const [budget] = (await budgets(still, 1)) as [ProviderBudget];
    await budget.take([share(15)], 'send');
    expect(await waitOf(budget.take([share(3)], 'send'))).toBe(40);
    await pass(40);
    await budget.take([share(3)], 'send');
  });

  it('waits for units that will soon be there', async () => {
    const [budget] = (await budgets(real, 1)) as [ProviderBudget];
    const limit = { units: 40, seconds: 10 };
    await budget.take([share(10, limit)], 'send');
    await budget.take([share(1, limit)], 'send');
    await budget.take([share(1, limit)], 'send');
  });

  it('stops waiting when the caller gives up', async () => {
    const [budget] = (await budgets(real, 1)) as [ProviderBudget];
    const limit = { units: 40, seconds: 30 };
    await budget.take([share(10, limit)], 'send');
    const caller = new AbortController();
    const taking = budget.take([share(1, limit)], 'send', caller.signal);
    caller.abort();
    await expect(taking).rejects.toThrow('aborted');
  });

  it('lets nothing pass for the time that the provider asked for', async () => {
    const [budget, other] = (await budgets(still, 2)) as [ProviderBudget, ProviderBudget];
    await budget.penalize(share(0), 300);
    await budget.penalize(share(0), 30);
    expect(await waitOf(other.take([share(1)], 'send'))).toBe(314);
    await pass(299);
    expect(await isTaken(other.take([share(1)], 'send'))).toBe(false);
    // The bucket is empty then, and fills again.
    await pass(1);
    expect(await waitOf(other.take([share(1)], 'send'))).toBe(14);
    await pass(14);
    await other.take([share(1)], 'send');
    expect(await isTaken(other.take([share(1)], 'send'))).toBe(false);
  });

  it('refuses a request that costs more than the bucket can hold', async () => {
    const [budget] = (await budgets(still, 1)) as [ProviderBudget];
    await expect(budget.take([share(16)], 'send')).rejects.toThrow(RangeError);
    await budget.take([share(15)], 'history');
  });

  it('keeps no row of a bucket that has been full for an hour, and loses no other', async () => {
    const [budget] = (await budgets(still, 1)) as [ProviderBudget];
    const database = databases[0]!;
    const at = async (): Promise<Date> =>
      (await database.query<{ at: Date }>('select at from test_time.moment'))[0]!.at;
    const rows = () =>
      database.query('select key from provider_bucket where key like $1', [`${key}%`]);
    await budget.take([share(15)], 'send');
    await budget.penalize({ key: `${key}:slow`, limit: SLOW }, 7_200);
    await pass(3_700);
    await pruneProviderBuckets(database, await at());
    expect(await rows()).toHaveLength(2);
    await pass(200);
    await pruneProviderBuckets(database, await at());
    expect(await rows()).toEqual([{ key: `${key}:slow` }]);
    await pass(7_200);
    await pruneProviderBuckets(database, await at());
    expect(await rows()).toEqual([]);
    await budget.take([share(15)], 'send');
  });
});
