import { Logger } from '@nestjs/common';
import pg from 'pg';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { WORKER_LOCKS } from '../../src/platform/work/queue/queue-statements.ts';
import {
  done,
  type EngineFixture,
  ProbeDispatcher,
  startEngineFixture,
} from '../support/engine-fixture.ts';
import { until } from '../support/until.ts';

/** A worker with a lower id than every engine of these tests, and one that lost its connection. */
const [LEADER, LOST] = [-1, 77];

describe('the leader of the other workers', () => {
  let fixture: EngineFixture;
  let sql: EngineFixture['sql'];
  /** The connection of the leader, which has its lock. */
  let leader: pg.Client;
  let row: string;

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    fixture = await startEngineFixture();
    ({ sql } = fixture);
    leader = new pg.Client(fixture.url);
    await leader.connect();
    await leader.query('select pg_advisory_lock($1, $2)', [WORKER_LOCKS, LEADER]);
    // Neither counts as dead by its heartbeat, no matter how long a test takes.
    await sql.query(
      `insert into worker (id, host, pid, seen_at)
       values ($1, 'leader', 1, now() + interval '1 h'), ($2, 'lost', 1, now() + interval '1 h')`,
      [LEADER, LOST],
    );
    [row = ''] = await fixture.insertRows(1, newId(), 3_600_000);
    await sql.query('update send_job set state = 1, fence = 3, attempt = 1, worker_id = $1', [
      LOST,
    ]);
  });
  afterEach(async () => {
    await leader.end();
    await fixture.close();
  });

  const begin = async () => {
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job), {
      noEffectBeforeHandOff: true,
    });
    await fixture.begin(dispatcher);
    return dispatcher;
  };
  const heartbeat = async () => {
    const [beat] = await sql.query<{ seen: Date }>(
      'select seen_at as seen from worker where id not in ($1, $2)',
      [LEADER, LOST],
    );
    return beat?.seen.getTime() ?? 0;
  };
  /** Waits for three heartbeats, and then checks that the row still belongs to the lost worker. */
  const expectLeft = async () => {
    for (let beats = 0; beats < 3; beats += 1) {
      const before = await heartbeat();
      await until('another heartbeat', async () => (await heartbeat()) > before);
    }
    expect(await fixture.rows()).toMatchObject([{ id: row, state: 1, worker_id: LOST }]);
  };

  it('is the worker with the lowest id, and others lead once it loses its connection', async () => {
    const dispatcher = await begin();
    await expectLeft();
    await leader.end();
    await fixture.empty();
    expect(dispatcher.recorded).toEqual([row]);
  });

  it('is another worker while the one with the lowest id sends no heartbeats', async () => {
    const dispatcher = await begin();
    await expectLeft();
    await sql.query(`update worker set seen_at = now() - interval '2 s' where id = $1`, [LEADER]);
    await fixture.empty();
    expect(dispatcher.recorded).toEqual([row]);
  });

  it('sweeps rows of unlisted workers, which others leave alone', async () => {
    await sql.query('delete from worker where id = $1', [LOST]);
    const dispatcher = await begin();
    await expectLeft();
    await sql.query('delete from worker where id = $1', [LEADER]);
    await fixture.empty();
    expect(dispatcher.recorded).toEqual([row]);
  });
});
