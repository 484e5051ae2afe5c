/** Stops the server of `global-setup.ts`, once. */
export default async function globalTeardown(): Promise<void> {
  const server = globalThis.carillonTestServer;
  globalThis.carillonTestServer = undefined;
  await server?.stop();
}
