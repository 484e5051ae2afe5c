import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from './app.ts';
import { type AppConfig, ConfigError, loadConfig } from './config/app-config.ts';
import { pendingMigrations } from './database/migrate.ts';

/** The schema is older than the program. */
export class SchemaBehindError extends Error {
  constructor(pending: readonly string[]) {
    super(`The database schema is behind (${pending.length} migrations to run). Run: npm run db:migrate`);
    this.name = 'SchemaBehindError';
  }
}

/**
 * Starts the roles the configuration names and listens.
 * @throws {SchemaBehindError} when migrations are missing
 */
export async function start(config: AppConfig): Promise<NestExpressApplication> {
  const pending = await pendingMigrations(config.database.url);
  if (pending.length > 0) throw new SchemaBehindError(pending);
  const app = await createApp(config);
  await app.listen(config.port, config.host);
  new Logger('Carillon').log(`listening on ${await app.getUrl()} (roles: ${config.roles.join(', ')})`);
  return app;
}

/** Stops in order on SIGTERM and SIGINT; a second signal changes nothing, the time limit ends it. */
export function stopOnSignals(config: AppConfig, stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) return;
    stopping = true;
    const limit = setTimeout(() => {
      process.stderr.write('Carillon did not stop in time\n');
      process.exit(1);
    }, config.shutdownMs + 10_000);
    limit.unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** The container's entry: everything from the environment, no embedded database. */
export async function main(): Promise<void> {
  try {
    const config = loadConfig(process.env);
    const app = await start(config);
    stopOnSignals(config, () => app.close());
  } catch (error) {
    const told = error instanceof ConfigError || error instanceof SchemaBehindError;
    process.stderr.write(`${told ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  }
}

if (import.meta.main) await main();
