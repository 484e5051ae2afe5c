#!/usr/bin/env node
import '../platform/base/node-version.ts';

/**
 * `npm run db:migrate`, and the one-off job of a deployment: the same as `carillon migrate`. Brings
 * the database of DATABASE_URL up to date, else the embedded one. Needs no other setting.
 */
export async function main(): Promise<void> {
  const carillon = await import('./carillon/main.ts');
  await carillon.main(['migrate', ...process.argv.slice(2)]);
}

if (import.meta.main) await main();
