import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { BATCH_LOADING } from '../../src/platform/webhooks/delivery/batches.ts';
import { readPage } from '../../src/platform/webhooks/feed/feed.repository.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

/** One application with 2,000 accounts, whose events have different triggers. */
describe('the plans of statements that read events', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let webhookId: string;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    application = await createApplication(server.app);
    webhookId = await createWebhook(server.app, application, 'https://receiver.test/', {
      triggers: ['calendar.created', 'calendar.deleted'],
    });
    await database.query(
      `insert into webhook_event (id, application_id, account_id, type, body, dedupe)
       select gen_random_uuid(), $1, md5((n % 2000)::text)::uuid,
         case when n % 97 = 0 then 'calendar.created' else 'message.created' end, repeat('x', 300)::bytea, 'plan:' || n
       from generate_series(1, 20000) n`,
      [application.id],
    );
    await database.query(
      `insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at, from_seq, wanted_seq, batch_seq)
       select gen_random_uuid(), md5(n::text)::uuid, $1, now(), now(), now(), 10000, 20000, 20000
       from generate_series(0, 99) n`,
      [webhookId],
    );
    await database.query('analyze webhook_event, hook_job, webhook');
  });
  afterAll(() => server.close());

  async function planOf(text: string, values: readonly unknown[] = []): Promise<string> {
    const lines = await database.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values, {
      prepared: false,
    });
    return lines.map((line) => line['QUERY PLAN']).join('\n');
  }

  it('find the events of a lane by its account, and not among those of all accounts', async () => {
    const plan = await planOf(
      `select ${BATCH_LOADING.columns} from hook_job j ${BATCH_LOADING.joins}`,
    );
    expect(plan).toMatch(
      /using webhook_event_of_account on webhook_event e.*\n\s*Index Cond: \(\(account_id = j\.event_id\) AND \(seq > j\.from_seq\) AND \(seq <= j\.batch_seq\)\)/,
    );
    expect(plan).not.toMatch(/using webhook_event_feed/);
  });

  it('find the previous event of a trigger in the index, without reading those of others', async () => {
    const plans: string[] = [];
    const spy: Sql = {
      async query(text: string, values: readonly unknown[] = []) {
        plans.push(await planOf(text, values));
        return database.query(text, values) as never;
      },
    };
    await readPage(spy, { applicationId: application.id, webhookId }, 10_000, 20_000, {
      limit: 100,
      bytes: 1e6,
    });
    expect(plans[0]).toMatch(
      /using webhook_event_of_account on webhook_event n.*\n\s*Index Cond: .*type = ANY \(w\S*\.triggers\)/,
    );
  });
});
