import { printFaultTable } from './fault-table.ts';

/**
 * Prints the figures of the fault tests, and stops the server of `global-setup.ts`; each only once.
 */
export default async function globalTeardown(): Promise<void> {
  printFaultTable();
  const server = globalThis.carillonTestServer;
  globalThis.carillonTestServer = undefined;
  await server?.stop();
}
