import { markGrantsInvalid } from '../../src/accounts/grants/mark-invalid.ts';
import { Database } from '../../src/platform/database/sql.ts';
import request from 'supertest';
import type { TestApplication } from './factories.ts';
import type { SendGridServer } from './sendgrid-server.ts';
import type { TestApp } from './test-app.ts';

/** Registers the sandbox for an application. */
export async function registerSandbox(
  server: TestApp,
  application: TestApplication,
  change: object = {},
): Promise<void> {
  await request(server.url)
    .post('/connect/integrations')
    .set(application.basic)
    .send({ name: 'Sandbox', provider: 'sandbox', ...change })
    .expect(200);
}

/** Registers a mailing service for an application. */
export async function connectSendGrid(
  server: TestApp,
  application: TestApplication,
  service: SendGridServer,
): Promise<void> {
  await request(server.url)
    .put(`/a/${application.clientId}/relay`)
    .set(application.secretBasic)
    .send({ kind: 'sendgrid', settings: { api_key: service.key, base_url: service.origin } })
    .expect(200);
}

/** Rows from the test's database, for data that no endpoint shows. */
export function rowsOf<R extends object = Record<string, unknown>>(
  server: TestApp,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  return server.app.get(Database).query<R>(text, values);
}

/** Makes an account invalid, as a worker does when the provider refuses its credentials. */
export async function refuseCredentials(server: TestApp, accountId: string): Promise<void> {
  const database = server.app.get(Database);
  await database.transaction((sql) =>
    markGrantsInvalid(sql, [{ accountId, reason: '535 refused' }], new Date()),
  );
}

/** Stores an active webhook. No server listens at its callback address. */
export async function subscribe(
  server: TestApp,
  application: TestApplication,
  triggers: readonly string[],
): Promise<void> {
  await rowsOf(
    server,
    `insert into webhook (id, application_id, callback_url, state, triggers, subscribed_at, created_at, updated_at)
     values (gen_random_uuid(), $1, 'https://app.example.test/h', 'active', $2, now(), now(), now())`,
    [application.id, triggers],
  );
}
