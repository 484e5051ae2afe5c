#!/usr/bin/env node
import { migrate } from '../app/migrate.ts';
import { LOCAL_ERRORS, localConfig, openLocalEnvironment } from '../app/local/environment.ts';
import { fail, withDatabaseAccess } from '../app/startup.ts';

async function migrateAndReport(url: string): Promise<void> {
  const names = await withDatabaseAccess(() => migrate(url));
  process.stdout.write(
    names.length === 0 ? 'The schema is up to date.\n' : `Migrated: ${names.join(', ')}\n`,
  );
}

/**
 * `npm run db:migrate`, and the one-off job of a deployment. Brings the database of DATABASE_URL up
 * to date, else the embedded one. Needs no other setting.
 */
export async function main(): Promise<void> {
  const url = process.env['DATABASE_URL'];
  try {
    if (url) return await migrateAndReport(url);
    const environment = await openLocalEnvironment({ config: localConfig(process.env) });
    try {
      await migrateAndReport(environment.config.database.url);
    } finally {
      await environment.close();
    }
  } catch (error) {
    fail(error, LOCAL_ERRORS);
  }
}

if (import.meta.main) await main();
