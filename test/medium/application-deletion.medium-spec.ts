import { Logger } from '@nestjs/common';
import { ApplicationDeletionsService } from '../../src/operator/applications/application-deletions.service.ts';
import { OperatorApplications } from '../../src/operator/applications/operator-applications.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { EveryTable } from '../support/every-table.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** Tables whose rows of a deleted application stay, each with the reason. */
const STAYS: Record<string, string> = {
  audit_entry: 'the audit log says who deleted what; it has no content of mail',
  application_deletion: 'the record of the deletion, for 90 days',
  refusal: 'counts of refused requests, for an hour; requests with its old tokens still arrive',
};

/** Tables without a column of ids, each with the reason why no row belongs to an application. */
const BELONGS_TO_NOBODY: Record<string, string> = {
  audit_total: 'sums over the whole installation',
  failed_attempt: 'hashes of network addresses and names, for 15 minutes',
  instance: 'the installation',
  log_level: 'the level of the log',
  lost_worker: 'processes that were declared dead, for a day',
  mikro_orm_migrations: 'the schema',
  provider_bucket: 'rates of requests to providers; full ones are deleted after an hour',
  request_count: 'counts of requests by route and error, for an hour',
  sandbox_fault: 'failures of the sandbox that a test asked for',
  sealing_key: 'encryption keys',
  table_move: 'rows of the whole installation that are moved',
  table_sample: 'sizes of tables',
  worker: 'processes',
};

/** Tables whose ids are of operators and processes. */
const OF_OPERATORS = [
  'operator',
  'operator_session',
  'operator_token',
  'operator_link',
  'running_process',
];

describe('the deletion of an application', () => {
  let server: TestApp;
  let database: Database;
  let tables: EveryTable;
  let applications: OperatorApplications;
  let doomed: TestApplication;
  let other: TestApplication;

  const run = () => server.app.get(ApplicationDeletionsService).run(new AbortController().signal);

  /** An application with two accounts, and with a row in every table. */
  const createFull = async (name: string): Promise<TestApplication> => {
    const application = await createApplication(server.app, { name });
    const account = await createAccount(server.app, application);
    await createAccount(server.app, application);
    await tables.storeRows(
      {
        application: application.id,
        application_id: application.id,
        grant: account.id,
        grant_id: account.id,
        account_id: account.id,
        owner_id: account.id,
      },
      ['application', 'grant', ...OF_OPERATORS, ...Object.keys(STAYS)],
    );
    return application;
  };

  beforeAll(async () => {
    Logger.overrideLogger(false);
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    applications = server.app.get(OperatorApplications);
    tables = await EveryTable.of(database);
    doomed = await createFull('Doomed');
    other = await createFull('Other');
  });
  afterAll(() => server.close());

  it('knows a reason for every table that has no ids', () => {
    expect(tables.withoutIds.toSorted()).toEqual(Object.keys(BELONGS_TO_NOBODY).toSorted());
  });

  it('needs the client id or the name as confirmation', async () => {
    await expect(applications.delete(SYSTEM, doomed.clientId, other.clientId)).rejects.toThrow(
      `confirm: must be the client id (${doomed.clientId})`,
    );
    expect((await applications.get(doomed.clientId)).deletion).toBeNull();
  });

  it('leaves no row in any table, even if a worker dies meanwhile, and no other application notices', async () => {
    const ids = await tables.closure(doomed.id);
    const otherIds = await tables.closure(other.id);
    const otherRows = await tables.count(otherIds);
    // Every table has at least one row of it. Otherwise its emptiness would prove nothing.
    const covered = Object.keys(await tables.count(ids));
    const expected = tables.withIds.filter(
      (name) => !OF_OPERATORS.includes(name) && !(name in STAYS),
    );
    expect(expected.filter((table) => !covered.includes(table))).toEqual([]);

    const begun = await applications.delete(SYSTEM, doomed.clientId, 'Doomed');
    expect(begun.suspended).toMatchObject({ reason: 'the application is being deleted' });
    expect(begun.deletion).toMatchObject({ accounts: 2, accountsDeleted: 0, step: 'accounts' });
    await expect(applications.unsuspend(SYSTEM, doomed.id)).rejects.toThrow('cannot be undone');

    // The worker dies after it has removed accounts, before it has noted that.
    const grants = server.app.get(GrantsService);
    const remove = grants.removeAndWait.bind(grants);
    grants.removeAndWait = async (...args) => {
      await remove(...args);
      throw new Error('killed');
    };
    await run();
    grants.removeAndWait = remove;
    expect(await applications.deletions()).toMatchObject([
      { clientId: doomed.clientId, step: 'accounts', finishedAt: null, lastError: 'killed' },
    ]);
    await database.query('update application_deletion set lease_until = null');
    await run();

    expect(await applications.deletions()).toMatchObject([
      {
        accounts: 2,
        accountsDeleted: 2,
        step: 'done',
        lastError: null,
        finishedAt: expect.any(Date),
      },
    ]);
    const left = await tables.count(ids);
    expect(Object.keys(left).filter((table) => !(table in STAYS))).toEqual([]);
    expect(await tables.count(otherIds)).toEqual(otherRows);
    await expect(applications.get(doomed.clientId)).rejects.toThrow("Couldn't find application");
  });
});
