import { setTimeout as delay } from 'node:timers/promises';
import {
  ProviderWriteDispatcher,
  type ProviderWriteRow,
} from '../../src/accounts/provider-writes/provider-write-dispatcher.ts';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import {
  scheduleChangedMailboxes,
  scheduleChangedSync,
} from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { queueStatements } from '../../src/platform/work/queue/queue-statements.ts';
import { type Ending, Settler } from '../../src/platform/work/queue/settler.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const WORKER = 1;
const DEADLOCK = '40P01';

/**
 * Code that locks a row of the sync queue and rows of other queues locks the row of the sync queue
 * first. Code that locks several rows of the sync queue locks them in the order of their ids.
 */
describe('the sync queue', () => {
  let server: TestApp;
  let sql: Database;
  let accounts: TestAccount[];
  let applicationId: string;
  const deadlocks: unknown[] = [];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    sql = server.app.get(Database);
  });
  beforeEach(async () => {
    deadlocks.length = 0;
    const application = await createApplication(server.app);
    applicationId = application.id;
    accounts = [];
    for (let made = 0; made < 6; made += 1)
      accounts.push(await createAccount(server.app, application));
    await claimAll();
  });
  afterAll(() => server.close());

  const ids = () => accounts.map(({ id }) => id);
  const transaction = <T>(work: (inside: Sql) => Promise<T>): Promise<T> =>
    sql.transaction(work).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === DEADLOCK) deadlocks.push(error);
      throw error;
    });
  /** Marks the rows as claimed, the newest first, so that they lie in the table in that order. */
  const claimAll = async () => {
    for (const id of ids().toReversed())
      await sql.query(
        `insert into sync_job (id, account_id, run_at, due_at, state, worker_id, fence)
         values ($1, $1, now(), now(), 1, ${WORKER}, 1)
         on conflict (account_id) do update set state = 1, worker_id = ${WORKER}, fence = 1`,
        [id],
      );
  };
  const untilLockWait = () =>
    until('a statement to wait for a lock', async () => {
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return (await sql.query(waiting)).length > 0;
    });

  /** A claimed write to the mailbox of each account. */
  const claimedWrites = async (): Promise<ProviderWriteRow[]> => {
    const writes = accounts.map(({ id: accountId }) => ({ id: newId(), accountId }));
    await sql.query(
      `insert into provider_job (id, account_id, action, object_id, payload, run_at, due_at, state, worker_id, fence, attempt)
       select x.id, x.account_id, 'update_folder', x.id, '{}', now(), now(), 1, ${WORKER}, 1, 1
       from unnest($1::uuid[], $2::uuid[]) x(id, account_id)`,
      [writes.map(({ id }) => id), writes.map(({ accountId }) => accountId)],
    );
    return writes.map(({ id, accountId }) => ({
      id,
      fence: 1,
      attempt: 1,
      ambiguous: false,
      gateId: accountId,
      dueAt: new Date(),
      gateFailures: 0,
      action: 'update_folder',
      objectId: id,
      payload: {},
    }));
  };
  /** Settles writes as the engine does, as if each had been superseded. */
  const settle = (jobs: readonly ProviderWriteRow[]): Promise<boolean> => {
    const dispatcher = server.app.get(ProviderWriteDispatcher, { strict: false });
    const endings = jobs.map((job): Ending => ({
      row: job,
      worker: WORKER,
      outcome: { next: { kind: 'done' }, result: { kind: 'superseded', reason: 'a later write' } },
      waitMs: 0,
      gateMarked: false,
    }));
    const watched = { query: sql.query.bind(sql), transaction } as unknown as Database;
    return new Settler(watched, queueStatements(dispatcher.table), dispatcher).settle(endings);
  };
  /** What a sync pass does: it locks its own row, then changes open writes of the mailbox. */
  const pass = (accountId: string, meanwhile = () => Promise.resolve()) =>
    transaction(async (inside) => {
      await inside.query('update sync_job set cursor = cursor where account_id = $1', [accountId]);
      await meanwhile();
      await inside.query(
        `update provider_job set payload = payload || '{"before": {}}' where account_id = $1`,
        [accountId],
      );
    });
  const rowsAgain = (inside: Sql) => {
    const { again } = queueStatements(
      server.app.get(MailboxSyncDispatcher, { strict: false }).table,
    );
    const of = <T>(value: T) => accounts.map(() => value);
    return inside.query(again, [ids().toReversed(), of(1), of(WORKER), of(new Date()), of(false)]);
  };

  it('is locked before the writes of a mailbox, so that a sync pass and the end of a write cause no deadlock', async () => {
    const [ada] = accounts;
    const jobs = (await claimedWrites()).filter(({ gateId }) => gateId === ada?.id);
    let settling: Promise<boolean> | undefined;
    await pass(ada?.id ?? '', async () => {
      settling = settle(jobs);
      await untilLockWait();
    });
    expect(await settling).toBe(true);
    expect(deadlocks).toEqual([]);
  });

  it('is locked before the writes of an account, so that its removal and the end of a write cause no deadlock', async () => {
    const [ada] = accounts;
    const jobs = (await claimedWrites()).filter(({ gateId }) => gateId === ada?.id);
    let settling: Promise<boolean> | undefined;
    await transaction(async (removing) => {
      await removing.query('delete from sync_job where account_id = $1', [ada?.id]);
      settling = settle(jobs);
      await untilLockWait();
      await removing.query('delete from provider_job where account_id = $1', [ada?.id]);
    });
    expect(await settling).toBe(true);
    expect(deadlocks).toEqual([]);
    await server.app.get(GrantsService, { strict: false }).remove(applicationId, ada?.id ?? '');
  });

  it('is locked in the order of the ids when sync passes are settled, whatever the plan and the order in the table', async () => {
    const [first, last] = [ids()[0], ids().at(-1)];
    let settling: Promise<object[]> | undefined;
    const lock = 'select from sync_job where id = $1 for update';
    await transaction(async (other) => {
      await other.query(lock, [first]);
      settling = transaction(async (inside) => {
        await inside.query('set local enable_indexscan = off');
        return rowsAgain(inside);
      });
      await untilLockWait();
      await other.query(lock, [last]);
    });
    expect(await settling).toHaveLength(accounts.length);
    expect(deadlocks).toEqual([]);
  });

  it('survives many writes, sync passes and reports of changes at the same time without a deadlock', async () => {
    const mailboxes = accounts.map(({ email }) => ({ provider: 'sandbox', applicationId, email }));
    const spread = async <T>(work: () => Promise<T>): Promise<void> => {
      await delay(Math.random() * 5);
      await work();
    };
    for (let round = 0; round < 15; round += 1) {
      await claimAll();
      const batches = await Promise.all([claimedWrites(), claimedWrites(), claimedWrites()]);
      await Promise.all([
        ...batches.map((jobs) => spread(() => settle(jobs))),
        ...ids().map((id) => spread(() => pass(id))),
        spread(() => transaction(rowsAgain)),
        spread(() => transaction((inside) => scheduleChangedSync(inside, ids().toReversed()))),
        spread(() => transaction((inside) => scheduleChangedMailboxes(inside, mailboxes))),
      ]);
    }
    expect(deadlocks).toEqual([]);
  });
});
