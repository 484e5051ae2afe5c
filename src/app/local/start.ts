import type { INestApplicationContext } from '@nestjs/common';
import type { AppConfig } from '../../platform/config/app-config.ts';
import { withProgress } from '../../platform/base/progress.ts';
import { EmbeddedPostgresError } from '../../platform/database/embedded/embedded-postgres.ts';
import { localConfig, openLocalEnvironment } from './environment.ts';
import { firstWelcome, laterWelcome, productionWelcome, serverWelcome } from './welcome.ts';
import { fail, listen, requireCurrentSchema, requireFreePort, stopOnSignals } from '../startup.ts';

/** A Carillon that `startLocal` has started. */
export interface RunningCarillon {
  config: AppConfig;
  /** Text for the terminal after the server has started to listen. */
  welcome: string;
  /** Stops everything that `startLocal` has started. */
  stop(): Promise<void>;
}

/**
 * Creates what a newcomer needs: at the first start a demo application, at each start a link to the
 * console. With DATABASE_URL or in production it creates nothing.
 * @returns the text for the terminal
 */
async function welcomeOf(app: INestApplicationContext, config: AppConfig): Promise<string> {
  if (!config.database.embedded) return serverWelcome(config);
  if (config.environment === 'production') return productionWelcome(config);
  const [{ createDemoData }, { createConsoleLink }] = await Promise.all([
    import('./demo-data.ts'),
    import('./console-link.ts'),
  ]);
  const demo = await createDemoData(app);
  const console = await createConsoleLink(app);
  return demo ? firstWelcome(config, demo, console) : laterWelcome(config, console);
}

/**
 * Starts Carillon for one machine. With the embedded database it runs migrations and creates a demo
 * application on the first start, except in production. With DATABASE_URL it does neither.
 * @throws {PortTakenError} before anything is started
 * @throws {SchemaBehindError} if the database of DATABASE_URL must be migrated first
 */
export async function startLocal(config: AppConfig): Promise<RunningCarillon> {
  await requireFreePort(config);
  const opening = openLocalEnvironment({ config, share: false });
  // Load the program and start the database in parallel, because both take about as long.
  const [environment, { closeApp, createApp }, { migrate }] = await Promise.all([
    opening,
    import('../app.ts'),
    import('../migrate.ts'),
  ]);
  const { embedded } = environment.config.database;
  try {
    if (embedded)
      await withProgress('Preparing the database', () => migrate(environment.config.database.url));
    else await requireCurrentSchema(environment.config.database);
    const app = await createApp(environment.config);
    try {
      await app.init();
      const welcome = await welcomeOf(app, environment.config);
      await listen(app, environment.config);
      environment.onDatabaseExit((reason) =>
        fail(new EmbeddedPostgresError(`The database ended: ${reason}`)),
      );
      return {
        config: environment.config,
        welcome,
        async stop() {
          await closeApp(app);
          await environment.close();
        },
      };
    } catch (error) {
      await app.close();
      throw error;
    }
  } catch (error) {
    await environment.close();
    throw error;
  }
}

/** Runs the server of `npm start`. */
export async function serveLocally(): Promise<void> {
  // The reader of standard output has gone (`npm start | head`). The server continues.
  process.stdout.on('error', () => undefined);
  try {
    const running = await startLocal(localConfig(process.env));
    stopOnSignals(running.config, () => running.stop());
    process.stdout.write(running.welcome);
  } catch (error) {
    fail(error);
  }
}
