import { createApp } from './app.ts';
import { loadConfig } from './config/app-config.ts';
import { fail, listen, requireCurrentSchema, requireFreePort, stopOnSignals } from './startup.ts';

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
    fail(error);
  }
}

if (import.meta.main) await main();
