import { canTransition } from '../../src/platform/base/state/transitions.ts';
import { firstIdAt, newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import {
  JOB_STATES,
  JOB_TRANSITIONS,
  STATES_WITH_REASON,
} from '../../src/job-statuses/job-status.ts';
import { objectsOfEndedJobs } from '../../src/job-statuses/jobs.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('transitions of job statuses in the database', () => {
  let server: TestApp;
  let database: Database;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const reasonOf = (status: (typeof JOB_STATES)[number]) =>
    STATES_WITH_REASON.includes(status) ? 'because' : null;
  const jobIn = async (status: (typeof JOB_STATES)[number]) => {
    const id = newId();
    await database.query(
      `insert into job_status (id, account_id, action, object, status, reason)
       values ($1, $2, 'new_outbox', 'message', $3, $4)`,
      [id, ada.id, status, reasonOf(status)],
    );
    return id;
  };

  const moves = JOB_STATES.flatMap((from) => JOB_STATES.map((to) => [from, to] as const));
  it.each(moves)(
    'allows %s to become %s only if the table of transitions does',
    async (from, to) => {
      const id = await jobIn(from);
      const move = database.query('update job_status set status = $2, reason = $3 where id = $1', [
        id,
        to,
        reasonOf(to),
      ]);
      if (from === to || canTransition(JOB_TRANSITIONS, from, to)) await move;
      else await expect(move).rejects.toThrow(`cannot move from ${from} to ${to}`);
      const [row] = await database.query<{ status: string }>(
        'select status from job_status where id = $1',
        [id],
      );
      expect(row?.status === to).toBe(from === to || canTransition(JOB_TRANSITIONS, from, to));
    },
  );

  it('finds the objects of jobs that end now, even if the provider refused them for half a day', async () => {
    const now = Date.now();
    const [id, objectId] = [firstIdAt(new Date(now - 14 * 3_600_000)), newId()];
    await database.query(
      `insert into job_status (id, account_id, action, object, status, object_id)
       values ($1, $2, 'save_draft', 'draft', 'pending', $3)`,
      [id, ada.id, objectId],
    );
    const ended = () =>
      objectsOfEndedJobs(database, ada.id, ['save_draft'], new Date(now - 60_000));
    expect(await ended()).toEqual([]);
    await database.query(`update job_status set status = 'successful' where id = $1`, [id]);
    expect(await ended()).toEqual([objectId]);
  });

  it.each(JOB_STATES)('requires a reason for %s exactly if the table says so', async (status) => {
    const id = newId();
    const wrong = reasonOf(status) === null ? 'because' : null;
    await expect(
      database.query(
        `insert into job_status (id, account_id, action, object, status, reason) values ($1, $2, 'x', 'y', $3, $4)`,
        [id, ada.id, status, wrong],
      ),
    ).rejects.toThrow('job_status_reason');
  });
});
