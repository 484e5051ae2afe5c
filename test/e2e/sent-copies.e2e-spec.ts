import request from 'supertest';
import type { JobFilter } from '../../src/operator/jobs/job-types.ts';
import { OperatorJobs } from '../../src/operator/jobs/operator-jobs.ts';
import { rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { FilingConnector } from '../support/filing-connector.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('copies of sent messages', () => {
  let server: TestApp;
  let application: TestApplication;
  let connector: FilingConnector;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    connector = FilingConnector.install(server.app);
  });
  afterAll(() => server.close());

  async function send(account: TestAccount, body: object = {}) {
    const message = { to: [{ email: 'bo@elsewhere.test' }], subject: 'Hello', ...body };
    const response = await request(server.url).post('/v2/outbox').set(account.bearer).send(message);
    const id: string = response.body.job_status_id;
    return until('the job to end', async () => {
      const job = await request(server.url).get(`/job-statuses/${id}`).set(account.bearer);
      return job.body.status === 'successful' && (job.body as { message_id: string });
    });
  }
  const filings = (account: TestAccount) =>
    rowsOf<{ id: string; status: string; object_id: string }>(
      server,
      `select id, status, object_id from job_status where account_id = $1 and action = 'save_sent_email'`,
      [account.id],
    );

  it('are stored once by a job, with the Bcc recipients', async () => {
    const ada = await createAccount(server.app, application);
    const { message_id: id } = await send(ada, { bcc: [{ email: 'hidden@elsewhere.test' }] });
    await until(
      'the copy to be stored',
      async () => (await filings(ada))[0]?.status === 'successful',
    );
    expect(await filings(ada)).toMatchObject([{ object_id: id }]);
    const filed = connector.filed.filter(({ email }) => email === ada.email);
    expect(filed).toHaveLength(1);
    expect(filed[0]?.mime).toContain('Bcc: <hidden@elsewhere.test>\r\n');
    expect(filed[0]?.mime).toContain(filed[0]?.messageIdHeader);
  });

  it('do not fill the lists in which operators look for messages', async () => {
    const ada = await createAccount(server.app, application);
    await send(ada);
    await until('the copy to be stored', async () => {
      const [filing] = await filings(ada);
      return filing?.status === 'successful';
    });
    const kinds = async (filter: JobFilter) => {
      const jobs = server.app.get(OperatorJobs);
      const list = await jobs.list({ account: ada.id, ...filter }, {});
      expect(await jobs.count({ account: ada.id, ...filter })).toBe(list.items.length);
      return list.items.map(({ kind }) => kind);
    };
    expect(await kinds({})).toEqual(['message']);
    expect(await kinds({ state: 'successful' })).toEqual(['message']);
    expect(await kinds({ kind: 'write' })).toEqual(['write']);
  });

  it('are left to a server that stores them itself', async () => {
    const ada = await createAccount(server.app, application, {
      settings: { smtp_files_sent: true },
    });
    await send(ada);
    expect(await filings(ada)).toEqual([]);
  });

  it('that cannot be stored leave the job without ids, which would lead to no message', async () => {
    const ada = await createAccount(server.app, application);
    await send(ada, { subject: FilingConnector.REFUSED });
    await until('the job to fail', async () => (await filings(ada))[0]?.status === 'failed');
    const listed = await request(server.url).get('/job-statuses').set(ada.bearer);
    const job = listed.body.find(({ action }: { action: string }) => action === 'new_outbox');
    expect(job).toMatchObject({
      status: 'successful',
      id: null,
      message_id: null,
      thread_id: null,
    });
    const item = await request(server.url).get(`/v2/outbox/${job.job_status_id}`).set(ada.bearer);
    expect(item.body).toMatchObject({ message_id: null, thread_id: null });
  });

  it('are not stored for messages that were not sent', async () => {
    const ada = await createAccount(server.app, application);
    const body = { to: [{ email: 'rejected@sandbox.test' }] };
    const response = await request(server.url).post('/v2/outbox').set(ada.bearer).send(body);
    await until('the job to fail', async () => {
      const job = await request(server.url)
        .get(`/job-statuses/${response.body.job_status_id}`)
        .set(ada.bearer);
      return job.body.status === 'failed';
    });
    expect(await filings(ada)).toEqual([]);
  });
});
