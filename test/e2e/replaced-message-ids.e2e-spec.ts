import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { createApplication } from '../support/factories.ts';
import {
  googleSide,
  microsoftSide,
  type StubSide,
  type WrittenAccount,
} from '../support/held-writes/write-side.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Shown {
  id: string;
}

const MEGABYTE = 1024 * 1024;
/**
 * Above 1 MB, a message is not added to the mirror at once. Above 3 MB, it is sent as a draft at
 * Microsoft, and its copy is read in parts. Some programs begin Message-IDs as Carillon does.
 */
const CASES = [
  {
    megabytes: 0.1,
    what: 'chosen by its sender',
    more: `Message-ID: <${randomUUID()}@x.test>\r\n`,
  },
  { megabytes: 1.5, what: 'generated here', more: '' },
  { megabytes: 1.5, what: 'chosen by its sender', more: 'Message-ID: <large@x.test>\r\n' },
  { megabytes: 3.5, what: 'generated here', more: '' },
];
/** Unknown outcomes are looked up at once. */
const HURRY = 'update send_job set run_at = now() where state = 0 and run_at > now()';

/** Messages on which the provider has failed are requested again at once. */
const REQUEST_AGAIN = 'update sync_failure set retry_at = now() where retry_at > now()';
const FAILURES = 'select count(*)::int as count from sync_failure where retry_at is not null';

/** A message that its sender has composed. */
const raw = (to: string, subject: string, megabytes: number, more = '') =>
  `To: ${to}\r\nSubject: ${subject}\r\n${more}\r\n${'Good day, Bo. \r\n'.repeat((megabytes * MEGABYTE) / 16)}`;

describe.each([
  ['Google', googleSide],
  ['Microsoft', microsoftSide],
])('a message that was sent at %s, which replaces its Message-ID,', (_name, start) => {
  let side: StubSide;
  let server: TestApp;
  let account: WrittenAccount;

  beforeAll(async () => {
    side = await start();
    server = await startTestApp({ SYNC_POLL_SECONDS: '1', ...side.environment });
    account = await side.connect(server, await createApplication(server.app));
    await until('the folders', async () => (await list(`/${side.unit}s`)).length > 0);
  });
  afterAll(async () => {
    await server.close();
    await side.stop();
  });

  const api = (method: 'get' | 'post', path: string) =>
    request(server.url)[method](path).set(account.bearer);
  const list = async (path: string): Promise<Shown[]> => {
    const { status, body } = await api('get', path);
    expect([path, status, body.message]).toEqual([path, 200, undefined]);
    return body;
  };
  const withSubject = (subject: string) => list(`/messages?subject=${encodeURIComponent(subject)}`);
  /** Waits until the mirror has the copy at the provider, and expects no other message. */
  async function expectOnce(subject: string, id: string): Promise<void> {
    const sent = side.side.accepted().find((one) => one.subject === subject)?.messageId;
    await until('the copy', async () => {
      const { status, body } = await api('get', `/messages/${id}?view=expanded`);
      if (status !== 200) return false;
      const shown = body.headers['Message-Id'];
      return shown !== sent && side.side.messageIdAsSent(shown) === sent;
    });
    expect(await withSubject(subject)).toEqual([expect.objectContaining({ id })]);
  }

  it.each(CASES)(
    'keeps its id when the copy is found: $megabytes MB, with a Message-ID $what',
    async ({ megabytes, what, more }) => {
      const subject = `${megabytes} ${what}`;
      const sent = await api('post', '/send')
        .set('content-type', 'message/rfc822')
        .send(raw(side.correspondent, subject, megabytes, more));
      expect([sent.status, sent.body.message]).toEqual([200, undefined]);
      await expectOnce(subject, sent.body.id);
    },
  );

  it('is one message if the response to it is lost', async () => {
    const { stub } = side.side;
    const match = side.side.isSend.bind(side.side);
    stub.faults.add({ match, answer: 'drop-after-done' });
    const body = { to: [{ email: side.correspondent }], subject: 'Lost', body: 'Only once' };
    const queued = await api('post', '/v2/outbox').send(body);
    expect(queued.status).toBe(202);
    const id = await until('the job', async () => {
      await server.app.get(Database).query(HURRY);
      const { body: job } = await api('get', `/job-statuses/${queued.body.job_status_id}`);
      return job.status === 'successful' && (job.message_id as string);
    });
    await expectOnce('Lost', id);
    expect(side.side.accepted().filter(({ subject }) => subject === 'Lost')).toHaveLength(1);
  });

  it('is one message if the contents of its copy cannot be read at first', async () => {
    const { stub } = side.side;
    const match = side.side.isContent.bind(side.side);
    stub.faults.add({ match, answer: { status: 500, raw: 'Internal Server Error' }, times: 1e6 });
    stub.faults.add({ match: side.side.isSend.bind(side.side), answer: 'drop-after-done' });
    const body = { to: [{ email: side.correspondent }], subject: 'Unreadable', body: 'Only once' };
    const queued = await api('post', '/v2/outbox').send(body);
    expect(queued.status).toBe(202);
    const database = server.app.get(Database);
    await until('a failure', async () => {
      const [row] = await database.query<{ count: number }>(FAILURES);
      return row!.count > 0;
    });
    const id = await until('the job', async () => {
      await database.query(HURRY);
      const { body: job } = await api('get', `/job-statuses/${queued.body.job_status_id}`);
      return job.status === 'successful' && (job.message_id as string);
    });
    stub.faults.clear();
    await database.query(REQUEST_AGAIN);
    await expectOnce('Unreadable', id);
  });
});
