import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const ACCOUNTS = 25;
const MESSAGES_EACH = 8;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/**
 * Requests that change a message while it is being sent. The response that a client received must
 * be true.
 */
describe('an outbox message that is being sent', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let recipients = 0;

  beforeAll(async () => {
    server = await startTestApp();
    database = server.app.get(Database);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
  });

  interface Accepted {
    account: TestAccount;
    id: string;
    /**
     * No other message is sent to this address, so its mailbox counts how often this message was
     * sent.
     */
    to: string;
  }
  const accept = async (account: TestAccount, body: object = {}): Promise<Accepted> => {
    const to = `to-${(recipients += 1)}@example.test`;
    const response = await request(server.url)
      .post('/v2/outbox')
      .set(account.bearer)
      .send({ to: [{ email: to }], subject: 'original', ...body });
    if (response.status !== 202) throw new Error(`${response.status}: ${response.text}`);
    return { account, id: response.body.job_status_id, to };
  };
  const ended = (what: string) =>
    until(`${what} to end`, async () => {
      const [row] = await database.query<{ n: number }>(
        `select count(*) as n from job_status where status in ('pending', 'delayed') and account_id in
           (select id from "grant" where application_id = $1)`,
        [application.id],
      );
      return row?.n === 0;
    });
  /** How often each message was sent and with which subject, by recipient. */
  const handedOver = async () => {
    const rows = await database.query<{ address: string; times: number; mime: Buffer }>(
      `select b.address, b.modseq as times, m.mime from sandbox_mailbox b
       join sandbox_message m using (application_id, address)
       where b.application_id = $1 and b.address like 'to-%'`,
      [application.id],
    );
    return new Map(
      rows.map(({ address, times, mime }) => [
        address,
        { times, subject: /^Subject: (.*)\r$/m.exec(mime.toString())?.[1] },
      ]),
    );
  };

  /** Edits and cancels messages around the second in which they are due. */
  const race = async (accounts: readonly TestAccount[], leadSeconds: number) => {
    const sendAt = Math.floor(Date.now() / 1000) + leadSeconds;
    const accepted = await Promise.all(
      accounts.flatMap((account) =>
        Array.from({ length: MESSAGES_EACH }, () => accept(account, { send_at: sendAt })),
      ),
    );
    return Promise.all(
      accepted.map(async ({ account, id, to }) => {
        await pause(sendAt * 1000 - 900 + Math.random() * 1200 - Date.now());
        const url = `/v2/outbox/${id}`;
        const [edited, cancelled] = await Promise.all([
          request(server.url).patch(url).set(account.bearer).send({ subject: 'edited' }),
          request(server.url).delete(url).set(account.bearer),
        ]);
        return { to, edited: edited.status, cancelled: cancelled.status };
      }),
    );
  };

  it('is edited or cancelled completely, or the request is refused', async () => {
    const accounts = await Promise.all(
      Array.from({ length: ACCOUNTS }, () => createAccount(server.app, application)),
    );
    const results: Awaited<ReturnType<typeof race>> = [];
    const answers = () => new Set(results.map(({ cancelled }) => cancelled));
    // The race proves something only if some requests win and others lose. If accepting the
    // messages takes longer than the lead time, all requests lose, so the next round has a longer
    // one.
    for (let lead = 8; lead < 100 && answers().size < 2; lead *= 2)
      results.push(...(await race(accounts, lead)));
    await ended('every message');
    const sent = await handedOver();
    const wrong = results.filter(({ to, edited, cancelled }) => {
      const { times = 0, subject } = sent.get(to) ?? {};
      if (![200, 409].includes(edited) || ![200, 409].includes(cancelled)) return true;
      if (cancelled === 200) return times !== 0;
      return times !== 1 || subject !== (edited === 200 ? 'edited' : 'original');
    });
    expect(wrong).toEqual([]);
    expect(answers()).toEqual(new Set([200, 409]));
  }, 300_000);

  it('is either sent once, or deleted with its account without being sent', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 10 }, () => createAccount(server.app, application)),
    );
    const answers: number[] = [];
    await Promise.all(
      accounts.map(async (account, index) => {
        await Promise.all(Array.from({ length: 10 }, () => accept(account)));
        const late = Array.from({ length: 5 }, async () => {
          await pause(Math.random() * 100);
          const { status } = await request(server.url)
            .post('/v2/outbox')
            .set(account.bearer)
            .send({ to: [{ email: `to-late-${index}@example.test` }] });
          answers.push(status);
        });
        await pause(Math.random() * 50);
        await request(server.url)
          .delete(`/connect/grants/${account.id}`)
          .set(application.basic)
          .expect(200);
        await Promise.all(late);
      }),
    );
    // 202 before the removal, 401 after it, and 409 during it.
    expect(answers.filter((status) => ![202, 401, 409].includes(status))).toEqual([]);
    await until('all queue rows to be deleted', async () => {
      const rows = await database.query(
        `select 1 from send_job where account_id = any($1::uuid[])
         union all select 1 from account_gate where account_id = any($1::uuid[])`,
        [accounts.map(({ id }) => id)],
      );
      return rows.length === 0;
    });
    const sent = [...(await handedOver())].filter(([to]) => !to.startsWith('to-late'));
    expect(sent.filter(([, { times }]) => times !== 1)).toEqual([]);
  });

  it('does not invalidate its account if the user authenticates again at the same time', async () => {
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ provider: 'sandbox', name: 'Sandbox' })
      .expect(200);
    const accounts = await Promise.all(
      Array.from({ length: 10 }, () =>
        createAccount(server.app, application, { settings: { password: 'wrong' } }),
      ),
    );
    const accepted = await Promise.all(
      accounts.map(async (account) => {
        const [messages] = await Promise.all([
          // Some requests are refused with 403 while the account is invalid.
          Promise.allSettled(Array.from({ length: 5 }, () => accept(account))),
          request(server.url)
            .patch(`/connect/grants/${account.id}`)
            .set(application.basic)
            .send({ settings: { password: 'right' } })
            .expect(200),
        ]);
        return messages.flatMap((message) => (message.status === 'fulfilled' ? message.value : []));
      }),
    );
    await ended('every message');
    const grants = await database.query<{ status: string }>(
      'select distinct status from "grant" where application_id = $1',
      [application.id],
    );
    expect(grants).toEqual([{ status: 'valid' }]);
    const sent = await handedOver();
    const jobs = await database.query<{ id: string; status: string }>(
      'select id, status from job_status where account_id = any($1::uuid[])',
      [accounts.map(({ id }) => id)],
    );
    const statuses = new Map(jobs.map(({ id, status }) => [id, status]));
    const wrong = accepted
      .flat()
      .filter(
        ({ id, to }) => (sent.get(to)?.times ?? 0) !== (statuses.get(id) === 'successful' ? 1 : 0),
      );
    expect(wrong).toEqual([]);
    // The account can send again.
    const [account] = accounts;
    if (account) await accept(account);
    await ended('one more message');
  });
});
