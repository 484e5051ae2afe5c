import type { AppConfig } from './platform/config/app-config.ts';
import { EmbeddedPostgresError } from './platform/database/embedded-postgres.ts';
import { LOCAL_ERRORS, localConfig, openLocalEnvironment } from './app/local/environment.ts';
import {
  firstWelcome,
  laterWelcome,
  productionWelcome,
  serverWelcome,
} from './app/local/welcome.ts';
import {
  fail,
  listen,
  requireCurrentSchema,
  requireFreePort,
  stopOnSignals,
} from './app/startup.ts';

export { openLocalEnvironment } from './app/local/environment.ts';

/** A Carillon started by `startLocal`. */
export interface RunningCarillon {
  config: AppConfig;
  /** What the terminal shows once it listens. */
  welcome: string;
  /** Stops everything it started. */
  stop(): Promise<void>;
}

function welcomeOf(config: AppConfig): string {
  if (!config.database.embedded) return serverWelcome(config);
  return config.environment === 'production' ? productionWelcome(config) : laterWelcome(config);
}

/**
 * Starts Carillon for one machine: with the embedded database it migrates and, the first time and not in production,
 * makes a demo application; with DATABASE_URL it does neither.
 * @throws {PortTakenError} before anything is started
 * @throws {SchemaBehindError} when the server of DATABASE_URL has to be migrated first
 */
export async function startLocal(config: AppConfig): Promise<RunningCarillon> {
  await requireFreePort(config);
  const opening = openLocalEnvironment({ config, share: false });
  // Loading the program and starting the database take about as long: they go side by side.
  const [environment, { closeApp, createApp }, { migrate }, { createDemoData }] = await Promise.all(
    [
      opening,
      import('./app/app.ts'),
      import('./app/migrate.ts'),
      import('./app/local/demo-data.ts'),
    ],
  );
  const { embedded } = environment.config.database;
  const production = environment.config.environment === 'production';
  try {
    if (embedded) await migrate(environment.config.database.url);
    else await requireCurrentSchema(environment.config.database.url);
    const app = await createApp(environment.config);
    try {
      await app.init();
      const demo = embedded && !production ? await createDemoData(app) : undefined;
      await listen(app, environment.config);
      environment.onDatabaseExit((reason) =>
        fail(new EmbeddedPostgresError(`The database ended: ${reason}`), []),
      );
      return {
        config: environment.config,
        welcome: demo ? firstWelcome(environment.config, demo) : welcomeOf(environment.config),
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

/** `npm start`. */
export async function main(): Promise<void> {
  // Nobody reads any more (`npm start | head`): that is no reason to stop serving.
  process.stdout.on('error', () => undefined);
  try {
    const running = await startLocal(localConfig(process.env));
    stopOnSignals(running.config, () => running.stop());
    process.stdout.write(running.welcome);
  } catch (error) {
    fail(error, LOCAL_ERRORS);
  }
}

if (import.meta.main) await main();
