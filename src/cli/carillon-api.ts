#!/usr/bin/env node
import '../platform/base/node-version.ts';

/** The `carillon-api` command, with the arguments of this process. */
export async function main(): Promise<void> {
  const client = await import('./client/main.ts');
  await client.main(process.argv.slice(2));
}

if (import.meta.main) await main();
