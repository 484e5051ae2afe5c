import { closeApp, createApp } from './app.ts';
import { loadConfig } from '../platform/config/app-config.ts';
import {
  fail,
  listen,
  requireCurrentSchema,
  requireFreePort,
  stopOnSignals,
  waitForDatabase,
} from './startup.ts';

/**
 * Runs the server of the container. Takes all settings from the environment, uses no embedded
 * database, and waits up to a minute for the database.
 */
export async function serve(): Promise<void> {
  try {
    const config = loadConfig(process.env);
    await requireFreePort(config);
    await waitForDatabase(() => requireCurrentSchema(config.database));
    const app = await createApp(config);
    stopOnSignals(config, () => closeApp(app));
    await listen(app, config);
  } catch (error) {
    fail(error);
  }
}
