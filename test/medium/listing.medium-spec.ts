import { PassThrough } from 'node:stream';
import { duringResponse, keepSmall } from '../../src/platform/base/large-responses.ts';
import { Conditions } from '../../src/platform/database/conditions.ts';
import {
  type ListingQuery,
  MAX_PAGE_BYTES,
  PageTooLargeError,
  runListing,
} from '../../src/platform/database/listing.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const HALF = MAX_PAGE_BYTES / 2;

describe('runListing', () => {
  let database: TestDatabase;
  let sql: SqlPool;
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = new SqlPool({
      url: database.url,
      max: 1,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });

  /** Five items, 1 to 5. The fourth is one byte longer than a page may be. */
  const list = (query: Partial<ListingQuery>, condition = 'true') => {
    const conditions = new Conditions();
    conditions.add(condition);
    return runListing<{ number: number }>(sql, {
      columns: 'e.id as number',
      from: 'generate_series(1, 5) e(id)',
      id: 'e.id',
      bytes: `case e.id when 4 then ${MAX_PAGE_BYTES + 1} when 5 then null else ${HALF} end`,
      orderBy: 'e.id',
      page: { limit: 100, offset: 0 },
      ...query,
      conditions,
    });
  };
  const numbers = async (...args: Parameters<typeof list>) => {
    const listing = await list(...args);
    return listing.view === 'items' && listing.items.map(({ number }) => number);
  };

  it('returns a page in order', async () => {
    expect(await numbers({ page: { limit: 2, offset: 0 } })).toEqual([1, 2]);
    expect(
      await numbers({ page: { limit: 2, offset: 0 }, orderBy: 'e.id desc', bytes: '1' }),
    ).toEqual([5, 4]);
    expect(await numbers({ page: { limit: 2, offset: 1 } })).toEqual([2, 3]);
  });

  it('returns an empty page when there are no items', async () => {
    expect(await numbers({}, 'e.id > 5')).toEqual([]);
    expect(await numbers({ page: { limit: 0, offset: 0 } })).toEqual([]);
    expect(await numbers({ page: { limit: 10, offset: 50 } })).toEqual([]);
  });

  it('counts items and lists ids regardless of their length', async () => {
    expect(await list({ view: 'count' })).toEqual({ view: 'count', count: 5 });
    expect(await list({ view: 'ids' })).toEqual({ view: 'ids', ids: [1, 2, 3, 4, 5] });
  });

  it('refuses a page of several items that are too long together, but never a single item', async () => {
    await expect(list({})).rejects.toThrow(PageTooLargeError);
    await expect(list({ page: { limit: 3, offset: 0 } })).rejects.toThrow(
      'The requested items are longer than 32 MB together: request fewer at a time',
    );
    expect(await numbers({ page: { limit: 1, offset: 3 } })).toEqual([4]);
    expect(await numbers({ page: { limit: 2, offset: 4 } })).toEqual([5]);
  });

  it('returns the same rows whether or not a page of few items has a long one', async () => {
    const page = { limit: 3, offset: 0 };
    const about = async (bytes: string) => {
      const listing = await list({ page, bytes, columns: 'e.id as number, e.id % 2 as odd' });
      return listing.view === 'items' && listing.items.map((item) => ({ ...item, isLong: 0 }));
    };
    const short = await about('null::int');
    expect(short).toMatchObject([1, 2, 3].map((number) => ({ number, odd: number % 2 })));
    expect(await about(`case e.id when 2 then ${2 * 1024 * 1024} end`)).toMatchObject(short || []);
  });

  it('refuses several items of more than 8 MB together if the response must stay small', async () => {
    const answer = new PassThrough();
    const during = <T>(work: () => Promise<T>) =>
      new Promise<T>((done, failed) =>
        duringResponse(answer, () => void work().then(done, failed)),
      );
    const two = () => numbers({ page: { limit: 2, offset: 0 } });
    const one = () => numbers({ page: { limit: 1, offset: 0 } });
    expect(await during(two)).toEqual([1, 2]);
    keepSmall(answer);
    await expect(during(two)).rejects.toThrow(
      'The requested items are longer than 8 MB together: request fewer at a time',
    );
    expect(await during(one)).toEqual([1]);
    answer.destroy();
  });
});
