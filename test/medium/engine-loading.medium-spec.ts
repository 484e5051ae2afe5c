import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { newId } from '../../src/platform/base/ids/ids.ts';
import type { RowLoading } from '../../src/platform/work/queue/dispatcher.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import {
  done,
  type EngineFixture,
  ProbeDispatcher,
  startEngineFixture,
} from '../support/engine-fixture.ts';
import { until } from '../support/until.ts';

/** Any table can be joined for this test. */
const loading: RowLoading = {
  columns: 'w.host',
  joins: 'join worker w on w.id = j.worker_id',
  ready: 'j.attempt = 1',
};

interface Loaded {
  host: string;
}

interface Marked {
  id: string;
  marked: boolean;
}

describe('Engine, with rows that have to be loaded', () => {
  let fixture: EngineFixture;
  let sql: EngineFixture['sql'];

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    fixture = await startEngineFixture();
    ({ sql } = fixture);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await fixture.close();
  });

  const marks = () =>
    sql.query<Marked>('select id, handoff_at is not null as marked from send_job order by id');
  /** The row ids in each statement that contains `part`. */
  const statements = (asked: jest.SpiedFunction<SqlPool['query']>, part: string) =>
    asked.mock.calls.flatMap(([text, values]) =>
      text.includes(part) ? [values?.[0] as string[]] : [],
    );

  it('loads the rows of a claim in one statement and hands off those that are ready', async () => {
    const first = await fixture.insertRows(6);
    const again = await fixture.insertRows(6);
    await sql.query('update send_job set attempt = 1 where id = any($1::uuid[])', [again]);
    const end = Promise.withResolvers<void>();
    const hosts: (string | undefined)[] = [];
    const granted: boolean[] = [];
    const dispatcher = new ProbeDispatcher(
      50,
      async (job, lease, loaded) => {
        hosts.push((loaded as Loaded | undefined)?.host);
        await end.promise;
        granted.push(await lease.handOff());
        return done(job);
      },
      { loading },
    );
    const asked = jest.spyOn(SqlPool.prototype, 'query');
    await fixture.begin(dispatcher);
    await until('all rows to be loaded', async () => hosts.length === 12);
    expect(statements(asked, 'loaded as').map((ids) => ids.length)).toEqual([12]);
    expect(hosts.every((host) => typeof host === 'string')).toBe(true);
    expect(await marks()).toEqual(
      [...first, ...again].toSorted().map((id) => ({ id, marked: first.includes(id) })),
    );
    end.resolve();
    await fixture.empty();
    expect(granted).toEqual(Array.from({ length: 12 }, () => true));
    const handOffs = statements(asked, 'set handoff_at = clock_timestamp() where').flat();
    expect(handOffs.toSorted()).toEqual(again.toSorted());
  });

  it('hands off no row that needs a decision first', async () => {
    const [id] = await fixture.insertRows(1);
    const end = Promise.withResolvers<void>();
    let loaded: object | undefined;
    const dispatcher = new ProbeDispatcher(
      8,
      async (job, _lease, row) => {
        loaded = row;
        await end.promise;
        return done(job);
      },
      { loading: { ...loading, ready: 'false' } },
    );
    await fixture.begin(dispatcher);
    await until('the row to be loaded', async () => loaded !== undefined);
    expect(await marks()).toEqual([{ id, marked: false }]);
    end.resolve();
    await fixture.empty();
  });

  it('reports a row whose data was deleted', async () => {
    await fixture.insertRows(1);
    const found: unknown[] = [];
    const dispatcher = new ProbeDispatcher(
      8,
      async (job, _lease, loaded) => {
        found.push(loaded);
        return done(job);
      },
      { loading: { ...loading, joins: 'join worker w on w.id = -1' } },
    );
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(found).toEqual([undefined]);
  });

  it('releases rows on stop that were handed off but had not begun, as if they were untouched', async () => {
    const [id] = await fixture.insertRows(1);
    const stopped = Promise.withResolvers<void>();
    let granted: boolean | undefined;
    const dispatcher = new ProbeDispatcher(
      8,
      async (job, lease) => {
        await stopped.promise;
        granted = await lease.handOff();
        return granted ? done(job) : null;
      },
      { loading },
    );
    const engine = await fixture.begin(dispatcher);
    await until('the row to be handed off', async () =>
      (await marks()).some(({ marked }) => marked),
    );
    const stopping = fixture.stop(engine);
    stopped.resolve();
    await stopping;
    expect(granted).toBe(false);
    expect(await marks()).toEqual([{ id, marked: false }]);
    expect(await fixture.rows()).toMatchObject([
      { state: 0, attempt: 0, ambiguous: false, crashes: 0 },
    ]);
  });

  it('counts no attempt for a row that was handed off when the database is lost before it begins', async () => {
    const [id] = await fixture.insertRows(1);
    let runs = 0;
    const dispatcher = new ProbeDispatcher(
      8,
      async (job) => {
        if (++runs === 1)
          throw Object.assign(new Error('terminating connection'), { code: '57P01' });
        return done(job);
      },
      { loading },
    );
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(runs).toBe(2);
    expect(dispatcher.recorded).toEqual([id]);
  });

  it('releases a row that could not be loaded', async () => {
    const [id] = await fixture.insertRows(1);
    const query = SqlPool.prototype.query;
    let failed = false;
    jest.spyOn(SqlPool.prototype, 'query').mockImplementation(function (
      this: SqlPool,
      text,
      values,
      options,
    ) {
      if (failed || !text.includes('loaded as'))
        return query.call(this, text, values, options) as never;
      failed = true;
      return Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));
    });
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job), { loading });
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(failed).toBe(true);
    expect(dispatcher.recorded).toEqual([id]);
    expect(dispatcher.begun).toEqual([id]);
  });

  it('loads a row that another worker owns, so that it does not count as deleted, but sends nothing', async () => {
    const [id] = await fixture.insertRows(1, newId());
    const taken = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    const query = SqlPool.prototype.query;
    let bumped = false;
    jest.spyOn(SqlPool.prototype, 'query').mockImplementation(async function (
      this: SqlPool,
      text,
      values,
      options,
    ) {
      if (!bumped && text.includes('loaded as')) {
        bumped = true;
        await query.call(this, 'update send_job set fence = fence + 1');
      }
      return query.call(this, text, values, options) as never;
    });
    const dispatcher = new ProbeDispatcher(
      8,
      async (job, lease, loaded) => {
        if (seen.length > 0) return done(job);
        seen.push(loaded, await lease.handOff());
        taken.resolve();
        return null;
      },
      { loading },
    );
    await fixture.begin(dispatcher);
    await taken.promise;
    expect(seen).toEqual([expect.objectContaining({ id, handedOff: false }), false]);
    expect(await marks()).toEqual([{ id, marked: false }]);
  });
});
