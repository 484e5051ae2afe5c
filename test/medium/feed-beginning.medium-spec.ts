import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../src/platform/changes/change-log.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

interface Feed {
  deltas: { object_data: { id: string } }[];
  cursor_end: string;
}

/** A promise that the test resolves. */
function signal(): { sent: Promise<void>; send: () => void } {
  const { promise: sent, resolve: send } = Promise.withResolvers<void>();
  return { sent, send };
}

describe('the first page of the event feed', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  const accountId = newId();

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
  });

  const change = (objectId: string, dedupe = objectId, of = application): ChangeRecord => ({
    applicationId: of.id,
    accountId,
    object: 'job_status',
    objectId,
    event: 'modify',
    at: new Date(),
    webhook: { trigger: 'job.failed', dedupe },
  });
  const ids = (count: number) => Array.from({ length: count }, newId);

  async function subscribe(): Promise<string> {
    const { status, body } = await request(server.url)
      .post(`/a/${application.clientId}/webhooks`)
      .set(application.secretBasic)
      .send({ delivery: 'pull', triggers: ['job.failed'] });
    expect(status).toBe(200);
    return (body as { id: string }).id;
  }
  async function read(webhookId: string, cursor = '0'): Promise<Feed> {
    const { status, body } = await request(server.url)
      .get(`/a/${application.clientId}/events`)
      .query({ webhook_id: webhookId, cursor, limit: 1000 })
      .set(application.secretBasic);
    expect(status).toBe(200);
    return body as Feed;
  }
  const objects = ({ deltas }: Feed) => deltas.map(({ object_data: { id } }) => id);

  /** A transaction that begins, does its work when `go` is sent, and then waits for `commit`. */
  function hold(work: (sql: Sql) => Promise<void>) {
    const [begun, go, done, commit] = [signal(), signal(), signal(), signal()];
    const ended = database.transaction(async (sql) => {
      await sql.query('select 1');
      begun.send();
      await go.sent;
      await work(sql);
      done.send();
      await commit.sent;
    });
    return { begun: begun.sent, go: go.send, done: done.sent, commit: commit.send, ended };
  }
  const locksAwaited = async () => {
    const rows = await database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };

  it('has the events of transactions that began before the subscription and store them after it', async () => {
    const [first, second] = ids(2) as [string, string];
    const held = [first, second].map((id) => hold((sql) => recordChanges(sql, [change(id)])));
    await Promise.all(held.map(({ begun }) => begun));
    const webhookId = await subscribe();
    const [early, late] = held as [(typeof held)[number], (typeof held)[number]];
    early.go();
    await early.done;
    late.go();
    await late.done;
    // The event with the higher number is committed first. It must not be read before the other.
    late.commit();
    await late.ended;
    const before = await read(webhookId);
    expect(objects(before)).toEqual([]);
    early.commit();
    await early.ended;
    expect(objects(await read(webhookId, before.cursor_end))).toEqual([first, second]);
  });

  it('has an event whose id is higher and whose number is lower than those of many others', async () => {
    const other = await createApplication(server.app);
    await createWebhook(server.app, other, 'https://receiver.test/', { triggers: ['job.failed'] });
    const webhookId = await subscribe();
    const many = ids(151);
    const [single, foreign] = ids(2) as [string, string];
    // The events of `bulk` get their ids first. Its first one waits for another transaction that
    // stores the same key, so that `single` gets its number before the others.
    const blocking = hold((sql) => recordChanges(sql, [change(foreign, many[0], other)]));
    const bulk = hold((sql) =>
      recordChanges(
        sql,
        many.map((id) => change(id)),
      ),
    );
    await Promise.all([blocking.begun, bulk.begun]);
    blocking.go();
    await blocking.done;
    bulk.go();
    await until('the lock', locksAwaited);
    await recordChanges(database, [change(single)]);
    blocking.commit();
    await blocking.ended;
    await bulk.done;
    bulk.commit();
    await bulk.ended;
    expect(objects(await read(webhookId))).toEqual([single, ...many.slice(1)]);
  });
});
