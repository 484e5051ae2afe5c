import { Database } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { recordChanges } from '../../src/platform/changes/change-log.ts';
import {
  EVENTS_UNPUBLISHED,
  publishEvents,
} from '../../src/platform/webhooks/events/publish-events.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

describe('publishing events', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;

  beforeAll(async () => {
    // There is no worker. The tests publish themselves.
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    await database.query('delete from webhook');
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'https://receiver.example/');
  });

  const record = (sql: Parameters<typeof recordChanges>[0], objectId = newId()) =>
    recordChanges(sql, [
      {
        applicationId: application.id,
        accountId: newId(),
        object: 'job_status',
        objectId,
        event: 'modify',
        at: new Date(),
        webhook: { trigger: 'job.failed', dedupe: objectId },
      },
    ]);

  /** Numbers of the stored events and the last published number. */
  async function numbers(): Promise<{ stored: number[]; published: number }> {
    const [row] = await database.query<{ stored: number[]; published: number }>(
      `select array(select seq::float8 from webhook_event where application_id = $1 order by seq) as stored,
         (select published_seq::float8 from webhook_feed where application_id = $1) as published`,
      [application.id],
    );
    return row ?? { stored: [], published: 0 };
  }

  it('waits for an event that has a lower number and commits later', async () => {
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = () => undefined as void;
    const recorded = new Promise<void>((resolve) => (begun = resolve));
    const late = database.transaction(async (sql) => {
      await record(sql);
      begun();
      await held;
    });
    await recorded;
    await record(database);
    await publishEvents(database);
    const before = await numbers();
    expect(before.stored).toHaveLength(1);
    expect(before.published ?? 0).toBeLessThan(before.stored[0] ?? 0);
    release();
    await late;
    await publishEvents(database);
    const after = await numbers();
    expect(after.stored).toHaveLength(2);
    expect(after.published).toBe(after.stored[1]);
  });

  it('leaves nothing unpublished, and says so', async () => {
    const unpublished = async () =>
      (await database.query<{ is: boolean }>(`select ${EVENTS_UNPUBLISHED} as is`))[0]?.is;
    expect(await unpublished()).toBe(false);
    await record(database);
    expect(await unpublished()).toBe(true);
    expect(await publishEvents(database)).toEqual([application.id]);
    expect(await unpublished()).toBe(false);
    expect(await publishEvents(database)).toEqual([]);
  });

  it('goes up to the last event when several processes publish at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([1, 2, 3, 4].map(() => record(database)));
      await Promise.all([1, 2, 3, 4].map(() => publishEvents(database)));
      const { stored, published } = await numbers();
      expect(published).toBe(stored.at(-1));
    }
  });
});
