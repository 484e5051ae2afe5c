import { spawnSync } from 'node:child_process';
import pg from 'pg';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startProgram } from '../support/npm-script.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { recordEvents } from '../support/webhook-fixture.ts';

// The package of the system may belong to another Python than the first one on the path.
const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import psycopg2']).status === 0,
);
if (!python) throw new Error('This test needs psycopg2: install python3-psycopg2 (.ci/prepare)');
const PROGRAMS: [string, string][] = [
  [process.execPath, 'examples/exactly-once-node/consume.mjs'],
  [python, 'examples/exactly-once-python/consume.py'],
];

describe('the examples that consume events exactly once', () => {
  let server: TestApp;
  let application: TestApplication;
  let own: pg.Client;

  beforeAll(async () => {
    server = await startTestApp();
    own = new pg.Client({ connectionString: server.database.url });
    await own.connect();
  });
  afterAll(async () => {
    await own.end();
    await server.close();
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await own.query('drop table if exists feed_cursor, handled_event');
  });

  it.each(PROGRAMS)(
    'handle no event twice and miss none, killed at random: %s %s',
    async (command, file) => {
      const { body: webhook } = await request(server.url)
        .post(`/a/${application.clientId}/webhooks`)
        .set(application.secretBasic)
        .send({ delivery: 'pull', triggers: ['job.failed'] });
      const start = () =>
        startProgram(command, [file], {
          CARILLON_API_URL: server.url,
          CARILLON_CLIENT_ID: application.clientId,
          CARILLON_CLIENT_SECRET: application.clientSecret,
          WEBHOOK_ID: webhook.id,
          DATABASE_URL: server.database.url,
        });
      const handled = async (): Promise<string[]> => {
        const { rows } = await own.query<{ event_id: string }>(
          'select event_id from handled_event',
        );
        return rows.map(({ event_id: id }) => id);
      };
      let program = start();
      await program.printed(/Consuming/);
      for (let round = 0; round < 8; round += 1) {
        const before = (await handled()).length;
        await recordEvents(server.app, application, 60);
        if (round % 2 === 0)
          await until('some of them', async () => (await handled()).length > before);
        program.child.kill('SIGKILL');
        await program.ended;
        program = start();
        if (round % 3 === 0) await program.printed(/Consuming/);
      }
      await until('all events', async () => new Set(await handled()).size === 480);
      const { rows } = await own.query(
        'select id::text from webhook_event where application_id = $1',
        [application.id],
      );
      program.child.kill('SIGKILL');
      await program.ended;
      expect((await handled()).toSorted()).toEqual(rows.map(({ id }) => id as string).toSorted());
    },
  );
});
