#!/usr/bin/env node
import '../platform/base/node-version.ts';

/** The `carillon` command, with the arguments of this process. */
export async function main(): Promise<void> {
  const carillon = await import('./carillon/main.ts');
  await carillon.main(process.argv.slice(2));
}

if (import.meta.main) await main();
