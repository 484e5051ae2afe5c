import { Database } from '../../src/database/sql.ts';
import request from 'supertest';
import type { TestApplication } from './factories.ts';
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

/** Rows of a table of the test's database, for what no endpoint shows. */
export function rowsOf<R extends object = Record<string, unknown>>(
  server: TestApp,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  return server.app.get(Database).query<R>(text, values);
}
