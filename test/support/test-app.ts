import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../src/app/app.ts';
import type { AppOverrides } from '../../src/app/app.module.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import type { TwoListeners } from '../../src/platform/http/listeners/operator-listener.ts';
import { assertNoSecretLogged, watchedLog, watchEnvironment, watchTraffic } from './log-watch.ts';
import { PassingClock } from './passing-clock.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

/** The whole application on a new database, listening on a free port. */
export interface TestApp {
  app: NestExpressApplication;
  /** http://127.0.0.1:port */
  url: string;
  /** The same for the listener of operators; the empty string without `OPERATOR_PORT`. */
  operatorUrl: string;
  database: TestDatabase;
  close(): Promise<void>;
}

const KEY = `test:${randomBytes(32).toString('base64')}`;

/**
 * Starts the application. Closing it fails if its log contains a secret (log-watch.ts).
 * @param environment added to the defaults of tests: logs that only `TEST_LOG_LEVEL` shows, no
 *   rate limits, and loopback allowed
 */
export async function startTestApp(
  environment: Record<string, string> = {},
  overrides: AppOverrides = {},
): Promise<TestApp> {
  const database = await createTestDatabase();
  if (overrides.clock instanceof PassingClock) await overrides.clock.govern(database);
  const settings = {
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: KEY,
    PORT: '0',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'debug',
    EGRESS_ALLOW: '127.0.0.0/8,::1',
    RATE_LIMIT_APPLICATION: '0',
    RATE_LIMIT_ACCOUNT: '0',
    RATE_LIMIT_CONCURRENT: '0',
    RATE_LIMIT_FAILURES: '0',
    SMS_GATEWAY: 'recording',
    ...environment,
  };
  watchEnvironment(settings);
  const config = loadConfig(settings);
  const app = await createApp(config, { logTo: watchedLog, ...overrides });
  watchTraffic(app.getHttpServer() as Server);
  const listeners = app.getHttpAdapter() as unknown as TwoListeners;
  if (listeners.operators) watchTraffic(listeners.operators);
  const operatorPort = await listeners.listenForOperators(config.operator.port ?? 0, '127.0.0.1');
  await app.listen(config.port, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    operatorUrl: operatorPort === null ? '' : `http://127.0.0.1:${operatorPort}`,
    database,
    async close() {
      await app.close();
      await database.drop();
      assertNoSecretLogged();
    },
  };
}
