import { createApp } from './app.ts';
import { ConfigError, loadConfig } from './config/app-config.ts';
import {
  fail,
  listen,
  PortTakenError,
  requireCurrentSchema,
  requireFreePort,
  SchemaBehindError,
  stopOnSignals,
} from './startup.ts';

/** The container's entry: everything from the environment, no embedded database. */
export async function main(): Promise<void> {
  try {
    const config = loadConfig(process.env);
    await requireFreePort(config);
    await requireCurrentSchema(config.database.url);
    const app = await createApp(config);
    stopOnSignals(config, () => app.close());
    await listen(app, config);
  } catch (error) {
    fail(error, [ConfigError, SchemaBehindError, PortTakenError]);
  }
}

if (import.meta.main) await main();
